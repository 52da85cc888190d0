//! A trial: new conversations of live agents get a strategy by chance, and each is recorded without any text of it.
//! The proxy writes its file, and `foldback trial` reads it.

pub mod assign;
pub mod guard;
pub mod record;
