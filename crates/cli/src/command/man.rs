//! `foldback man`

use crate::args::{Args, Man};
use crate::error::Error;
use crate::output;
use clap_mangen::Man as Page;

pub(crate) fn run(args: &Man) -> Result<(), Error> {
    let fail = |error| Error::File { path: args.folder.clone(), error };
    std::fs::create_dir_all(&args.folder).map_err(fail)?;
    let mut command = Args::described();
    command.build();
    let name = command.get_name().to_owned();
    let mut pages = vec![(format!("{name}.1"), Page::new(command.clone()))];
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        let page = format!("{name}-{}", below.get_name());
        pages.push((format!("{page}.1"), Page::new(below.clone())));
    }
    for (file, page) in pages {
        let path = args.folder.join(file);
        output::write_with(Some(&path), |mut out| page.render(&mut out))?;
    }
    Ok(())
}
