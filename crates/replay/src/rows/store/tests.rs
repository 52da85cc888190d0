use super::*;
use std::fs;
use std::time::Duration;
use tempfile::TempDir;

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn open(folder: &TempDir) -> Store {
    Store::open(folder.path(), "one").unwrap()
}

fn at(number: u64) -> Key {
    key(&[&number.to_le_bytes()])
}

/// Writes some entries and gives the file that they are in.
fn written(folder: &TempDir, entries: u64) -> PathBuf {
    let store = open(folder);
    (0..entries).for_each(|number| store.put(at(number), &content(number)).unwrap());
    drop(store);
    let packs = folder::packs(folder.path()).unwrap();
    assert_eq!(packs.len(), 1);
    packs[0].1.clone()
}

fn content(number: u64) -> String {
    format!("content of {number}")
}

/// What a store holds of these entries; none of them is another than what was written.
fn found(store: &Store, entries: u64) -> Vec<u64> {
    (0..entries)
        .filter(|number| {
            let read = store.get::<String>(at(*number));
            assert!(read.as_ref().is_none_or(|read| *read == content(*number)), "{read:?}");
            read.is_some()
        })
        .collect()
}

#[test]
fn an_entry_comes_back_to_the_build_that_made_it() {
    assert_ne!(key(&[b"a", b"bc"]), key(&[b"ab", b"c"]));
    let folder = folder();
    written(&folder, 3);
    let (one, two) = (open(&folder), Store::open(folder.path(), "two").unwrap());
    assert_eq!(found(&one, 4), [0, 1, 2]);
    assert_eq!(found(&two, 4), [0_u64; 0]);
    two.put(at(1), &content(1)).unwrap();
    one.put(at(3), &content(3)).unwrap();
    drop((one, two));
    assert_eq!(found(&open(&folder), 4), [0, 1, 2, 3]);
    assert_eq!(found(&Store::open(folder.path(), "two").unwrap(), 4), [1]);
}

#[test]
fn thousands_of_entries_and_many_runs_are_few_files() {
    let folder = folder();
    for run in 0..20 {
        let store = open(&folder);
        (100 * run..100 * (run + 1))
            .for_each(|number| store.put(at(number), &content(number)).unwrap());
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    assert_eq!(found(&open(&folder), 2_000).len(), 2_000);
}

/// Whatever bit is wrong, what is read is what was written or is missing; and it is written again.
#[test]
fn a_flipped_bit_is_found_wherever_it_is() {
    let origin = folder();
    let whole = fs::read(written(&origin, 3)).unwrap();
    for byte in 0..whole.len() {
        let folder = folder();
        let mut bytes = whole.clone();
        bytes[byte] ^= 1 << (byte % 8);
        fs::write(folder.path().join("results-000001.pack"), &bytes).unwrap();
        let store = open(&folder);
        let left = found(&store, 3);
        assert!(left.len() < 3, "byte {byte} is part of nothing");
        // A file with another head is not a pack, and none of our business.
        let foreign = fs::read(folder.path().join("results-000001.pack")).unwrap() == bytes
            && left.is_empty();
        assert_eq!(store.damaged(), usize::from(!foreign), "byte {byte}");
        (0..3).for_each(|number| store.put(at(number), &content(number)).unwrap());
        drop(store);
        let again = open(&folder);
        assert_eq!(found(&again, 3), [0, 1, 2], "byte {byte}");
        assert_eq!(again.damaged(), 0, "byte {byte}");
    }
}

#[test]
fn zeros_are_no_entries() {
    let folder = folder();
    let pack = written(&folder, 3);
    let mut bytes = fs::read(&pack).unwrap();
    let third = bytes.len() - bytes.len() / 4;
    bytes[third..].fill(0);
    fs::write(&pack, &bytes).unwrap();
    let store = open(&folder);
    assert_eq!(found(&store, 3), [0, 1]);
    assert_eq!(store.damaged(), 1);
}

/// A process may die at any byte: what it had finished is there, and nothing is called damaged.
#[test]
fn a_pack_that_ends_anywhere_is_written_on() {
    let origin = folder();
    let whole = fs::read(written(&origin, 3)).unwrap();
    for end in 0..whole.len() {
        let folder = folder();
        fs::write(folder.path().join("results-000001.pack"), &whole[..end]).unwrap();
        let store = open(&folder);
        let left = found(&store, 3);
        assert_eq!(left, (0..left.len() as u64).collect::<Vec<_>>(), "cut at {end}");
        store.put(at(7), &content(7)).unwrap();
        drop(store);
        let store = open(&folder);
        assert_eq!(found(&store, 8), [left, vec![7]].concat(), "cut at {end}");
        assert_eq!(store.damaged(), 0, "cut at {end}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "cut at {end}");
    }
}

/// Two stores on one folder, as two processes have, and many threads in each.
#[test]
fn a_folder_is_shared() {
    let folder = folder();
    written(&folder, 1);
    let stores = [open(&folder), open(&folder)];
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let store = &stores[thread % 2];
            scope.spawn(move || {
                for number in (1 + thread as u64..401).step_by(8) {
                    store.put(at(number), &content(number)).unwrap();
                    assert_eq!(store.get(at(number)), Some(content(number)));
                    assert_eq!(store.get(at(0)), Some(content(0)));
                }
            });
        }
    });
    drop(stores);
    assert_eq!(found(&open(&folder), 401).len(), 401);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    // Both are free to be written again.
    written_once_more(&folder);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

