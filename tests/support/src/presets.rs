//! Presets as files, beside each other and beside their pages.

use foldback_core::strategy::Strategy;
use std::collections::BTreeSet;

/// The values that the first of two files states and the second does not, each with its section, in order.
pub fn own<'t>(one: &'t str, other: &'t str) -> Vec<(&'t str, &'t str)> {
    values(one).difference(&values(other)).copied().collect()
}

fn values(toml: &str) -> BTreeSet<(&str, &str)> {
    let stages = toml.split_once("\n[[deviation]]").map_or(toml, |(stages, _)| stages);
    let mut section = "";
    let mut found = BTreeSet::new();
    for line in stages.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if line.starts_with('[') {
            section = line;
        } else if !section.is_empty() {
            found.insert((section, line));
        }
    }
    found
}

/// Holds a page against a preset, so that they do not drift apart.
///
/// # Panics
///
/// If a deviation of the preset does not stand on the page word for word.
pub fn page_has_deviations(page: &str, strategy: &Strategy) {
    let page = page.replace('\n', " ");
    for deviation in &strategy.deviations {
        for said in [&deviation.original, &deviation.foldback] {
            assert!(page.contains(said), "{}: {said}", strategy.name);
        }
    }
}
