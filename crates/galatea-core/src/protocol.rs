//! The delivery protocol as pure functions: `(state, event) → (state, effect)`. No clock, no store,
//! no platform: the runtime does what the effects say, and the simulation explores every schedule
//! of the same code.
//!
//! - [`Part`]: one part of an answer on its way out, from its commit to its end (T3, T4, retries,
//!   read-back after a crash).
//! - [`Tables`]: what the inbox and the outbox accept (T1 to T4). Stores do the same in SQL;
//!   `store_suite!` holds them to it.

mod part;
mod retry;
mod tables;

pub use part::{DeliveryEvent, Effect, End, Part, ReadBackOutcome, Rules, SETTLE_TIME};
pub use retry::ATTEMPTS;
pub use tables::{Refused, Tables};
