//! The galatea binary.
fn main() {}
