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
    /// An answer that goes on is being sent.
    Streaming,
}

/// The direction in which a connection waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Read,
    Write,
}

#[derive(Debug)]
struct OpenConnection {
    address: IpAddr,
    phase: Phase,
    since: Instant,
    /// It was polled and had no data. Until then it may have data, so it is not evicted.
    quiet: bool,
    evicted: bool,
    /// The client has left bytes unread since then.
    stalled: Option<Instant>,
    /// Whoever waits to read, and whoever waits to write: two tasks, if a WebSocket is split.
    wakers: [Option<Waker>; 2],
}

impl OpenConnection {
    fn evict(&mut self) {
        self.evicted = true;
        self.wakers.iter_mut().filter_map(Option::take).for_each(Waker::wake);
    }
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
    /// The time for last words is over.
    streams_closed: bool,
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
            stalled: None,
            wakers: [None, None],
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

    /// Evicts all streams, and each further one at its beginning.
    pub(super) fn close_streams(&self) {
        let mut inner = self.lock();
        inner.streams_closed = true;
        let streams = inner.open.values_mut().filter(|e| e.phase == Phase::Streaming);
        streams.for_each(OpenConnection::evict);
    }

    /// Waits until no connection is open.
    pub(super) async fn empty(&self) {
        loop {
            let changed = self.changed.notified();
            if self.lock().open.is_empty() {
                return;
            }
            changed.await;
        }
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
        let silent = self.open.values_mut().filter(|e| {
            e.quiet && !e.evicted && matches!(e.phase, Phase::Head | Phase::Idle) && among(e)
        });
        let Some(entry) = silent.min_by_key(|e| (e.phase == Phase::Idle, e.since)) else {
            return false;
        };
        entry.evict();
        true
    }

    /// Makes a connection a stream. False when there are enough of them.
    fn stream(&mut self, id: u64, limits: &Limits) -> bool {
        let closed = self.streams_closed;
        let streams = || self.open.values().filter(|e| e.phase == Phase::Streaming);
        let Some(address) = self.open.get(&id).map(|e| e.address) else { return false };
        let has_share = denied(address).is_none();
        let full = streams().count() >= limits.streams.most
            || has_share
                && streams().filter(|e| e.address == address).count() >= limits.streams.per_address;
        if full || closed {
            return false;
        }
        if let Some(entry) = self.open.get_mut(&id) {
            (entry.phase, entry.since, entry.stalled) = (Phase::Streaming, Instant::now(), None);
        }
        true
    }

