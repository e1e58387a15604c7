//! Readers of what `memory import` takes, one per format. Exports of platforms are read by their
//! connectors.

pub(super) mod elizaos;
pub(super) mod galatea;
pub(super) mod log;
