//! `foldback completions`

use crate::args::{Args, Completions};
use crate::error::Error;
use crate::output;

pub(crate) fn run(args: &Completions) -> Result<(), Error> {
    let mut command = Args::described();
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    output::write_with(None, |out| out.write_all(&script))
}
