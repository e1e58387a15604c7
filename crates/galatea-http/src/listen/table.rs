//! Who is connected, what each connection is doing, and which one goes when there is no room. Pure
//! but for its clock and its wakers.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Waker,
};
use tokio::{sync::Notify, time::Instant};

use super::Limits;
use crate::guard::denied;

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its request's head is not complete.
    Head,
    /// It has a request that is being read or answered.
    Busy,
    /// Its last request is answered.
    Idle,
}

#[derive(Debug)]
struct Entry {
    address: IpAddr,
    phase: Phase,
    since: Instant,
    /// It was looked at and had nothing to say. Until then nobody knows, and it stays.
    quiet: bool,
    evicted: bool,
    waker: Option<Waker>,
}

/// Every open connection of a listener.
#[derive(Debug)]
pub(super) struct Table {
    limits: Limits,
    inner: Mutex<Inner>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    next: u64,
    closing: bool,
    open: HashMap<u64, Entry>,
}

/// Whether one more connection has room.
pub(super) enum Room {
    /// It has; this is its place.
    Taken(Connection),
    /// Its address has too many that are busy.
    Refused,
    /// Not yet: ask again after a [change](Table::changed).
    Wait,
}

impl Table {
    pub(super) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self { limits, inner: Mutex::default(), changed: Notify::new() })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a connection from an address. Where there is none, one that says nothing is told
    /// to go.
    pub(super) fn room(self: &Arc<Self>, address: IpAddr) -> Room {
        let address = household(address);
        let mut inner = self.lock();
        let has_share = denied(address).is_none();
        let of_its = |entry: &Entry| entry.address == address && !entry.evicted;
        if has_share
            && inner.open.values().filter(|e| of_its(e)).count() >= self.limits.per_address
            && !inner.evict(|e| of_its(e))
        {
            return Room::Refused;
        }
        if inner.open.len() >= self.limits.connections {
            // One at a time: whoever was told to go frees its place in a moment.
            if !inner.open.values().any(|e| e.evicted) {
                inner.evict(|_| true);
            }
            return Room::Wait;
        }
        let id = inner.next;
        inner.next += 1;
        let entry = Entry {
            address,
            phase: Phase::Head,
            since: Instant::now(),
            quiet: false,
            evicted: inner.closing,
            waker: None,
        };
        inner.open.insert(id, entry);
        Room::Taken(Connection(Arc::new(Place { id, table: self.clone() })))
    }

    /// Waits until a connection ended or fell silent.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Tells the one that has been silent for longest to go.
    pub(super) fn evict_one(&self) {
        self.lock().evict(|_| true);
    }

    /// Tells all that are silent to go, now and from now on.
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

impl Inner {
    /// Tells a silent one to go: first those that never completed a request, the oldest first.
    fn evict(&mut self, among: impl Fn(&Entry) -> bool) -> bool {
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
}

/// Addresses that one subscriber has: an IPv6 network of 64 bits, a mapped address is its IPv4 one.
fn household(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) if denied(IpAddr::V6(v6)).is_none() => {
            IpAddr::V6((v6.to_bits() & (u128::MAX << 64)).into())
        }
        other => other,
    }
}

/// One connection's place; free again when the last clone is gone.
#[derive(Debug, Clone)]
pub(super) struct Connection(Arc<Place>);

#[derive(Debug)]
struct Place {
    id: u64,
    table: Arc<Table>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.table.lock().open.remove(&self.id);
        self.table.changed.notify_one();
    }
}

/// What became of a connection that had nothing to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Silence {
    /// It has to go.
    Over,
    /// It may wait until then.
    Until(Instant),
    /// It has a request, whose time others watch.
    Busy,
}

impl Connection {
    fn with<T>(&self, change: impl FnOnce(&mut Entry, &Limits) -> T) -> Option<T> {
        let table = &self.0.table;
        table.lock().open.get_mut(&self.0.id).map(|entry| change(entry, &table.limits))
    }

    /// It was told to go.
    pub(super) fn is_evicted(&self) -> bool {
        self.with(|entry, _| entry.evicted && entry.phase != Phase::Busy).unwrap_or(true)
    }

    /// Bytes came.
    pub(super) fn heard(&self) {
        self.with(|entry, _| {
            entry.quiet = false;
            if entry.phase == Phase::Idle {
                (entry.phase, entry.since) = (Phase::Head, Instant::now());
            }
        });
    }

