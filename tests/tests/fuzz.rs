//! The seeds and the findings of the fuzzer.

use foldback_tests::fuzz::mutate::{self, Dice};
use foldback_tests::fuzz::{TARGETS, Target, inputs};

/// What was found once is not found again, and every seed runs.
#[test]
fn seeds_and_corpus() {
    for Target { name, body, .. } in TARGETS {
        for (input, bytes) in inputs(name) {
            println!("{name}: {input}");
            body(&bytes);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_mutations() {
    let inputs = inputs("import");
    let all: Vec<&[u8]> = inputs.iter().map(|(_, bytes)| &**bytes).collect();
    let draw = || {
        let mut dice = Dice::new(7);
        (0..200).map(|_| mutate::mutated(&all, &mut dice)).collect::<Vec<_>>()
    };
    assert_eq!(draw(), draw());
    assert!(draw().iter().any(|bytes| !all.contains(&&**bytes)));
}
