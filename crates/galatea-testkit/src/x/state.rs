//! State of the server, behind one lock that is never held across an await.

use galatea_core::Timestamp;
use serde_json::Value;
use std::{collections::BTreeMap, time::Instant};

use super::{
    faults::Effect, limits::Limits, media::Uploads, oauth1::Nonces, oauth2::Grants,
    options::Options, world::World,
};
use crate::loopback::Record;

/// One recorded call.
#[derive(Debug, Clone)]
pub struct Call {
    /// When it arrived, by the server's clock.
    pub at: Timestamp,
    /// When it arrived, by the machine's clock.
    pub instant: Instant,
    /// Route as documented: `GET /2/users/:id/mentions`.
    pub route: String,
    /// Path of the request.
    pub path: String,
    /// Query parameters.
    pub query: BTreeMap<String, String>,
    /// JSON body; null for no body or another type.
    pub body: Value,
    /// Status and body of the answer; `None` while it is pending, or when there was none.
    pub answer: Option<(u16, Value)>,
}

/// The server's state.
pub struct State {
    pub(super) options: Options,
    pub(super) origin: String,
    pub(super) world: World,
    pub(super) limits: Limits,
    pub(super) nonces: Nonces,
    pub(super) grants: Grants,
    pub(super) uploads: Uploads,
    pub(super) record: Record<Effect>,
    pub(super) calls: Vec<Call>,
    pub(super) credits: bool,
    pub(super) enrolled: bool,
    /// Whether every post of the account is refused.
    pub(super) suspended: bool,
    /// Number of further timeline requests that ignore `since_id`.
    pub(super) forgetful: usize,
}

impl State {
    /// The time by the server's clock.
    pub(super) fn now(&self) -> Timestamp {
        self.options.clock.now()
    }

    /// The same in Unix seconds.
    pub(super) fn seconds(&self) -> i64 {
        self.now().0.div_euclid(1000)
    }

    /// Records a violation and the call that caused it.
    pub(super) fn violate(&mut self, route: &str, what: &str) {
        self.record.violate(route, what);
    }
}

/// The state and a notification of its changes.
pub(crate) type Shared = crate::loopback::Shared<State>;
