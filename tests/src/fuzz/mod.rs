//! What is fuzzed. A target takes bytes that somebody may have made and panics where a promise is broken; the same
//! bodies run under `cargo fuzz` (the folder `fuzz`) and, on stable Rust, under `cargo xtask fuzz`.

#![expect(clippy::unwrap_used, reason = "what must not happen ends the target")]

mod drive;
mod files;
mod histories;
mod import;
pub mod mutate;
mod seeds;
mod texts;

pub use seeds::inputs;

use mutate::Dice;

/// What is fuzzed under one name. The folders of the corpus and of `fuzz/fuzz_targets` have the same names.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// What it does with an input; it panics where a promise is broken.
    pub body: fn(&[u8]),
    /// Makes an input, where no fuzzing engine does: of the inputs that there are, or from nothing.
    pub make: fn(&[&[u8]], &mut Dice) -> Vec<u8>,
}

const fn mutating(name: &'static str, body: fn(&[u8])) -> Target {
    Target { name, body, make: mutate::mutated }
}

/// All targets.
pub const TARGETS: [Target; 9] = [
    mutating("import", import::import),
    mutating("strategy", texts::strategy),
    mutating("experiment", texts::experiment),
    mutating("provider-error", texts::provider_error),
    mutating("journal", files::journal),
    mutating("store", files::store),
    mutating("cassette", files::cassette),
    mutating("drive", drive::drive),
    Target { name: "histories", body: histories::histories, make: histories::history },
];

/// A target by its name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|target| target.name == name)
}

/// A target of `cargo fuzz`.
///
/// # Panics
///
/// If there is no target of this name, or the input breaks a promise.
pub fn run(name: &str, data: &[u8]) {
    let target = target(name).unwrap_or_else(|| panic!("no target {name}"));
    (target.body)(data);
}
