//! Metrics whose value is known: without compaction, and for text that is only copied.

use super::{examples, few, mending};
use foldback_replay::{Corpus, Preset, Store};
use foldback_tests::lab::{self, compare_in, compared, everything, preset, reporting, setup};
use foldback_tests::planted::Needs;

#[test]
fn without_compaction_nothing_is_lost_and_nothing_rewritten() {
    // keep-last-1 is there to open the exam: before anything has fired, nothing is asked.
    let presets = [preset("none"), preset("keep-last-1")];
    let made = Corpus::from_sessions([mending(), few(Needs::Recent).remove(0)]);
    for (name, corpus) in [("made", made), ("examples", examples())] {
        let comparison = compared(&corpus, &presets, &setup(0, 0));
        let [none, other] = &comparison.presets[..] else {
            panic!("two lines");
        };
        // What is compared, and what none must have; the other must differ, or nothing was tested.
        let (m, o) = (&none.metrics, &other.metrics);
        let table = [
            ("frr", &m.frr, &o.frr, 1.0),
            ("frr_obs", &m.frr_obs, &o.frr_obs, 1.0),
            ("frr_far", &m.frr_far, &o.frr_far, 1.0),
            ("frr_obs_far", &m.frr_obs_far, &o.frr_obs_far, 1.0),
            ("epr", &m.epr, &o.epr, 1.0),
            ("verbatim_far", &m.verbatim_far, &o.verbatim_far, 1.0),
            ("cost_ratio", &m.cost_ratio, &o.cost_ratio, 1.0),
            ("token_ratio", &m.token_ratio, &o.token_ratio, 1.0),
            ("churn_per_100_calls", &m.churn_per_100_calls, &o.churn_per_100_calls, 0.0),
            ("rereads_per_100_calls", &m.rereads_per_100_calls, &o.rereads_per_100_calls, 0.0),
        ];
        for (metric, is, differs, expected) in table {
            println!("{name}: {metric}: none {:?}, keep-last-1 {:?}", is.value, differs.value);
            assert_eq!(is.value, Some(expected), "{name}: {metric}");
            assert_ne!(differs.value, Some(expected), "{name}: {metric} of keep-last-1");
        }
        assert_eq!(none.compactions, 0, "{name}");
    }
}

/// Presets that put a text into their summary in a form that nobody said, the least share of what is said that was, and why.
const OWN_FORM: [(&str, f64, &str); 2] = [
    (
        "opencode-2",
        0.999,
        "results cut after 2,000 characters, in the middle of a number if need be",
    ),
    ("hermes", 0.99, "the newest request in quotes and on one line"),
];

#[test]
fn what_an_extractive_summary_says_was_said() {
    let corpus = || {
        let mut corpus = examples();
        corpus.sources.drain(..2);
        corpus.sources.extend(Corpus::from_sessions([mending()]).sources);
        corpus
    };
    let summarising =
        everything().into_iter().filter(|preset| lab::is_extractive(&preset.strategy));
    let presets: Vec<Preset> = std::iter::once(preset("none")).chain(summarising).collect();
    assert!(presets.len() > 3, "{presets:?}");
    let store = Store::temporary().unwrap();
    let setup = setup(24_000, 2_000);
    let comparison = compare_in(&store, &corpus(), &presets, &setup, reporting("openai"));
    for line in &comparison.presets[1..] {
        println!(
            "{}: {:?} compactions, faithful {:?}",
            line.preset, line.compactions, line.metrics.faithfulness.value
        );
        assert!(line.compactions > 0, "{} never summarised", line.preset);
        let own_form = OWN_FORM.iter().find(|(preset, _, _)| line.preset.starts_with(preset));
        let least = own_form.map_or(1.0, |(_, least, _)| *least);
        assert!(
            line.metrics.faithfulness.value.is_some_and(|share| share >= least),
            "{}",
            line.preset
        );
    }
}
