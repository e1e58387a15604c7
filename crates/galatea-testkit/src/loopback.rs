//! Parts that the strict platform servers share: a scene behind one lock, waits without polling,
//! faults, violations, and connections that can be cut after any byte.

mod fault;
mod record;
mod scene;
mod server;
mod wire;

pub use fault::{ErrorBody, Fault};
pub(crate) use record::Record;
pub(crate) use scene::Shared;
pub use scene::{Handle, Scene};
pub use server::Server;
pub(crate) use wire::Wire;
