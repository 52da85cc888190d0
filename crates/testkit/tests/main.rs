//! The kit on itself.

mod house;
mod planted;
