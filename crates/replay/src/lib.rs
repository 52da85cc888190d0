//! Teacher-forced replay of recorded sessions, and the measurements made on it.
