//! Lease guard: a lease while this process holds it. Every task that works under it keeps a clone,
//! and stops when the lease is lost.

use galatea_core::{
    MemberId, SendPermit,
    store::{Fence, Lease},
};
use parking_lot::Mutex;
use std::{
    future::poll_fn,
    sync::{Arc, Weak},
    task::Poll,
    time::Duration,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::steady::steady;

/// Until when all leases of this process are its own, by [`steady`] time. Counted from before the
/// database was asked, so it ends no later than the database thinks, and it goes on counting while
/// the process or the whole machine is paused.
#[derive(Debug)]
pub(super) struct LeaseTerm(Mutex<Duration>);

impl LeaseTerm {
    /// A term that is over, until it is extended.
    pub(super) fn over() -> Arc<Self> {
        Arc::new(Self(Mutex::new(Duration::ZERO)))
    }
    /// Lasts for `ttl` from `asked`.
    pub(super) fn extend(&self, asked: Duration, ttl: Duration) {
        *self.0.lock() = asked.saturating_add(ttl);
    }
    /// Time left; none when it is over.
    pub(super) fn left(&self) -> Option<Duration> {
        let until = *self.0.lock();
        until.checked_sub(steady()).filter(|left| !left.is_zero())
    }
}

#[derive(Debug)]
struct HeldLease {
    fence: Fence,
    term: Arc<LeaseTerm>,
    closing: CancellationToken,
    lost: CancellationToken,
    /// Notified when the last guard is dropped.
    ended: Arc<Notify>,
}

impl Drop for HeldLease {
    fn drop(&mut self) {
        self.ended.notify_one();
    }
}

/// The right to work on a part. Where the store has one process only, that process always holds it.
#[derive(Debug, Clone)]
pub(crate) struct LeaseGuard(Option<Arc<HeldLease>>);

impl LeaseGuard {
    /// For work that no other process can claim.
    pub(crate) fn always() -> Self {
        Self(None)
    }

    /// A lease just claimed, or claimed again. `ended` is notified when its last clone is dropped.
    pub(super) fn of(
        member: MemberId,
        lease: Lease,
        term: Arc<LeaseTerm>,
        ended: Arc<Notify>,
    ) -> Self {
        let lost = CancellationToken::new();
        Self(Some(Arc::new(HeldLease {
            fence: Fence { member, lease },
            term,
            closing: lost.child_token(),
            lost,
            ended,
        })))
    }

    /// The proof of it for the store.
    pub(crate) fn fence(&self) -> Option<Fence> {
        self.0.as_ref().map(|held| held.fence.clone())
    }

    /// True if something may be done under it now.
    pub(crate) fn is_held(&self) -> bool {
        self.0.as_ref().is_none_or(|held| !held.lost.is_cancelled() && held.term.left().is_some())
    }

    /// True if something new may be begun under it.
    pub(crate) fn is_open(&self) -> bool {
        self.is_held() && self.0.as_ref().is_none_or(|held| !held.closing.is_cancelled())
    }

    /// Begins nothing more; what is under way is finished.
    pub(crate) fn close(&self) {
        if let Some(held) = &self.0 {
            held.closing.cancel();
        }
    }

    /// Ends it: another process may hold the part.
    pub(super) fn lose(&self) {
        if let Some(held) = &self.0 {
            held.lost.cancel();
        }
    }

    /// Completes when nothing more may be begun.
    pub(crate) async fn closed(&self) {
        match &self.0 {
            Some(held) => held.closing.cancelled().await,
            None => std::future::pending().await,
        }
    }

    /// Completes when it is lost, or after `patience`. True when it is lost.
    pub(crate) async fn is_lost_within(&self, patience: Duration) -> bool {
        let Some(held) = &self.0 else { return false };
        tokio::time::timeout(patience, held.lost.cancelled()).await.is_ok()
    }

    /// Does something under it; dropped where it is, with none, when it is lost.
    pub(crate) async fn run<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        match &self.0 {
            Some(held) => held.lost.run_until_cancelled(work).await,
            None => Some(work.await),
        }
    }

    /// Permit of a connector to send something now.
    pub(crate) fn send_permit(&self) -> SendPermit {
        if self.0.is_none() {
            return SendPermit::always();
        }
        let lease = self.clone();
        SendPermit::while_true(move || lease.is_held())
    }

    /// Runs `work` while the lease is held. The work is dropped at once when the lease is lost,
    /// whatever it waits for. This holds for a process that was paused, too: it checks the lease
    /// before each step.
    pub(crate) async fn guard<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = std::pin::pin!(work);
        let step = poll_fn(|context| {
            if self.is_held() { work.as_mut().poll(context).map(Some) } else { Poll::Ready(None) }
        });
        self.run(step).await.flatten()
    }

    /// True if it was not lost; its term may be over.
    pub(super) fn is_live(&self) -> bool {
        self.0.as_ref().is_none_or(|held| !held.lost.is_cancelled())
    }

    /// True if both are the same.
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        }
    }

    /// True if it is of this lease.
    pub(super) fn is_of(&self, lease: &Lease) -> bool {
        self.0.as_ref().is_some_and(|held| held.fence.lease == *lease)
    }

    /// The same, without keeping it.
    pub(crate) fn weak(&self) -> WeakLease {
        WeakLease(self.0.as_ref().map(Arc::downgrade))
    }

    /// Watches for the last clone to be dropped.
    pub(super) fn watch(&self) -> LeaseWatch {
        LeaseWatch(self.0.as_ref().map(Arc::downgrade).unwrap_or_default())
    }
}

