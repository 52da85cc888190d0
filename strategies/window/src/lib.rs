//! The window compactor of Spec 09.
