//! Conformance, snapshots, properties and end-to-end runs of the workspace.
