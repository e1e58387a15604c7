//! Tracks a listener's open connections and their phases, and chooses which one to evict when there
//! is no room. Pure except for its clock and its wakers.

use parking_lot::{Mutex, MutexGuard};
use std::{collections::HashMap, net::IpAddr, sync::Arc, task::Waker};
use tokio::{sync::Notify, time::Instant};

use super::Limits;
use crate::guard::denied;

/// The phase of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// The headers of its request are incomplete.
    Head,
    /// Its request is being read or answered.
    Busy,
    /// Its last request was answered.
    Idle,
}

#[derive(Debug)]
struct OpenConnection {
    address: IpAddr,
    phase: Phase,
    since: Instant,
    /// It was polled and had no data. Until then it may have data, so it is not evicted.
    quiet: bool,
    evicted: bool,
    waker: Option<Waker>,
}

/// Every open connection of a listener.
#[derive(Debug)]
pub(super) struct ConnectionTable {
    limits: Limits,
    inner: Mutex<Connections>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Connections {
    next: u64,
    closing: bool,
    open: HashMap<u64, OpenConnection>,
}

/// Room for one more connection.
pub(super) enum TableRoom {
    /// There is room; the connection is registered.
    Taken(Connection),
    /// Its address has too many connections, and all of them are busy.
    Refused,
    /// Not yet; try again after a [change](Table::changed).
    Wait,
}

impl ConnectionTable {
    pub(super) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self { limits, inner: Mutex::default(), changed: Notify::new() })
    }

    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.inner.lock()
    }

    /// Registers a connection from an address. If there is no room, evicts a silent connection.
    pub(super) fn room(self: &Arc<Self>, address: IpAddr) -> TableRoom {
        let address = household(address);
        let mut inner = self.lock();
        let has_share = denied(address).is_none();
        let of_its = |entry: &OpenConnection| entry.address == address && !entry.evicted;
        if has_share
            && inner.open.values().filter(|e| of_its(e)).count() >= self.limits.per_address
            && !inner.evict(|e| of_its(e))
        {
            return TableRoom::Refused;
        }
        if inner.open.len() >= self.limits.connections {
            // Evicts one at a time: an evicted connection frees its place shortly.
            if !inner.open.values().any(|e| e.evicted) {
                inner.evict(|_| true);
            }
            return TableRoom::Wait;
        }
        let id = inner.next;
        inner.next += 1;
        let entry = OpenConnection {
            address,
            phase: Phase::Head,
            since: Instant::now(),
            quiet: false,
            evicted: inner.closing,
            waker: None,
        };
        inner.open.insert(id, entry);
        TableRoom::Taken(Connection(Arc::new(ConnectionRank { id, table: self.clone() })))
    }

    /// Waits until a connection ended or became silent or busy.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Evicts the connection that has been silent for longest.
    pub(super) fn evict_one(&self) {
        self.lock().evict(|_| true);
    }

    /// Evicts all silent connections, and each further one when it becomes silent.
    pub(super) fn close(&self) {
        let mut inner = self.lock();
        inner.closing = true;
        while inner.evict(|_| true) {}
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.lock().open.len()
    }
}

impl Connections {
    /// Evicts one silent connection: first those that never completed a request, the oldest first.
    /// Returns false if there is none.
    fn evict(&mut self, among: impl Fn(&OpenConnection) -> bool) -> bool {
        let silent = self
            .open
            .values_mut()
            .filter(|e| e.quiet && !e.evicted && e.phase != Phase::Busy && among(e));
        let Some(entry) = silent.min_by_key(|e| (e.phase == Phase::Idle, e.since)) else {
            return false;
        };
        entry.evicted = true;
        if let Some(waker) = entry.waker.take() {
            waker.wake();
        }
        true
    }

