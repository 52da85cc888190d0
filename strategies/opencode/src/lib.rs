//! OpenCode's checkpoint flow, in three versions.
