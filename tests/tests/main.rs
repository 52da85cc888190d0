//! What spans the crates. One binary: every other one would link all of this again.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod again;
mod bench_shape;
mod bill;
mod compact;
mod constants;
mod defects;
mod differential;
mod documents;
mod evidence;
mod faults;
mod fuzz;
mod gamer;
mod gate;
mod growth;
mod guarantees;
mod house;
mod invariants;
mod known_groups;
mod late_results;
mod moments;
mod one_turn;
mod outline;
mod refusals;
mod repeated;
mod scaling;
mod self_checks;
mod snapshots;
mod summary_bill;
mod systems;
mod third_party;
mod with_a_model;
