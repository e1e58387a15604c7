//! Tenure: a lease as long as this process has it. Whoever works under one keeps a clone of it, and stops when it ends.

use galatea_core::{
    Leave, MemberId,
    store::{Fence, Lease},
};
use std::{
    future::poll_fn,
    sync::{Arc, Mutex, PoisonError, Weak},
    task::Poll,
    time::Duration,
};
use tokio_util::sync::CancellationToken;

use super::steady::steady;

/// Until when all leases of this process are its own, by [`steady`] time. Counted from before the database was asked, so it ends no later than
/// the database thinks, and it goes on counting while the process or the whole machine is paused.
#[derive(Debug)]
pub(super) struct Term(Mutex<Duration>);

impl Term {
    /// Over already.
    pub(super) fn over() -> Arc<Self> {
        Arc::new(Self(Mutex::new(Duration::ZERO)))
    }
    /// Lasts for `ttl` from `asked`.
    pub(super) fn extend(&self, asked: Duration, ttl: Duration) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = asked.saturating_add(ttl);
    }
    /// What is left of it; none when it is over.
    pub(super) fn left(&self) -> Option<Duration> {
        let until = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        until.checked_sub(steady()).filter(|left| !left.is_zero())
    }
}

#[derive(Debug)]
struct Held {
    fence: Fence,
    term: Arc<Term>,
    closing: CancellationToken,
    lost: CancellationToken,
}

/// The right to work on a part. Where the store has one process only, everybody always has it.
#[derive(Debug, Clone)]
pub(crate) struct Tenure(Option<Arc<Held>>);

impl Tenure {
    /// Nobody else can have it.
    pub(crate) fn always() -> Self {
        Self(None)
    }

    /// A lease just claimed, or claimed again.
    pub(super) fn of(member: MemberId, lease: Lease, term: Arc<Term>) -> Self {
        let lost = CancellationToken::new();
        Self(Some(Arc::new(Held { fence: Fence { member, lease }, term, closing: lost.child_token(), lost })))
    }

    /// What proves it to the store.
    pub(crate) fn fence(&self) -> Option<Fence> {
        self.0.as_ref().map(|held| held.fence.clone())
    }

    /// Whether something may be done under it now.
    pub(crate) fn is_held(&self) -> bool {
        self.0.as_ref().is_none_or(|held| !held.lost.is_cancelled() && held.term.left().is_some())
    }

    /// Whether something new may be begun under it.
    pub(crate) fn is_open(&self) -> bool {
        self.is_held() && self.0.as_ref().is_none_or(|held| !held.closing.is_cancelled())
    }

    /// Begins nothing more; what is under way is finished.
    pub(crate) fn close(&self) {
        if let Some(held) = &self.0 {
            held.closing.cancel();
        }
    }

    /// Ends it: somebody else may have the part.
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

    /// The same for a connector: whether something may go out now.
    pub(crate) fn leave(&self) -> Leave {
        if self.0.is_none() {
            return Leave::always();
        }
        let tenure = self.clone();
        Leave::while_true(move || tenure.is_held())
    }

    /// Does something under it, and not a step of it after its end: also of a process that was paused, and before which nobody could tell it.
    /// Dropped at once when it is lost, whatever it waits for.
    pub(crate) async fn guard<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = std::pin::pin!(work);
        let step = poll_fn(|context| if self.is_held() { work.as_mut().poll(context).map(Some) } else { Poll::Ready(None) });
        self.run(step).await.flatten()
    }

    /// Whether it was not lost; its term may be over.
    pub(super) fn is_live(&self) -> bool {
        self.0.as_ref().is_none_or(|held| !held.lost.is_cancelled())
    }

    /// Whether both are the same.
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        }
    }

    /// Whether it is of this lease.
    pub(super) fn is_of(&self, lease: &Lease) -> bool {
        self.0.as_ref().is_some_and(|held| held.fence.lease == *lease)
    }

    /// Tells when the last clone is gone.
    pub(super) fn watch(&self) -> Watch {
        Watch(self.0.as_ref().map(Arc::downgrade).unwrap_or_default())
    }
}

/// A tenure seen from outside: whether something still goes on under it.
#[derive(Debug)]
pub(super) struct Watch(Weak<Held>);

impl Watch {
    /// Nothing goes on under it any more.
    pub(super) fn is_over(&self) -> bool {
        self.0.strong_count() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::store::Part;

    fn tenure(ttl: Duration) -> (Tenure, Arc<Term>) {
        let term = Term::over();
        term.extend(steady(), ttl);
        (Tenure::of(MemberId::fresh(), Lease { part: Part("x".to_owned()), epoch: 1 }, Arc::clone(&term)), term)
    }

    #[test]
    fn it_ends_with_its_term() {
        let (tenure, term) = tenure(Duration::from_secs(60));
        assert!(tenure.is_open());
        term.extend(steady(), Duration::ZERO);
        assert!(!tenure.is_open() && !tenure.is_held());
        assert!(Tenure::always().is_open());
    }

    #[tokio::test]
    async fn what_is_closed_is_finished_and_what_is_lost_is_dropped() {
        let (tenure, _) = tenure(Duration::from_secs(60));
        tenure.close();
        tenure.closed().await;
        assert!(tenure.is_held() && !tenure.is_open());
        assert_eq!(tenure.run(async { 1 }).await, Some(1));
        tenure.lose();
        assert_eq!(tenure.run(std::future::pending::<()>()).await, None);
    }

    #[tokio::test]
    async fn no_step_is_made_after_its_term() {
        let (tenure, term) = tenure(Duration::from_secs(60));
        assert_eq!(tenure.guard(async { 1 }).await, Some(1));
        let steps = std::cell::Cell::new(0);
        // As after a pause: nothing has told it yet, and what it waited for is there.
        let work = async {
            steps.set(1);
            term.extend(steady(), Duration::ZERO);
            tokio::task::yield_now().await;
            steps.set(2);
        };
        assert_eq!(tenure.guard(work).await, None);
        assert_eq!(steps.get(), 1);
    }

    #[tokio::test]
    async fn what_waits_is_dropped_when_it_is_lost() {
        let (tenure, _) = tenure(Duration::from_secs(60));
        let lost = tenure.clone();
        let losing = async move {
            tokio::task::yield_now().await;
            lost.lose();
        };
        assert_eq!(tokio::join!(tenure.guard(std::future::pending::<()>()), losing).0, None);
    }

    #[test]
    fn the_last_clone_is_waited_for() {
        let (tenure, _) = tenure(Duration::from_secs(60));
        let (watch, work) = (tenure.watch(), tenure.clone());
        drop(tenure);
        assert!(!watch.is_over());
        drop(work);
        assert!(watch.is_over());
    }
}
