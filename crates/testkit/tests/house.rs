//! The laws on the presets of `foldback-stages`, whose own tests can't depend on this crate by its version.

use foldback_testkit::law::Law;
use foldback_testkit::{Subject, laws};

laws!(none: Subject::preset("none").breaks(Law::Acts, "it never compacts: it is there to compare with"));
laws!(random: "random");
laws!(keep_last_1: "keep-last-1");
laws!(drop_oldest: "drop-oldest");
