use super::*;
use crate::{ModelTable, cost::RegimeTable};
use foldback_core::Limits;
use std::fs;
use std::sync::Arc;

const TALK: &str = r#"{"role":"user","content":"a"},{"role":"assistant","content":"b"}"#;
const MORE: &str = r#",{"role":"user","content":"c"},{"role":"assistant","content":"d"}"#;

/// An agent goes on writing while its file is studied. What is studied is what was read, under its own hash.
#[test]
fn a_file_that_grows_is_studied_as_what_was_read() {
    let registry = foldback::registry().unwrap();
    let none = foldback::preset(&registry, "none").unwrap();
    let setup = Setup {
        limits: Limits::new(8_000, 800),
        model: None,
        models: ModelTable::embedded(),
        regimes: RegimeTable::embedded(),
        measure: Arc::clone(none.estimator()),
    };
    let preset = |name: &str| Preset::new(none.clone(), name.to_owned());
    let [one, two] = [[preset("one")], [preset("two")]];
    let store = Store::temporary().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("talk.json");
    let source = Source::File(path.clone());
    let write = |more: &str| {
        fs::write(&path, format!("{{\"messages\":[{TALK}{more}]}}")).unwrap();
        source.hash().unwrap()
    };
    let studied = |presets: &[Preset], hash: ContentHash| {
        let context = Context {
            presets,
            setup: &setup,
            fingerprint: setup.fingerprint(),
            store: &store,
            split: None,
            progress: &|| {},
        };
        study(&context, &source, hash)
    };
    let calls = |presets: &[Preset], hash: ContentHash| {
        let studied = studied(presets, hash).unwrap();
        assert_eq!(studied.len(), 1);
        let record = studied[0].keys.record(&store, 0).unwrap();
        (studied[0].keys.content(), studied[0].facts.calls.len(), record.rows.len())
    };
    let before = write("");
    assert_eq!(calls(&one, before), (before, 1, 1));
    let after = write(MORE);
    // All that is asked of it is stored: the file as it was.
    assert_eq!(calls(&one, before), (before, 1, 1));
    // Facts of what it was are stored, a record is not.
    assert_eq!(calls(&two, before), (after, 2, 2));
    assert_eq!(calls(&one, after), (after, 2, 2));
    fs::remove_file(&path).unwrap();
    assert_eq!(calls(&one, before), (before, 1, 1));
    assert_eq!(calls(&two, after), (after, 2, 2));
    let unread = studied(&two, before);
    assert!(matches!(unread, Err(Failure::Source(why)) if why.contains("No such file")));
}
