//! The binary `narrows`.
fn main() {}
