//! What `foldback-formats` builds on as well. No promise of stability: use the modules of the protocols.

pub mod ids;
pub mod layered;
pub mod made;
pub mod messages;
pub mod overlay;
pub mod pairing;
pub mod parts;
pub(crate) mod pieces;
pub mod raw;
pub mod rewrite;
pub mod source;
pub mod usage;
pub mod value;
