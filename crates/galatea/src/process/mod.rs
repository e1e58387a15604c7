//! This process: its memory, its log, its signals, its health server and its version.

pub(crate) mod allocator;
pub(crate) mod executable;
pub(crate) mod health;
pub(crate) mod log_ring;
pub(crate) mod logging;
pub(crate) mod server;
pub(crate) mod signals;
pub(crate) mod version;