    /// Nothing came. How long it may stay so; `waker` is called when it has to go sooner.
    pub(super) fn silent(&self, waker: &Waker) -> Silence {
        let silence = self.with(|entry, limits| {
            entry.quiet = true;
            entry.waker = Some(waker.clone());
            match entry.phase {
                Phase::Busy => Silence::Busy,
                _ if entry.evicted => Silence::Over,
                Phase::Head => Silence::Until(entry.since + limits.head),
                Phase::Idle => Silence::Until(entry.since + limits.idle),
            }
        });
        self.0.table.changed.notify_one();
        silence.unwrap_or(Silence::Over)
    }

    /// A request's head is complete; until the value is dropped its answer is on the way.
    pub(super) fn begin(&self) -> Busy {
        // Told to go in the same moment: it had something to say after all, and somebody else goes.
        self.with(|entry, _| (entry.phase, entry.evicted) = (Phase::Busy, false));
        self.0.table.changed.notify_one();
        Busy(self.clone())
    }
}

/// A request is being answered.
#[derive(Debug)]
pub(super) struct Busy(Connection);

impl Drop for Busy {
    fn drop(&mut self) {
        let closing = self.0.0.table.lock().closing;
        self.0.with(|entry, _| {
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

    fn taken(table: &Arc<Table>, address: &str) -> Option<Connection> {
        match table.room(address.parse().unwrap()) {
            Room::Taken(connection) => Some(connection),
            Room::Refused | Room::Wait => None,
        }
    }

    fn silent(connection: &Connection) -> Silence {
        connection.silent(Waker::noop())
    }

    #[test]
    fn the_oldest_silent_one_makes_room() {
        let table = Table::new(LIMITS);
        let mut held: Vec<_> = (0..4).map(|_| taken(&table, "127.0.0.1").unwrap()).collect();
        assert!(
            taken(&table, "127.0.0.1").is_none(),
            "nobody knows yet whether one of them has something to say"
        );
        assert!(held.iter().all(|c| !c.is_evicted()));
        let _busy = held[0].begin();
        held.iter().for_each(|c| assert_ne!(silent(c), Silence::Over));
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
        assert_eq!(silent(&held[1]), Silence::Over);
        held.remove(1);
        assert!(taken(&table, "127.0.0.1").is_some());
        assert_eq!(table.len(), 3, "its place is free once it is dropped");
    }

    #[test]
    fn one_that_was_answered_stays_before_one_that_never_asked() {
        let table = Table::new(LIMITS);
        let held: Vec<_> = (0..4).map(|_| taken(&table, "10.0.0.1").unwrap()).collect();
        drop(held[0].begin());
        held.iter().for_each(|c| assert_ne!(silent(c), Silence::Over));
        for gone in [1, 2, 3, 0] {
            table.evict_one();
            assert!(held[gone].is_evicted(), "{gone}");
        }
        table.evict_one();
    }

    #[test]
    fn a_public_address_has_a_share() {
        let table = Table::new(LIMITS);
        let (first, second) =
            (taken(&table, "203.0.114.1").unwrap(), taken(&table, "::ffff:203.0.114.1").unwrap());
        assert!(
            taken(&table, "203.0.114.1").is_none() && !first.is_evicted(),
            "refused: both may have something to say"
        );
        assert!(taken(&table, "203.0.114.2").is_some(), "its neighbour is not in it");
        let _ = silent(&second);
        let third = taken(&table, "203.0.114.1").unwrap();
        assert!(second.is_evicted() && !first.is_evicted(), "its own silent one goes");
        drop((first, second, third));
        let v6: Vec<_> =
            ["2a00:1450:1:2::1", "2a00:1450:1:2:ffff::7"].map(|a| taken(&table, a).unwrap()).into();
        assert!(taken(&table, "2a00:1450:1:2::9").is_none(), "a /64 is one household");
        assert!(taken(&table, "2a00:1450:1:3::9").is_some());
        drop(v6);
        for proxy in ["127.0.0.1", "10.1.2.3", "::1", "192.168.0.7", "fd00::1"] {
            let held: Vec<_> = (0..4).map(|_| taken(&table, proxy).unwrap()).collect();
            assert_eq!(held.len(), 4, "{proxy} may be a proxy");
        }
    }

    #[test]
    fn times_are_of_the_request_not_of_the_byte() {
        let table = Table::new(LIMITS);
        let connection = taken(&table, "127.0.0.1").unwrap();
        let Silence::Until(first) = silent(&connection) else { panic!("it waits for a head") };
        connection.heard();
        assert_eq!(silent(&connection), Silence::Until(first), "a drip wins no time");
        let busy = connection.begin();
        assert_eq!(silent(&connection), Silence::Busy);
        table.close();
        assert!(!connection.is_evicted(), "what is being answered is answered");
        drop(busy);
        assert!(connection.is_evicted());
    }
}
