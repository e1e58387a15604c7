//! What an export consists of.

pub(crate) use galatea_core::export::{FORMAT, Record};
