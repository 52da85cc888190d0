//! Whatever was said: the presets keep every law.

use foldback_testkit::{Subject, laws};

use foldback_indexed as _;

laws!(indexed: "indexed");
laws!(indexed_large: Subject::preset("indexed-large"));
