//! Readers of what `memory import` takes, one per format, and the batch in which they store rows.
//! Connectors read the exports of their platforms.

pub(super) mod batch;
pub(super) mod elizaos;
mod ending;
pub(super) mod galatea;
pub(super) mod log;
pub(super) mod moment;
mod others;
mod writer;