fn written_once_more(folder: &TempDir) {
    let stores = [open(folder), open(folder)];
    stores.iter().for_each(|store| store.put(at(999), &content(999)).unwrap());
}

#[test]
fn what_was_not_used_for_longest_goes_first() {
    let folder = folder();
    let limits = Limits { pack: 2_000, all: 5_500 };
    let open = || Store::open_within(folder.path(), "one", limits).unwrap();
    // Each entry fills a pack.
    let text = |number: u64| format!("{number}").repeat(1_500);
    let store = open();
    (0..3).for_each(|number| store.put(at(number), &text(number)).unwrap());
    drop(store);
    let packs = folder::packs(folder.path()).unwrap();
    assert_eq!(packs.len(), 3);
    // As if they had been written days ago, one after the other.
    let long_ago = SystemTime::now() - Duration::from_hours(100);
    for (number, path) in &packs {
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(long_ago + Duration::from_hours(*number)).unwrap();
    }
    let store = open();
    assert_eq!(store.get(at(0)), Some(text(0)));
    (3..5).for_each(|number| store.put(at(number), &text(number)).unwrap());
    drop(store);
    let left = |store: Store| {
        let here = |number: &u64| store.get(at(*number)) == Some(text(*number));
        (0..9).filter(here).collect::<Vec<_>>()
    };
    assert_eq!(left(open()), [0, 3, 4]);
    // Nothing is taken from a run before its end, however large it grows.
    let store = open();
    (3..9).for_each(|number| store.put(at(number), &text(number)).unwrap());
    drop(open());
    assert_eq!(left(store), [0, 3, 4, 5, 6, 7, 8]);
    assert_eq!(left(open()).len(), 3);
}

#[test]
fn what_is_not_ours_is_left() {
    let folder = folder();
    let place = |name: &str| folder.path().join(name);
    let theirs = [
        "build-output/result.txt".to_owned(),
        "build-fedcba9876543210/notes.txt".to_owned(),
        "build-00000000000000aa/ab/mine.txt".to_owned(),
        "results-000007.pack".to_owned(),
        "results.pack".to_owned(),
    ];
    for file in &theirs {
        fs::create_dir_all(place(file).parent().unwrap()).unwrap();
        fs::write(place(file), "something").unwrap();
    }
    let store = Store::open_within(folder.path(), "one", Limits { pack: 100, all: 0 }).unwrap();
    store.put(at(1), &content(1)).unwrap();
    drop(store);
    for file in &theirs {
        assert_eq!(fs::read_to_string(place(file)).unwrap(), "something", "{file}");
    }
    assert!(!place("results-000008.pack").exists(), "ours is over the limit");
}

/// The folder goes away, or its disk is full: the run goes on and says so.
#[test]
fn results_that_the_folder_does_not_take_are_there_for_the_run() {
    let folder = folder();
    written(&folder, 1);
    let store = open(&folder);
    fs::remove_dir_all(folder.path()).unwrap();
    (1..4).for_each(|number| store.put(at(number), &content(number)).unwrap());
    assert_eq!(found(&store, 4), [0, 1, 2, 3]);
    assert!(store.not_kept().is_some_and(|why| why.contains("No such file")));
    assert!(!folder.path().exists());
}

/// There is a place of every session and preset.
#[test]
fn a_place_is_small() {
    assert_eq!(size_of::<(u64, Spot)>(), 16);
}
