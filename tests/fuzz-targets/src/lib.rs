//! What is fuzzed. A target takes bytes that somebody may have made and panics where a promise is broken; the same
//! bodies run under `cargo fuzz` (the folder `fuzz`) and, on stable Rust, under `cargo xtask fuzz`.

#![expect(clippy::unwrap_used, reason = "what must not happen ends the target")]

mod drive;
mod files;
mod import;
pub mod mutate;
mod seeds;
mod texts;

pub use seeds::{corpus, seeds};

/// A target: its name, and what it does with an input.
pub type Target = (&'static str, fn(&[u8]));

/// All targets. The folders of the corpus and of `fuzz/fuzz_targets` have the same names.
pub const TARGETS: [Target; 7] = [
    ("import", import::import),
    ("strategy", texts::strategy),
    ("provider-error", texts::provider_error),
    ("journal", files::journal),
    ("store", files::store),
    ("cassette", files::cassette),
    ("drive", drive::drive),
];

/// A target by its name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|(known, _)| *known == name)
}

/// A target of `cargo fuzz`.
///
/// # Panics
///
/// If there is no target of this name, or the input breaks a promise.
pub fn run(name: &str, data: &[u8]) {
    let (_, body) = target(name).unwrap_or_else(|| panic!("no target {name}"));
    body(data);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was found once is not found again, and every seed runs.
    #[test]
    fn seeds_and_corpus() {
        for (name, body) in TARGETS {
            let inputs: Vec<(String, Vec<u8>)> =
                seeds(name).into_iter().chain(corpus(name)).collect();
            for (input, bytes) in inputs {
                println!("{name}: {input}");
                body(&bytes);
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_mutations() {
        let inputs = seeds("import");
        let all: Vec<&[u8]> = inputs.iter().map(|(_, bytes)| &**bytes).collect();
        let draw = || {
            let mut dice = mutate::Dice::new(7);
            (0..200).map(|_| mutate::mutated(&all, &mut dice)).collect::<Vec<_>>()
        };
        assert_eq!(draw(), draw());
        assert!(draw().iter().any(|bytes| !all.contains(&&**bytes)));
    }
}
