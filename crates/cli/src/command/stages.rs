//! `foldback stages`

use crate::args::Stages;
use crate::error::Error;
use crate::output;
use foldback_core::config::nearest;
use foldback_core::registry::{Registered, StageDescriptor, StageKind};
use std::fmt::Write as _;

pub(crate) fn run(args: &Stages) -> Result<(), Error> {
    let registry = foldback::registry()?;
    let Some(name) = &args.name else {
        let mut out = String::new();
        for kind in StageKind::ALL {
            let _ = writeln!(out, "{kind}");
            for stage in registry.stages().filter(|stage| stage.item.kind() == kind) {
                let Registered { item, package, version } = stage;
                let _ = writeln!(out, "  {:<24} {} ({package} {version})", item.name, item.summary);
            }
        }
        return output::print(&out);
    };
    let found: Vec<_> = registry.stages().filter(|stage| stage.item.name == name).collect();
    if found.is_empty() {
        let preset = match registry.preset(name) {
            Some(_) => format!("; `foldback presets {name}` shows those of the preset"),
            None => String::new(),
        };
        return Err(Error::Usage(format!(
            "no stage is called `{name}`; `foldback stages` lists all{preset}{}",
            nearest(name, registry.stages().map(|stage| stage.item.name))
        )));
    }
    let mut out = String::new();
    for stage in found {
        describe(&mut out, stage);
    }
    output::print(&out)
}

fn describe(out: &mut String, stage: &Registered<StageDescriptor>) {
    let Registered { item, package, version } = stage;
    let _ =
        writeln!(out, "{} `{}` ({package} {version})\n{}\n", item.kind(), item.name, item.summary);
    let section = match item.kind() {
        StageKind::Pruner => "[[pruner]]".to_owned(),
        kind => format!("[{kind}]"),
    };
    let _ = writeln!(out, "{section}\nuse = \"{}\"", item.name);
    for field in item.fields() {
        let default = match &field.default {
            Some(value) => format!("{} = {value}", field.name),
            None if field.required => format!("{} =", field.name),
            None => format!("# {} is not set", field.name),
        };
        let _ = writeln!(out, "\n# {} ({})\n{default}", field.doc, field.takes);
    }
    out.push('\n');
}
