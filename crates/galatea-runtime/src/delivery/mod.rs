//! Delivery: from committed outbox rows to the platform, in order per Room.

mod gate;
mod look;
mod mark;
mod on_the_way;
mod read_back;
mod recover;
mod settle;
mod stack;
mod takeover;
mod timeout;
mod worker;

use galatea_core::{ConnectorInfo, Delivery, SendHandler, protocol::Part};
use std::{sync::Arc, time::Duration};

use crate::{agent::Agent, leases::Tenure};

pub(crate) use on_the_way::{OnTheWay, Ticket};
pub(crate) use recover::{look_behind, take_over};
pub(crate) use settle::{Settler, settler};
pub(crate) use takeover::{Admission, Takeover};
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
    /// Sent only as long as the account is this process's.
    pub(crate) tenure: Tenure,
    /// How far the clock was ahead when its times were told.
    pub(crate) ahead: Duration,
}

impl Job {
    /// Makes it no older by a clock that was set forward meanwhile.
    fn follow_clock(&mut self, ahead: Duration) {
        let set = ahead.saturating_sub(self.ahead);
        self.part.expires = self.part.expires.map(|end| end.plus(set));
        self.ahead = ahead;
    }
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
    /// The right to send; none where another process has the account and this one only encodes.
    pub(crate) tenure: Option<Tenure>,
}

impl Route {
    /// Wraps a handler. What an earlier route of this account knows of limits is kept.
    pub(crate) fn new(info: ConnectorInfo, handler: Arc<dyn SendHandler>, agent: &Agent, takeover: Arc<Takeover>, tenure: Option<Tenure>) -> Self {
        let gate = agent.any_route(&info.source, &info.account).map(|route| Arc::clone(route.stack.gate())).unwrap_or_default();
        let stack = stack::Stack::new(&info, Arc::clone(&handler), Arc::clone(&agent.clock), agent.events.clone(), gate);
        Self { info, handler, stack, takeover, tenure }
    }

    /// Turns may be run for it: what was left to send is on its way, or another process sends.
    pub(crate) fn is_ready(&self) -> bool {
        self.tenure.is_none() || self.takeover.sends.is_open()
    }

    /// The right to send something new at once.
    pub(crate) fn sends(&self) -> Option<Tenure> {
        self.tenure.clone().filter(Tenure::is_open)
    }
}
