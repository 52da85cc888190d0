//! What the benches share: sessions to run over, and how to run a conversation without a runtime.
//!
//! [`shape`] makes the synthetic coding session that every figure about size is measured on,
//! [`corpus`] finds recorded sessions where there are some, [`driving`] compiles strategies and fills
//! conversations. The table in the README comes from the binary `bench-table`.

pub mod corpus;
pub mod driving;
#[cfg(feature = "peers")]
pub mod peers;
pub mod shape;
