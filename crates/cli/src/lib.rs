//! The foldback command.
