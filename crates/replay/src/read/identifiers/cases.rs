//! Compares the rule of [`super::evidence`] with the verdicts of a reader of the context.
//!
//! `cases.tsv` was drawn from `../shared/sessions`: by class and format from what version 1 counted as a reference, and from
//! what stood before word for word and was not counted, paths above all. Its verdicts were made by reading the
//! arguments and the places before, not by a rule: `real` is what the agent can only have from there, `noise`
//! what it would have written anyway. Class `other` is what version 1 has no class for. Identifiers with names
//! of people in them are hashed (FNV-1a).

use crate::judge::availability::tests::references;
use crate::read::index::Index;
use std::collections::BTreeMap;

/// Cases by verdict and by what a rule said.
#[derive(Debug, Default)]
struct Tally {
    found: u32,
    wrong: u32,
    missed: u32,
}

impl Tally {
    fn count(&mut self, real: bool, said: bool) {
        match (real, said) {
            (true, true) => self.found += 1,
            (false, true) => self.wrong += 1,
            (true, false) => self.missed += 1,
            (false, false) => {}
        }
    }

    fn precision(&self) -> f64 {
        f64::from(self.found) / f64::from(self.found + self.wrong)
    }

    fn recall(&self) -> f64 {
        f64::from(self.found) / f64::from(self.found + self.missed)
    }
}

fn fnv1a(text: &str) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("fnv1a:{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}

/// Whether an identifier is the one of a case: a path also where the case has a `../` in front.
fn is(case: &str, found: &str) -> bool {
    case == found
        || case == fnv1a(found)
        || (case.starts_with("../") && case.trim_start_matches("../") == found)
}

#[foldback_needs::sessions]
#[test]
fn the_rule_agrees_with_the_labelled_cases() {
    let mut by_file: BTreeMap<&str, Vec<[&str; 7]>> = BTreeMap::new();
    for line in include_str!("cases.tsv").lines().skip(1) {
        let row: Vec<&str> = line.split('\t').collect();
        let row: [&str; 7] = row.try_into().unwrap();
        by_file.entry(row[0]).or_default().push(row);
    }
    assert!(by_file.values().map(Vec::len).sum::<usize>() >= 200);
    let (mut before, mut now) = (Tally::default(), Tally::default());
    let mut classes: BTreeMap<&str, (Tally, Tally)> = BTreeMap::new();
    for (file, cases) in by_file {
        let path = foldback_test_support::sessions().join(file);
        let sessions = foldback_formats::read(&std::fs::read(path).unwrap(), None).unwrap();
        let said: Vec<_> =
            sessions.iter().map(|session| references(&Index::new(session))).collect();
        for [_, session, call, class, verdict, version_1, identifier] in cases {
            let session: usize = session.parse().unwrap();
            let call: usize = call.parse().unwrap();
            let mut said = said[session].iter().filter(|reference| reference.call == call);
            let said = said.any(|reference| is(identifier, &reference.identifier));
            let real = verdict == "real";
            let of_class = classes.entry(class).or_default();
            for (tally, said) in [
                (&mut before, version_1 == "yes"),
                (&mut now, said),
                (&mut of_class.0, version_1 == "yes"),
                (&mut of_class.1, said),
            ] {
                tally.count(real, said);
            }
        }
    }
    for (class, (before, now)) in &classes {
        println!("{class}: {before:?} then, {now:?} now");
    }
    let shares = |tally: &Tally| (tally.precision(), tally.recall());
    println!("precision and recall {:.3?} then, {:.3?} now", shares(&before), shares(&now));
    assert!(now.precision() >= 0.9 && now.precision() > before.precision() + 0.2, "{now:?}");
    assert!(now.recall() >= before.recall(), "{now:?}");
}