/// A lease guard that does not keep the lease: it lasts as long as another clone does.
#[derive(Debug, Clone)]
pub(crate) struct WeakLease(Option<Weak<HeldLease>>);

impl WeakLease {
    /// Absent once the last guard is dropped.
    pub(crate) fn get(&self) -> Option<LeaseGuard> {
        match &self.0 {
            Some(held) => held.upgrade().map(|held| LeaseGuard(Some(held))),
            None => Some(LeaseGuard::always()),
        }
    }
}

/// Tells the keeper whether any task still works under a lease.
#[derive(Debug)]
pub(super) struct LeaseWatch(Weak<HeldLease>);

impl LeaseWatch {
    /// The last guard is dropped.
    pub(super) fn is_over(&self) -> bool {
        self.0.strong_count() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::store::Partition;

    fn guard(ttl: Duration) -> (LeaseGuard, Arc<LeaseTerm>) {
        let term = LeaseTerm::over();
        term.extend(steady(), ttl);
        (
            LeaseGuard::of(
                MemberId::fresh(),
                Lease { part: Partition("x".to_owned()), epoch: 1 },
                Arc::clone(&term),
                Arc::default(),
            ),
            term,
        )
    }

    #[test]
    fn it_ends_with_its_term() {
        let (lease, term) = guard(Duration::from_secs(60));
        assert!(lease.is_open());
        term.extend(steady(), Duration::ZERO);
        assert!(!lease.is_open() && !lease.is_held());
        assert!(LeaseGuard::always().is_open());
    }

    #[tokio::test]
    async fn what_is_closed_is_finished_and_what_is_lost_is_dropped() {
        let (lease, _) = guard(Duration::from_secs(60));
        lease.close();
        lease.closed().await;
        assert!(lease.is_held() && !lease.is_open());
        assert_eq!(lease.run(async { 1 }).await, Some(1));
        lease.lose();
        assert_eq!(lease.run(std::future::pending::<()>()).await, None);
    }

    #[tokio::test]
    async fn no_step_is_made_after_its_term() {
        let (lease, term) = guard(Duration::from_secs(60));
        assert_eq!(lease.guard(async { 1 }).await, Some(1));
        let steps = std::cell::Cell::new(0);
        // As after a pause: no timer has fired yet, and what it waited for is there.
        let work = async {
            steps.set(1);
            term.extend(steady(), Duration::ZERO);
            tokio::task::yield_now().await;
            steps.set(2);
        };
        assert_eq!(lease.guard(work).await, None);
        assert_eq!(steps.get(), 1);
    }

    #[tokio::test]
    async fn what_waits_is_dropped_when_it_is_lost() {
        let (lease, _) = guard(Duration::from_secs(60));
        let lost = lease.clone();
        let losing = async move {
            tokio::task::yield_now().await;
            lost.lose();
        };
        assert_eq!(tokio::join!(lease.guard(std::future::pending::<()>()), losing).0, None);
    }

    #[test]
    fn the_last_clone_is_waited_for() {
        let (lease, _) = guard(Duration::from_secs(60));
        let (watch, work) = (lease.watch(), lease.clone());
        let weak = work.weak();
        drop(lease);
        assert!(!watch.is_over() && weak.get().is_some());
        drop(work);
        assert!(watch.is_over() && weak.get().is_none());
        assert!(LeaseGuard::always().weak().get().is_some());
    }
}
