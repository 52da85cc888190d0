//! A trial: new conversations of live agents get a strategy by chance, and each is recorded without any text of it.
//!
//! | module | what it is for |
//! |---|---|
//! | [`record`] | the file of a trial: its head, a line for each conversation, and the arms that were stopped |
//! | [`assign`] | names without their texts, and which arm a unit gets |
//! | [`guard`] | the test by which an arm that does harm is stopped |
//!
//! Nothing here does I/O: the proxy writes the file, and `foldback trial` reads it.

pub mod assign;
pub mod guard;
pub mod record;
