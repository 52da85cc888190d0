//! A tool-using agent with foldback in it.

fn main() {}
