//! Route to one account.

use dashmap::DashMap;
use galatea_core::{Account, Clock, ConnectorInfo, EventBus, SendHandler, Source};
use std::sync::Arc;
use tokio::sync::Notify;

use super::stack::{Stack, Worlds};
use crate::{
    backlog::Backlog,
    ownership::{LeaseGuard, WeakLease},
};

/// Rows of one account of the last run, which go before new ones: first those to be sent, then
/// those to be answered.
#[derive(Debug, Default)]
pub(crate) struct AccountBacklog {
    /// Deliveries that were committed before.
    pub(crate) sends: Backlog,
    /// Messages that were stored before.
    pub(crate) turns: Backlog,
    /// Held while the outbox is polled: of two polls at once the one that read earlier could hand
    /// over its rows later, out of order.
    pub(super) polling: tokio::sync::Mutex<()>,
    /// Notified when the process has seen open deliveries of the account in the store.
    pub(crate) sends_due: Notify,
    /// The same for messages that wait.
    pub(crate) turns_due: Notify,
}

/// Route to one account: its handler and the layers around it.
pub(crate) struct Route {
    pub(crate) info: ConnectorInfo,
    /// The connector's outbound side, for questions that need no call.
    pub(crate) handler: Arc<dyn SendHandler>,
    /// The handler with its layers, for every call.
    pub(crate) stack: Stack,
    /// Shared by the routes of one account.
    pub(crate) backlog: Arc<AccountBacklog>,
    /// The right to send, as long as another clone keeps it: a turn has a route in use for as long
    /// as it thinks, and must not keep an account that is to go to another process. None where
    /// another process holds the account and this one only encodes.
    pub(super) lease: Option<WeakLease>,
    /// This process has the account's login, even if another one connects it now.
    pub(super) has_login: bool,
}

impl Route {
    /// Turns may be run for it: its deliveries of the last run are in their lanes, or another
    /// process sends.
    pub(crate) fn is_ready(&self) -> bool {
        self.lease.is_none() || self.backlog.sends.is_cleared()
    }

    /// True if this process sends through it.
    pub(crate) fn is_connected(&self) -> bool {
        self.lease.is_some()
    }

    /// The right to send something new at once.
    pub(crate) fn sends(&self) -> Option<LeaseGuard> {
        self.lease.as_ref().and_then(WeakLease::get).filter(LeaseGuard::is_open)
    }

    fn is_under(&self, lease: &LeaseGuard) -> bool {
        self.lease.as_ref().and_then(WeakLease::get).is_some_and(|held| held.is(lease))
    }
}

/// The routes of one agent.
pub(crate) struct Routes {
    by_account: DashMap<(Source, Account), Arc<Route>>,
    clock: Arc<dyn Clock>,
    events: EventBus,
    worlds: Worlds,
}

impl Routes {
    pub(super) fn new(clock: Arc<dyn Clock>, events: EventBus, worlds: Worlds) -> Self {
        Self { by_account: DashMap::new(), clock, events, worlds }
    }

    /// A route whose account has registered its send handler and whose deliveries of the last run
    /// are in their lanes, or one through which another process sends.
    pub(crate) fn ready(&self, source: &Source, account: &Account) -> Option<Arc<Route>> {
        self.any(source, account).filter(|route| route.is_ready())
    }

    /// A route in whatever state.
    pub(crate) fn any(&self, source: &Source, account: &Account) -> Option<Arc<Route>> {
        self.by_account.get(&(source.clone(), account.clone())).map(|route| Arc::clone(&route))
    }

    pub(crate) fn all(&self) -> Vec<Arc<Route>> {
        self.by_account.iter().map(|route| Arc::clone(&route)).collect()
    }

    /// An account is sent through. The route, when its backlog has to be read first: a connector
    /// that restarts registers again under the same lease, and what was in flight then is still in
    /// its lane.
    pub(crate) fn connect(
        &self,
        info: &ConnectorInfo,
        handler: Arc<dyn SendHandler>,
        lease: &LeaseGuard,
    ) -> Option<Arc<Route>> {
        let known = self.any(&info.source, &info.account).filter(|route| route.is_under(lease));
        let first = known.is_none();
        let backlog = known.map(|route| Arc::clone(&route.backlog)).unwrap_or_default();
        let route = self.insert(info, handler, backlog, Some(lease), true);
        first.then_some(route)
    }

    /// Another process sends through an account; this one only encodes for it.
    pub(crate) fn encode_only(&self, info: &ConnectorInfo, handler: Arc<dyn SendHandler>) {
        self.insert(info, handler, Arc::default(), None, true);
    }

    /// Like [`Self::encode_only`], for an account whose login this process does not have.
    pub(crate) fn encode_without_login(&self, info: &ConnectorInfo, handler: Arc<dyn SendHandler>) {
        self.insert(info, handler, Arc::default(), None, false);
    }

    /// Rate limits that an earlier route of this account has learnt are kept.
    fn insert(
        &self,
        info: &ConnectorInfo,
        handler: Arc<dyn SendHandler>,
        backlog: Arc<AccountBacklog>,
        lease: Option<&LeaseGuard>,
        has_login: bool,
    ) -> Arc<Route> {
        let gate = self
            .any(&info.source, &info.account)
            .map(|route| Arc::clone(route.stack.gate()))
            .unwrap_or_default();
        let stack = Stack::new(
            info,
            Arc::clone(&handler),
            Arc::clone(&self.clock),
            self.events.clone(),
            gate,
            self.worlds.clone(),
        );
        let lease = lease.map(LeaseGuard::weak);
        let route =
            Arc::new(Route { info: info.clone(), handler, stack, backlog, lease, has_login });
        self.by_account.insert((info.source.clone(), info.account.clone()), Arc::clone(&route));
        route
    }
}
