//! Limits of several processes: before an answer and before each call of a model this process tells
//! the others, through the store, what it uses and reserves, and hears what they do. What is told
//! at one moment goes in one statement.

use galatea_core::{
    Error, ErrorKind, Result,
    store::{Holder, SharedTotal},
};
use std::{collections::BTreeMap, sync::Arc};
use tokio::{runtime::Handle, sync::oneshot};

use super::{
    Budget, Visit,
    ledger::{Ask, Ledger, SharedPlace},
    refusal::Refusal,
    round::Wish,
};

impl Budget {
    /// Judges an admission that was counted here by what all processes use.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) async fn agree(
        &self,
        visit: &Visit,
        ask: Ask,
    ) -> Result<std::result::Result<(), Refusal>> {
        if !self.ledger.lock().is_shared() {
            return Ok(Ok(()));
        }
        let holders = Ledger::shared_holders(&visit.case(self.clock.now()), Some(ask));
        let counts = ask != Ask::Opinion;
        let places = match self.tell_and_hear(holders.clone(), counts).await {
            Ok(places) => places,
            Err(error) => {
                // The turn is made again, and counted then.
                self.ledger.lock().uncount(&visit.case(self.clock.now()), ask);
                return Err(error);
            }
        };
        let case = visit.case(self.clock.now());
        let judged = self.ledger.lock().judge_again(&case, ask, &places);
        if judged.is_err() && counts {
            let back = holders.into_iter().map(|(holder, pace)| (holder, -pace)).collect();
            self.queue(Wish { holders: back, counts: false, reply: None });
        }
        Ok(judged)
    }

    /// Checks that a call that was reserved here fits beside what all processes use and reserve.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) async fn agree_call(
        &self,
        visit: &Visit,
    ) -> Result<std::result::Result<(), Refusal>> {
        if visit.exempt || !self.ledger.lock().is_shared() {
            return Ok(Ok(()));
        }
        let holders = Ledger::shared_holders(&visit.case(self.clock.now()), None);
        self.tell_and_hear(holders, false).await?;
        Ok(self.ledger.lock().still_fits(&visit.case(self.clock.now())))
    }

    /// Tells what a call came to, without waiting.
    pub(super) fn tell(&self, visit: &Visit) {
        self.tell_later(visit, None);
    }

    /// Tells of an answer that no limit can stop any more, without waiting.
    pub(super) fn tell_answered(&self, visit: &Visit) {
        self.tell_later(visit, Some(Ask::Answer));
    }

    fn tell_later(&self, visit: &Visit, ask: Option<Ask>) {
        if self.ledger.lock().is_shared() {
            let holders = Ledger::shared_holders(&visit.case(self.clock.now()), ask);
            self.queue(Wish { holders, counts: false, reply: None });
        }
    }

    async fn tell_and_hear(
        &self,
        holders: BTreeMap<Holder, i64>,
        counts: bool,
    ) -> Result<BTreeMap<Holder, SharedPlace>> {
        let (reply, answer) = oneshot::channel();
        self.queue(Wish { holders, counts, reply: Some(reply) });
        answer.await.map_err(|_| {
            Error::new(ErrorKind::Unavailable, "the limits cannot be shared while the agent stops")
        })?
    }

    /// Puts it into the next statement. The task is not the caller's: one that is dropped halfway
    /// must not leave what it told unheard.
    fn queue(&self, wish: Wish) {
        // A call may be given up while the program ends: then no process is told.
        let (Ok(runtime), Some(budget)) = (Handle::try_current(), self.me.upgrade()) else {
            return;
        };
        let mut round = self.round.lock();
        round.waiting.push(wish);
        if !std::mem::replace(&mut round.busy, true) {
            runtime.spawn(budget.work());
        }
    }

    async fn work(self: Arc<Self>) {
        loop {
            let wishes = {
                let mut round = self.round.lock();
                if round.waiting.is_empty() {
                    round.busy = false;
                    return;
                }
                std::mem::take(&mut round.waiting)
            };
            self.carry_out(wishes).await;
        }
    }

    async fn carry_out(&self, wishes: Vec<Wish>) {
        let mut holders: BTreeMap<Holder, i64> = BTreeMap::new();
        for (holder, pace) in wishes.iter().flat_map(|wish| &wish.holders) {
            *holders.entry(holder.clone()).or_default() += pace;
        }
        let now = self.clock.now();
        let uses: Vec<_> = {
            let mut ledger = self.ledger.lock();
            holders.iter().map(|(holder, pace)| ledger.tell(holder, *pace, now)).collect()
        };
        match self.store.share_limits(self.agent, now, &uses).await {
            Ok(totals) => {
                let totals: BTreeMap<Holder, SharedTotal> =
                    holders.into_keys().zip(totals).collect();
                {
                    let mut ledger = self.ledger.lock();
                    for (holder, total) in &totals {
                        ledger.hear(holder, total, now);
                    }
                }
                answer(wishes, &totals);
            }
            Err(error) => {
                {
                    let mut ledger = self.ledger.lock();
                    uses.iter().for_each(|used| ledger.untell(used, now));
                }
                tracing::debug!(agent = %self.agent, error = %error.report(), "failed to share what limits other processes use");
                for reply in wishes.into_iter().filter_map(|wish| wish.reply) {
                    let _ = reply.send(Err(error.duplicate()));
                }
            }
        }
    }
}

/// Tells each wish what all used when it was counted. Of several that were told in one statement,
/// the earlier ones go first.
fn answer(wishes: Vec<Wish>, totals: &BTreeMap<Holder, SharedTotal>) {
    let mut left: BTreeMap<Holder, SharedPlace> = totals
        .iter()
        .map(|(holder, total)| {
            let answers = u64::try_from(total.sum.answers).unwrap_or(0);
            (holder.clone(), SharedPlace { answers, until: total.until })
        })
        .collect();
    let mut replies = Vec::new();
    for Wish { holders, counts, reply } in wishes.into_iter().rev() {
        let mut places = BTreeMap::new();
        for (holder, pace) in holders {
            let Some(place) = left.get_mut(&holder) else { continue };
            let here = *place;
            if counts {
                place.answers = place.answers.saturating_sub(1);
            }
            place.until = place.until.saturating_sub(pace.max(0));
            places.insert(holder, here);
        }
        replies.extend(reply.map(|reply| (reply, places)));
    }
    for (reply, places) in replies {
        // A turn that was given up meanwhile waits for nothing.
        let _ = reply.send(Ok(places));
    }
}
