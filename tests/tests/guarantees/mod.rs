//! What a live loop is promised, with faults on purpose.
//!
//! [`guards`] has one test a promise: it holds, and it stops holding when its guard is taken away.
//! [`schedules`] lets everything happen at once, a thousand times, by seed. [`told`] compares what is
//! told with what happened.

mod builder;
mod faults;
mod guards;
mod schedules;
mod told;
mod world;
