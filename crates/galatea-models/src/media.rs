//! Media models: the layers around them (breaker, retries, fallbacks), written once for every kind
//! of work.

mod chain;
mod layers;

pub(crate) use chain::{MediaChain, MediaLink};
