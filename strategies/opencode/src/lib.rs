//! OpenCode's compaction, in five versions.
//!
//! OpenCode keeps every message it ever stored. What the model sees is computed again for each
//! request from marks on the stored messages: a timestamp on a tool part clears its output, and a
//! user message with a compaction part, once a summary answers it, hides everything before it. The
//! stages here are those marks, as plans:
//!
//! | stage | what it does |
//! |---|---|
//! | `opencode.prune` | clears old tool outputs when the loop has ended ([`prune`]) |
//! | `opencode.checkpoint` | marker, summary and continue message, and the view that follows ([`checkpoint`]) |
//! | `opencode.recent` | one message with a summary and, as text, what was said last ([`recent`]) |
//!
//! | preset | reproduces |
//! |---|---|
//! | `opencode` | v1.1.28 of January 2026, which the first write-ups describe |
//! | `opencode-1.17` | v1.17.10 of June 2026: kept tail, anchored summary, `>=`, prune off |
//! | `opencode-1.18` | v1.18.33 of September 2026: more of the end is kept, the summarizer reads a record |
//! | `opencode-2` | version 2, commit 031a4a9: one message takes the place of everything, with the end as text |
//! | `brutus` | the design of a Go port: bytes rounded up, prune before the summary |
//!
//! The algorithms are plain functions over plain inputs ([`boundary::filter_compacted`],
//! [`tail::start`], [`recent::split`], [`recent::record`], [`render`]); the stages only fetch what they need. The policy is the common stage
//! `answer-usage`. The README of this crate is the page of the presets.

pub mod boundary;
pub mod checkpoint;
pub mod prune;
pub mod recent;
pub mod render;
pub mod request;
pub mod stored;
pub mod tail;
pub mod usage;

use foldback_core::registry::{Registration, StageDescriptor};

/// The stages and presets of this crate.
pub const REGISTRATION: Registration = Registration {
    package: env!("CARGO_PKG_NAME"),
    version: env!("CARGO_PKG_VERSION"),
    stages: &[
        StageDescriptor::pruner::<prune::PruneConfig>(
            "opencode.prune",
            "Clears old tool outputs beyond a protected amount, if they are large enough together",
        ),
        StageDescriptor::filter::<checkpoint::CheckpointConfig>(
            "opencode.checkpoint",
            "Marker, summary and continue message; hides everything before, except a kept tail",
        ),
        StageDescriptor::filter::<recent::RecentConfig>(
            "opencode.recent",
            "One message with a summary and, as text, what was said last; hides everything else",
        ),
    ],
    presets: foldback_core::presets![
        "opencode",
        "opencode-1.17",
        "opencode-1.18",
        "opencode-2",
        "brutus",
    ],
};

foldback_core::inventory::submit! { REGISTRATION }
