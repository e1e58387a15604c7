//! Delivery: from committed outbox rows to the platform, in order per Room.

mod breaker;
mod rate_limit;
mod recover;
mod retry;
mod settle;
mod stack;
mod timeout;
mod worker;

use galatea_core::{Clock, ConnectorInfo, Delivery, SendHandler, Timestamp};
use std::sync::Arc;

pub(crate) use recover::recover;
pub(crate) use settle::{Settler, settler};
pub(crate) use worker::work;

/// One outbox row in memory, on its way.
#[derive(Debug)]
pub(crate) struct Job {
    /// What goes out.
    pub(crate) delivery: Delivery,
    /// Already stored as `sending`.
    pub(crate) marked: bool,
    /// Its outcome is unknown: look before sending.
    pub(crate) ambiguous: bool,
    /// Not before.
    pub(crate) not_before: Timestamp,
    /// Not after.
    pub(crate) expires: Option<Timestamp>,
}

/// How to reach one account: its handler and the layers around it.
pub(crate) struct Route {
    /// Whose.
    pub(crate) info: ConnectorInfo,
    /// The connector's outbound side, for encoding and typing.
    pub(crate) handler: Arc<dyn SendHandler>,
    /// The handler with its layers, for sending.
    pub(crate) stack: stack::Stack,
}

impl Route {
    /// Wraps a handler.
    pub(crate) fn new(info: ConnectorInfo, handler: Arc<dyn SendHandler>, clock: &Arc<dyn Clock>) -> Self {
        let stack = stack::Stack::new(&info, Arc::clone(&handler), Arc::clone(clock));
        Self { info, handler, stack }
    }
}
