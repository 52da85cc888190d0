//! `foldback presets`

use crate::args::Presets;
use crate::error::Error;
use crate::groups::Listed;
use crate::{input, output, strategies};
use foldback::Compiled;
use foldback_core::config::{Node, NodeKind};
use foldback_core::registry::{Registry, StageKind};
use foldback_core::strategy::{Kind, Strategy};
use foldback_report::terminal::wrap;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::Path;

pub(crate) fn run(args: &Presets) -> Result<(), Error> {
    let registry = foldback::registry()?;
    let Some(name) = &args.name else {
        return output::print(&match args.json {
            true => as_json(&registry)?,
            false => list(&registry)?,
        });
    };
    if let (Some(control), None) = (strategies::unseen_control(name)?, &args.out) {
        let description = &control.strategy.description;
        return output::print(&format!(
            "{name}\n{description}\n{}\n",
            strategies::only_compared(&control)
        ));
    }
    if let Some(path) = &args.out {
        let text = match registry.preset(name) {
            Some(preset) => preset.item.toml.to_owned(),
            None if name.ends_with(".toml") => input::text(Path::new(name))?,
            None => {
                let compiled = strategies::compile(&registry, name, None)?;
                registry
                    .preset(&compiled.strategy.name)
                    .map_or(String::new(), |preset| preset.item.toml.to_owned())
            }
        };
        return output::write(Some(path), &text);
    }
    let compiled = strategies::compile(&registry, name, None)?;
    output::print(&show(&compiled))
}

fn list(registry: &Registry) -> Result<String, Error> {
    let mut out = String::new();
    let width = output::width();
    let listed = Listed::new(registry)?;
    let by_default = listed.expand(&[]);
    for name in listed.by_family() {
        let compiled = strategies::compile(registry, name, None)?;
        let header = &compiled.header;
        let aliases =
            (!header.aliases.is_empty()).then(|| format!("also {}", header.aliases.join(", ")));
        let group = (!header.group.is_empty()).then(|| format!("group {}", header.group));
        let compared = by_default.iter().any(|one| one == name);
        let compared = compared.then(|| "compared by default".to_owned());
        let more: Vec<String> = [aliases, group, compared].into_iter().flatten().collect();
        let more = if more.is_empty() { String::new() } else { format!(" ({})", more.join("; ")) };
        let _ = writeln!(out, "{name}{more}");
        wrap(&mut out, "    ", "    ", &compiled.strategy.description, width);
        if !compiled.strategy.reproduces.is_empty() {
            let text = format!("reproduces {}", compiled.strategy.reproduces);
            wrap(&mut out, "    ", "    ", &text, width);
        }
    }
    for control in strategies::unseen_controls()? {
        let strategy = &control.strategy;
        let _ = writeln!(out, "{}", strategy.name);
        for text in [strategy.description.as_str(), strategies::only_compared(&control)] {
            wrap(&mut out, "    ", "    ", text, width);
        }
    }
    out.push_str("\n`foldback presets NAME` shows all values of a preset and their sources.\n");
    Ok(out)
}

/// A preset with the fields that programs choose by.
#[derive(Serialize)]
struct Line<'a> {
    preset: &'a str,
    aliases: &'a [String],
    family: &'a str,
    group: &'a str,
    kind: Kind,
    /// Whether the preset can be run by itself. Controls that are made for each recording can only be compared.
    runs: bool,
    description: &'a str,
    reproduces: &'a str,
}

fn as_json(registry: &Registry) -> Result<String, Error> {
    let names = Listed::new(registry)?.by_family();
    let compiled = names.iter().map(|name| strategies::compile(registry, name, None));
    let compiled = compiled.collect::<Result<Vec<_>, _>>()?;
    let controls = strategies::unseen_controls()?;
    let mut lines: Vec<Line<'_>> = compiled
        .iter()
        .map(|compiled| Line {
            aliases: &compiled.header.aliases,
            family: &compiled.header.family,
            group: &compiled.header.group,
            ..Line::new(&compiled.strategy, true)
        })
        .collect();
    lines.extend(controls.iter().map(|control| Line::new(&control.strategy, false)));
    let mut text = serde_json::to_string_pretty(&lines)?;
    text.push('\n');
    Ok(text)
}

impl<'a> Line<'a> {
    fn new(strategy: &'a Strategy, runs: bool) -> Self {
        Self {
            preset: &strategy.name,
            aliases: &[],
            family: "",
            group: "",
            kind: strategy.kind,
            runs,
            description: &strategy.description,
            reproduces: &strategy.reproduces,
        }
    }
}

/// A preset with every value, the defaults included, and their sources.
fn show(compiled: &Compiled) -> String {
    let mut out = String::new();
    let strategy = &compiled.strategy;
    let _ = writeln!(out, "{}\n{}", strategy.name, strategy.description);
    if !strategy.reproduces.is_empty() {
        let _ = writeln!(out, "reproduces {}", strategy.reproduces);
    }
    for phrase in &strategy.not_for {
        let _ = writeln!(out, "not for {phrase}");
    }
    let off = strategy.guards.off();
    if !off.is_empty() {
        let _ = writeln!(out, "runs without the guards {}", off.join(", "));
    }
    for key in ["window", "guards", "carry", "idle"] {
        if let Some(node) = compiled.root.get(key) {
            section(&mut out, &format!("[{key}]"), node);
        }
    }
    for kind in StageKind::ALL {
        match compiled.root.get(kind.section()) {
            Some(Node { kind: NodeKind::List(elements), .. }) => {
                for element in elements {
                    section(&mut out, &format!("[[{kind}]]"), element);
                }
            }
            Some(node) => section(&mut out, &format!("[{kind}]"), node),
            None => {}
        }
    }
    if !strategy.deviations.is_empty() {
        out.push_str("\nDeviations\n");
        for deviation in &strategy.deviations {
            let _ = writeln!(
                out,
                "  original: {}\n  foldback: {}\n",
                deviation.original, deviation.foldback
            );
        }
    }
    if !compiled.header.env.is_empty() {
        out.push_str("\nEnvironment\n");
        for flag in &compiled.header.env {
            let _ = writeln!(out, "  {} sets {}", flag.name, flag.sets);
        }
    }
    out
}

fn section(out: &mut String, title: &str, node: &Node) {
    let _ = writeln!(out, "\n{title}");
    for (name, value) in node.entries() {
        let said = format!("{name} = {}", value.to_value());
        let _ = writeln!(out, "{said:<44} # {}", origin(value));
    }
}

fn origin(node: &Node) -> String {
    match node.place.line {
        0 => node.place.source.to_string(),
        line => format!("{}:{line}", node.place.source),
    }
}
