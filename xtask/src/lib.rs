//! Developer tasks.
