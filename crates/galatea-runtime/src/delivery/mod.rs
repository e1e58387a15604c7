//! Delivery: from committed outbox rows to the platform, in order per Room.

mod gate;
mod on_the_way;
mod recover;
mod settle;
mod stack;
mod takeover;
mod timeout;
mod worker;

use galatea_core::{Clock, ConnectorInfo, Delivery, EventBus, SendHandler, protocol::Part};
use std::sync::Arc;

pub(crate) use on_the_way::{OnTheWay, Ticket};
pub(crate) use recover::take_over;
pub(crate) use settle::{Settler, settler};
pub(crate) use takeover::Takeover;
pub(crate) use worker::work;

/// One outbox row in memory, on its way.
#[derive(Debug)]
pub(crate) struct Job {
    /// What goes out.
    pub(crate) delivery: Delivery,
    /// How far it has come.
    pub(crate) part: Part,
    /// Nobody else takes it up meanwhile.
    pub(crate) ticket: Option<Ticket>,
}

/// How to reach one account: its handler and the layers around it.
pub(crate) struct Route {
    /// Whose.
    pub(crate) info: ConnectorInfo,
    /// The connector's outbound side, for what needs no call.
    pub(crate) handler: Arc<dyn SendHandler>,
    /// The handler with its layers, for every call.
    pub(crate) stack: stack::Stack,
    /// How far the work left over from the last run is taken up; shared by the routes of one account.
    pub(crate) takeover: Arc<Takeover>,
}

impl Route {
    /// Wraps a handler. What an earlier route of this account knows of limits and leftovers is kept.
    pub(crate) fn new(info: ConnectorInfo, handler: Arc<dyn SendHandler>, clock: &Arc<dyn Clock>, events: EventBus, before: Option<&Self>) -> Self {
        let (takeover, gate) = before.map_or_else(Default::default, |route| (Arc::clone(&route.takeover), Arc::clone(route.stack.gate())));
        let stack = stack::Stack::new(&info, Arc::clone(&handler), Arc::clone(clock), events, gate);
        Self { info, handler, stack, takeover }
    }
}