    /// Records that a connection has no bytes. While the listener closes, this evicts it: when
    /// closing began it may have had bytes, so it was kept then.
    fn note_pending(
        &mut self,
        id: u64,
        direction: Direction,
        waker: &Waker,
        limits: &Limits,
    ) -> WaitLimit {
        let Some(entry) = self.open.get_mut(&id) else { return WaitLimit::Evicted };
        entry.quiet = true;
        entry.wakers[usize::from(direction == Direction::Write)] = Some(waker.clone());
        entry.evicted |= self.closing && matches!(entry.phase, Phase::Head | Phase::Idle);
        match (entry.phase, direction) {
            (Phase::Busy, _) => WaitLimit::Busy,
            _ if entry.evicted => WaitLimit::Evicted,
            (Phase::Head, _) => WaitLimit::Until(entry.since + limits.head),
            (Phase::Idle, _) => WaitLimit::Until(entry.since + limits.idle),
            (Phase::Streaming, Direction::Read) => {
                WaitLimit::Until(entry.since + limits.streams.silent)
            }
            (Phase::Streaming, Direction::Write) => {
                let since = *entry.stalled.get_or_insert_with(Instant::now);
                WaitLimit::Until(since + limits.streams.stalled)
            }
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
            match entry.phase {
                Phase::Idle => (entry.phase, entry.since) = (Phase::Head, Instant::now()),
                Phase::Streaming => entry.since = Instant::now(),
                Phase::Head | Phase::Busy => {}
            }
        });
    }

    /// Records that the client took bytes.
    pub(super) fn taken(&self) {
        self.with(|entry| {
            if entry.phase == Phase::Streaming {
                (entry.since, entry.stalled) = (Instant::now(), None);
            }
        });
    }

    /// Records that no bytes can be read or written, and returns how long the connection may wait.
    /// `waker` is called if it is evicted before that.
    pub(super) fn note_pending(&self, direction: Direction, waker: &Waker) -> WaitLimit {
        let table = &self.0.table;
        let limit = table.lock().note_pending(self.0.id, direction, waker, &table.limits);
        table.changed.notify_one();
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

impl Busy {
    /// Makes the connection a stream until the returned value is dropped. None when there are enough
    /// streams.
    pub(super) fn into_stream(self) -> Option<Streaming> {
        let ConnectionRank { id, table } = &*self.0.0;
        table.lock().stream(*id, &table.limits).then(|| Streaming(Some(self.0.clone())))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.end(Phase::Busy);
    }
}

/// Marks a connection as a stream until it is dropped.
#[derive(Debug)]
pub(super) struct Streaming(Option<Connection>);

impl Streaming {
    /// Leaves the connection a stream until it is closed: it has another protocol from now on.
    pub(super) fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for Streaming {
    fn drop(&mut self) {
        if let Some(connection) = &self.0 {
            connection.end(Phase::Streaming);
        }
    }
}

impl Connection {
    /// Ends a phase, unless the connection is in another one by now.
    fn end(&self, phase: Phase) {
        let closing = self.0.table.lock().closing;
        self.with(|entry| {
            if entry.phase != phase {
                return;
            }
            (entry.phase, entry.since, entry.quiet, entry.evicted, entry.stalled) =
                (Phase::Idle, Instant::now(), false, closing, None);
            // hyper asked for the next request while this one was answered, and would not ask again
            // until bytes arrive: the connection would neither be found silent nor have a limit.
            if let [Some(reader), _] = &entry.wakers {
                reader.wake_by_ref();
            }
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
        streams: super::super::StreamLimits {
            most: 2,
            per_address: 1,
            silent: Duration::from_secs(90),
            stalled: Duration::from_secs(30),
            farewell: Duration::from_secs(3),
        },
    };

    fn taken(table: &Arc<ConnectionTable>, address: &str) -> Option<Connection> {
        match table.room(address.parse().unwrap()) {
            TableRoom::Taken(connection) => Some(connection),
            TableRoom::Refused | TableRoom::Wait => None,
        }
    }

    fn pending(connection: &Connection) -> WaitLimit {
        connection.note_pending(Direction::Read, Waker::noop())
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

    #[test]
    fn a_stream_is_never_evicted_and_plain_requests_find_a_place() {
        let table = ConnectionTable::new(LIMITS);
        let held: Vec<_> = (0..4).map(|_| taken(&table, "127.0.0.1").unwrap()).collect();
        let first = held[0].begin().into_stream().unwrap();
        let _second = held[1].begin().into_stream().unwrap();
        assert!(held[2].begin().into_stream().is_none(), "two streams are the most");
        held.iter().for_each(|c| assert_ne!(pending(c), WaitLimit::Evicted));
        table.evict_one();
        table.evict_one();
        table.evict_one();
        let evicted: Vec<_> = held.iter().map(Connection::is_evicted).collect();
        assert_eq!(evicted, [false, false, true, true]);
        drop(first);
        assert_ne!(pending(&held[0]), WaitLimit::Evicted);
        table.evict_one();
        assert!(held[0].is_evicted(), "it is a silent connection again");
    }

    #[test]
    fn a_public_address_has_a_share_of_streams() {
        let table = ConnectionTable::new(LIMITS);
        let held: Vec<_> = ["203.0.114.1", "203.0.114.1", "203.0.114.2"]
            .map(|address| taken(&table, address).unwrap())
            .into();
        let _stream = held[0].begin().into_stream().unwrap();
        assert!(held[1].begin().into_stream().is_none());
        assert!(held[2].begin().into_stream().is_some());
    }

    #[test]
    fn streams_outlive_the_stop_by_their_farewell() {
        let table = ConnectionTable::new(LIMITS);
        let (sse, socket) = (taken(&table, "::1").unwrap(), taken(&table, "::1").unwrap());
        let (stream, other) =
            (sse.begin().into_stream().unwrap(), socket.begin().into_stream().unwrap());
        other.keep();
        table.close();
        assert!(!sse.is_evicted() && matches!(pending(&socket), WaitLimit::Until(_)));
        table.close_streams();
        assert!(sse.is_evicted() && pending(&socket) == WaitLimit::Evicted);
        drop(stream);
    }

    #[test]
    fn a_stream_waits_from_the_last_byte_in_either_direction() {
        let table = ConnectionTable::new(LIMITS);
        let connection = taken(&table, "::1").unwrap();
        let _stream = connection.begin().into_stream().unwrap();
        let WaitLimit::Until(silent) = pending(&connection) else { panic!("it waits") };
        std::thread::sleep(Duration::from_millis(2));
        connection.taken();
        let WaitLimit::Until(later) = pending(&connection) else { panic!("it waits") };
        assert!(later > silent, "a written byte counts");
        let unread = || connection.note_pending(Direction::Write, Waker::noop());
        let first = unread();
        connection.heard();
        assert_eq!(first, unread(), "what it says does not excuse what it leaves unread");
    }
}