    /// Records that a connection has no bytes. While the listener closes, this evicts it: when
    /// closing began it may have had bytes, so it was kept then.
    fn note_pending(&mut self, id: u64, waker: &Waker, limits: &Limits) -> WaitLimit {
        let Some(entry) = self.open.get_mut(&id) else { return WaitLimit::Evicted };
        entry.quiet = true;
        entry.waker = Some(waker.clone());
        entry.evicted |= self.closing && entry.phase != Phase::Busy;
        match entry.phase {
            Phase::Busy => WaitLimit::Busy,
            _ if entry.evicted => WaitLimit::Evicted,
            Phase::Head => WaitLimit::Until(entry.since + limits.head),
            Phase::Idle => WaitLimit::Until(entry.since + limits.idle),
        }
    }
}

/// Maps an address to its subscriber: for IPv6 the /64 network, for a mapped address the IPv4
/// address.
fn household(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) if denied(IpAddr::V6(v6)).is_none() => {
            IpAddr::V6((v6.to_bits() & (u128::MAX << 64)).into())
        }
        other => other,
    }
}

/// A registered connection. Its place is freed when the last clone is dropped.
#[derive(Debug, Clone)]
pub(super) struct Connection(Arc<ConnectionRank>);

#[derive(Debug)]
struct ConnectionRank {
    id: u64,
    table: Arc<ConnectionTable>,
}

impl Drop for ConnectionRank {
    fn drop(&mut self) {
        self.table.lock().open.remove(&self.id);
        self.table.changed.notify_one();
    }
}

/// Time for which a connection without data may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitLimit {
    /// It was evicted.
    Evicted,
    /// It may wait until this time.
    Until(Instant),
    /// It has a request, which has a timeout of its own.
    Busy,
}

impl Connection {
    fn with<T>(&self, change: impl FnOnce(&mut OpenConnection) -> T) -> Option<T> {
        self.0.table.lock().open.get_mut(&self.0.id).map(change)
    }

    /// True if it was evicted.
    pub(super) fn is_evicted(&self) -> bool {
        self.with(|entry| entry.evicted && entry.phase != Phase::Busy).unwrap_or(true)
    }

    /// Records that bytes arrived.
    pub(super) fn heard(&self) {
        self.with(|entry| {
            entry.quiet = false;
            if entry.phase == Phase::Idle {
                (entry.phase, entry.since) = (Phase::Head, Instant::now());
            }
        });
    }

    /// Records that no bytes arrived, and returns how long the connection may wait. `waker` is
    /// called if it is evicted before that.
    pub(super) fn note_pending(&self, waker: &Waker) -> WaitLimit {
        let limit = self.0.table.lock().note_pending(self.0.id, waker, &self.0.table.limits);
        self.0.table.changed.notify_one();
        limit
    }

    /// Records that a request's headers are complete. The connection is busy until the returned
    /// value is dropped.
    pub(super) fn begin(&self) -> Busy {
        // A connection that was evicted at the same moment is active after all, so the eviction is
        // withdrawn; another connection is evicted in its place.
        self.with(|entry| (entry.phase, entry.evicted) = (Phase::Busy, false));
        self.0.table.changed.notify_one();
        Busy(self.clone())
    }
}

/// Marks a connection as busy until it is dropped.
#[derive(Debug)]
pub(super) struct Busy(Connection);

