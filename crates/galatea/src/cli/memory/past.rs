//! Readers of what `memory import` takes, one per format, and the batch in which they store. Exports of platforms are read by their
//! connectors.

mod batch;
pub(super) mod elizaos;
pub(super) mod galatea;
pub(super) mod log;
