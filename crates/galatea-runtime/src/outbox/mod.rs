//! Takes committed deliveries to the platform, in order per Room.

pub(crate) mod beside;
mod job;
mod key;
mod outbound;
mod pauses;
mod precedence;
mod rate_gate;
mod read_back;
mod reconcile;
mod report;
mod route;
mod send;
mod settle;
mod stack;
mod state;
mod submit;
mod unserved;
mod worker;

pub(crate) use outbound::ThroughOutbox;
pub(crate) use rate_gate::CallTarget;
pub(crate) use route::Route;
pub use state::LongWait;
pub(crate) use state::{Outbox, OutboxParts};
pub(crate) use submit::{Prepared, Stamp};