impl Drop for Busy {
    fn drop(&mut self) {
        let closing = self.0.0.table.lock().closing;
        self.0.with(|entry| {
            (entry.phase, entry.since, entry.quiet, entry.evicted) =
                (Phase::Idle, Instant::now(), false, closing)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const LIMITS: Limits = Limits {
        connections: 4,
        per_address: 2,
        head: Duration::from_secs(5),
        idle: Duration::from_secs(60),
        answer: Duration::from_secs(60),
    };

    fn taken(table: &Arc<ConnectionTable>, address: &str) -> Option<Connection> {
        match table.room(address.parse().unwrap()) {
            TableRoom::Taken(connection) => Some(connection),
            TableRoom::Refused | TableRoom::Wait => None,
        }
    }

    fn pending(connection: &Connection) -> WaitLimit {
        connection.note_pending(Waker::noop())
    }

    #[test]
    fn the_oldest_silent_one_makes_room() {
        let table = ConnectionTable::new(LIMITS);
        let mut held: Vec<_> = (0..4).map(|_| taken(&table, "127.0.0.1").unwrap()).collect();
        assert!(taken(&table, "127.0.0.1").is_none(), "each of them may still send a request");
        assert!(held.iter().all(|c| !c.is_evicted()));
        let _busy = held[0].begin();
        held.iter().for_each(|c| assert_ne!(pending(c), WaitLimit::Evicted));
        assert!(taken(&table, "127.0.0.1").is_none());
        assert_eq!(
            held.iter().map(Connection::is_evicted).collect::<Vec<_>>(),
            [false, true, false, false],
            "the busy one stays"
        );
        assert!(taken(&table, "127.0.0.1").is_none());
        assert_eq!(
            held.iter().filter(|c| c.is_evicted()).count(),
            1,
            "one goes for one that comes"
        );
        assert_eq!(pending(&held[1]), WaitLimit::Evicted);
        held.remove(1);
        assert!(taken(&table, "127.0.0.1").is_some());
        assert_eq!(table.len(), 3, "its place is free once it is dropped");
    }

    #[test]
    fn one_that_was_answered_stays_before_one_that_never_asked() {
        let table = ConnectionTable::new(LIMITS);
        let held: Vec<_> = (0..4).map(|_| taken(&table, "10.0.0.1").unwrap()).collect();
        drop(held[0].begin());
        held.iter().for_each(|c| assert_ne!(pending(c), WaitLimit::Evicted));
        for gone in [1, 2, 3, 0] {
            table.evict_one();
            assert!(held[gone].is_evicted(), "{gone}");
        }
        table.evict_one();
    }

    #[test]
    fn a_public_address_has_a_share() {
        let table = ConnectionTable::new(LIMITS);
        let (first, second) =
            (taken(&table, "203.0.114.1").unwrap(), taken(&table, "::ffff:203.0.114.1").unwrap());
        assert!(
            taken(&table, "203.0.114.1").is_none() && !first.is_evicted(),
            "refused: both may have something to say"
        );
        assert!(taken(&table, "203.0.114.2").is_some(), "the limit is per address");
        let _ = pending(&second);
        let third = taken(&table, "203.0.114.1").unwrap();
        assert!(
            second.is_evicted() && !first.is_evicted(),
            "the address's own silent connection is evicted"
        );
        drop((first, second, third));
        let v6: Vec<_> =
            ["2a00:1450:1:2::1", "2a00:1450:1:2:ffff::7"].map(|a| taken(&table, a).unwrap()).into();
        assert!(taken(&table, "2a00:1450:1:2::9").is_none(), "a /64 counts as one address");
        assert!(taken(&table, "2a00:1450:1:3::9").is_some());
        drop(v6);
        for proxy in ["127.0.0.1", "10.1.2.3", "::1", "192.168.0.7", "fd00::1"] {
            let held: Vec<_> = (0..4).map(|_| taken(&table, proxy).unwrap()).collect();
            assert_eq!(held.len(), 4, "{proxy} may be a proxy");
        }
    }

    #[test]
    fn one_that_becomes_silent_while_closing_is_evicted() {
        let table = ConnectionTable::new(LIMITS);
        let (unread, asking) = (taken(&table, "::1").unwrap(), taken(&table, "::1").unwrap());
        let busy = asking.begin();
        table.close();
        assert!(!unread.is_evicted(), "it may have a request");
        assert_eq!(pending(&unread), WaitLimit::Evicted, "it has none");
        assert_eq!(pending(&asking), WaitLimit::Busy, "its answer is awaited");
        drop(busy);
        assert_eq!(pending(&asking), WaitLimit::Evicted);
    }

    #[test]
    fn times_are_of_the_request_not_of_the_byte() {
        let table = ConnectionTable::new(LIMITS);
        let connection = taken(&table, "127.0.0.1").unwrap();
        let WaitLimit::Until(first) = pending(&connection) else { panic!("it waits for a head") };
        connection.heard();
        assert_eq!(
            pending(&connection),
            WaitLimit::Until(first),
            "single bytes do not extend the deadline"
        );
        let busy = connection.begin();
        assert_eq!(pending(&connection), WaitLimit::Busy);
        table.close();
        assert!(!connection.is_evicted(), "a busy connection is not evicted");
        drop(busy);
        assert!(connection.is_evicted());
    }
}
