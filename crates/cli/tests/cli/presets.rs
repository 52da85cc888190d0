//! What every preset is made of, defaults of its stages included. A preset that reproduces a version of a system
//! never changes without a change here.

use crate::common::{foldback, root};

#[test]
fn no_preset_changes_silently() {
    let entries = std::fs::read_dir(root().join("configs")).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut all = String::new();
    for file in &files {
        let shown = foldback(&["presets", file.file_stem().unwrap().to_str().unwrap()]).done();
        for line in shown.stdout.lines() {
            // Behind it stands the line of the file, which may move.
            let value = line.rsplit_once(" # ").map_or(line, |(value, _)| value);
            all.push_str(value.trim_end());
            all.push('\n');
        }
        all.push('\n');
    }
    insta::assert_snapshot!(all);
}
