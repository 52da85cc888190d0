//! Which fields of which preset are varied when advice is asked for: a data file, never code.

use super::{Candidate, Field, Range, Rejected, Search, candidates};
use foldback_core::Limits;
use foldback_core::config::{ConfigErrors, Options, compile_preset};
use foldback_core::registry::Registry;
use foldback_core::strategy::Kind;
use serde::Deserialize;

/// Fields of a preset with the values that are tried.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// Name of the preset.
    pub preset: String,
    /// `field=values`, as `tune --vary` takes it; all combinations are tried.
    pub vary: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    sweep: Vec<Sweep>,
}

/// The sweeps that come with the laboratory. Presets without one are tried as they are.
///
/// # Errors
///
/// The table can't be read, which would be a defect of this crate.
pub fn embedded() -> Result<Vec<Sweep>, String> {
    read(include_str!("../../data/sweeps.toml"))
}

fn read(text: &str) -> Result<Vec<Sweep>, String> {
    let table: Table = toml::from_str(text).map_err(|error| format!("sweeps.toml: {error}"))?;
    Ok(table.sweep)
}

/// Splits `field=values`.
pub fn vary(text: &str) -> Result<(&str, Range), String> {
    let (field, values) = text
        .split_once('=')
        .ok_or_else(|| format!("`{text}` lacks a `=`: write `field=a..b` or `field=a,b,c`"))?;
    let range = Range::parse(values).map_err(|why| format!("{field}: {why}"))?;
    Ok((field.trim(), range))
}

/// The presets with these names that are strategies, each with the configurations of its sweep. A sweep whose field is unknown leaves
/// its preset as it is and is told among the rejected.
pub fn all(
    registry: &Registry,
    names: &[String],
    sweeps: &[Sweep],
    limits: Limits,
    options: Options<'_>,
) -> Result<(Vec<Candidate>, Vec<Rejected>), ConfigErrors> {
    let (mut kept, mut rejected) = (Vec::new(), Vec::new());
    for name in names {
        let compiled = compile_preset(registry, name, options)?;
        if compiled.strategy.kind != Kind::Strategy {
            continue;
        }
        if let Some(why) = compiled.strategy.refuses(limits) {
            rejected.push(Rejected { name: name.clone(), why });
            continue;
        }
        let mut axes: Vec<(Field, Range)> = Vec::new();
        let own = sweeps.iter().filter(|sweep| sweep.preset == *name);
        for text in own.flat_map(|sweep| &sweep.vary) {
            let axis = vary(text)
                .and_then(|(path, range)| Ok((Field::find(registry, &compiled, path)?, range)));
            match axis {
                Ok(axis) => axes.push(axis),
                Err(why) => rejected.push(Rejected { name: name.clone(), why }),
            }
        }
        let (fields, ranges): (Vec<Field>, Vec<Range>) = axes.into_iter().unzip();
        let combinations = match ranges.is_empty() {
            true => Vec::new(),
            false => Search::Grid(super::MOST).combinations(&ranges),
        };
        let (some, others) =
            candidates(registry, &compiled, name, &fields, &combinations, limits, options);
        kept.extend(some);
        rejected.extend(others);
    }
    Ok((kept, rejected))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_with_a_typo_is_an_error() {
        for text in ["[[swep]]", "[[sweep]]\npreset = \"a\"\nvaries = []", "[[sweep]"] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with("sweeps.toml: "), "{error}");
        }
    }
}
