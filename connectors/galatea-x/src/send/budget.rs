//! Counts what the account spends on X per day and enforces the daily limit. An amount is written
//! to a file before it is spent, so that a restart does not reset the day. It is written to the store
//! afterwards, so that another machine that takes over the account continues the count.
//!
//! The store alone is not enough. [`StateKeeper`] stores after the change, so a process that is
//! killed again and again would spend amounts that are counted nowhere; and the checks of a process
//! that does not connect the account read the file.

use galatea_core::{
    Clock, Error, ErrorKind, Gateway, Result, Retry, StateKeeper, Timestamp, private_file,
};
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use std::{convert::Infallible, path::PathBuf, sync::Arc, time::Duration};

use crate::{
    config::prices::{Prices, Usd},
    error::codes,
};

const DAY: i64 = 24 * 3600 * 1000;
/// Key of the connector state that holds [`Spending`].
const KEY: &str = "spent";

impl Prices {
    /// Sets one by its name; false for an unknown one.
    pub(crate) fn set(&mut self, kind: &str, price: Usd) -> bool {
        let field = match kind {
            "mention" => &mut self.mention,
            "read" => &mut self.read,
            "user" => &mut self.user,
            "post" => &mut self.post,
            "link" => &mut self.link,
            "reply" => &mut self.reply,
            _ => return false,
        };
        *field = price;
        true
    }
}

/// The daily budget of one account.
pub(crate) struct DailyBudget {
    limit: Usd,
    path: PathBuf,
    clock: Arc<dyn Clock>,
    spending: Mutex<Spending>,
    keeper: StateKeeper,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Spending {
    /// Days since 1970 (UTC).
    day: i64,
    spent: Usd,
    /// The limit was reached and logged.
    #[serde(rename = "told")]
    limit_logged: bool,
    /// The limit this was counted against. A new limit may leave room, so it resets `limit_logged`.
    cap: Usd,
}

impl DailyBudget {
    /// Reads the day's spending from `path`. A file that cannot be read counts as nothing spent.
    pub(crate) fn open(limit: Usd, path: PathBuf, clock: Arc<dyn Clock>) -> Self {
        let spending = std::fs::read(&path)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        Self { limit, path, clock, spending: Mutex::new(spending), keeper: StateKeeper::new(KEY) }
    }

    /// Reserves the price of a call before the call is made.
    ///
    /// # Errors
    /// `RateLimited` with `GAL-X-BUDGET` until midnight (UTC) when the day's cap would be passed.
    pub(crate) fn take(&self, price: Usd) -> Result<()> {
        let now = self.clock.now();
        let mut spending = self.today(now);
        if spending.spent.plus(price) > self.limit && price > Usd(0) {
            if !spending.limit_logged {
                spending.limit_logged = true;
                tracing::error!(code = codes::BUDGET, spent = %spending.spent, limit = %self.limit, "the daily spend limit for X is reached; reading and posting pause until midnight UTC");
                self.save(&spending);
            }
            return Err(self.spent_up(now));
        }
        spending.spent = spending.spent.plus(price);
        self.save(&spending);
        Ok(())
    }

    /// Adds costs that are known only after a call, such as the number of posts read.
    pub(crate) fn add(&self, price: Usd, count: usize) {
        let more = price.times(count);
        if more > Usd(0) {
            let mut spending = self.today(self.clock.now());
            spending.spent = spending.spent.plus(more);
            self.save(&spending);
        }
    }

    /// Returns the price of a call that certainly had no effect.
    pub(crate) fn give_back(&self, price: Usd) {
        let mut spending = self.today(self.clock.now());
        spending.spent = Usd(spending.spent.0.saturating_sub(price.0));
        self.save(&spending);
    }

    /// The error to return while the day's budget is exhausted.
    pub(crate) fn exhausted(&self) -> Option<Error> {
        let now = self.clock.now();
        let spending = self.today(now);
        (spending.limit_logged || spending.spent >= self.limit).then(|| self.spent_up(now))
    }

    /// The error to return if `price` no longer fits into the day's budget. Reserves nothing.
    pub(crate) fn short_of(&self, price: Usd) -> Option<Error> {
        let now = self.clock.now();
        let spending = self.today(now);
        (price > Usd(0) && spending.spent.plus(price) > self.limit).then(|| self.spent_up(now))
    }

    /// Adds what was spent today by the process that had the account before.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) async fn restore(&self, gateway: &Gateway) -> Result<()> {
        let kept = self.keeper.restore::<Spending>(gateway).await?;
        let mut spending = self.today(self.clock.now());
        if let Some(kept) = kept.filter(|kept| kept.day == spending.day) {
            // The two counts overlap, so the larger one is taken, not the sum.
            *spending = Spending {
                spent: spending.spent.max(kept.spent),
                limit_logged: spending.limit_logged || kept.limit_logged && kept.cap == self.limit,
                ..*spending
            };
            self.save(&spending);
        }
        Ok(())
    }

    /// Writes changes to the store for as long as the future is polled.
    pub(crate) async fn keep(&self, gateway: &Gateway) -> Infallible {
        self.keeper.keep(gateway, || Some(self.spending())).await
    }

    /// Writes the current state to the store at once. If this fails, at most one day's limit is
    /// spent twice.
    pub(crate) async fn keep_now(&self, gateway: &Gateway) {
        self.keeper.keep_now(gateway, Some(self.spending())).await;
    }

    fn spending(&self) -> Spending {
        *self.today(self.clock.now())
    }

    fn spent_up(&self, now: Timestamp) -> Error {
        let left =
            Duration::from_millis(u64::try_from(DAY - now.0.rem_euclid(DAY)).unwrap_or_default());
        Error::new(ErrorKind::RateLimited, "the day's money for X is spent")
            .with_code(codes::BUDGET)
            .with_retry(Retry::After(left))
            .with("limit", self.limit)
            .with_fix("it continues at midnight UTC; TWITTER_DAILY_SPEND_LIMIT raises the cap")
    }

    fn today(&self, now: Timestamp) -> MutexGuard<'_, Spending> {
        let mut spending = self.spending.lock();
        let day = now.0.div_euclid(DAY);
        if spending.day != day {
            *spending = Spending { day, ..Spending::default() };
        }
        if spending.cap != self.limit {
            *spending = Spending { limit_logged: false, cap: self.limit, ..*spending };
        }
        spending
    }

    fn save(&self, spending: &Spending) {
        let bytes = serde_json::to_vec(spending).unwrap_or_default();
        if let Err(error) = private_file::replace(&self.path, &bytes) {
            tracing::warn!(error = %error, "failed to write today's spending on X to disk; a restart may count the day from zero");
        }
        self.keeper.changed();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_testkit::clock::ManualClock;

    #[test]
    fn amounts_read_and_print_as_people_write_them() {
        assert_eq!(
            ["1.00", "0.015", "$0.2", "0"].map(|t| t.parse::<Usd>().unwrap().0),
            [1_000_000, 15_000, 200_000, 0]
        );
        assert_eq!(
            [Usd(1_000_000), Usd(15_000), Usd(200_000)].map(|u| u.to_string()),
            ["$1.00", "$0.015", "$0.20"]
        );
        assert!(["-1", "x", "NaN", "inf"].iter().all(|t| t.parse::<Usd>().is_err()));
    }

    #[test]
    fn the_cap_holds_over_a_restart_and_ends_at_midnight() {
        let folder = tempfile::tempdir().unwrap();
        let clock = ManualClock::new();
        let open = || {
            DailyBudget::open(Usd::from_cents(3), folder.path().join("spent.json"), clock.shared())
        };
        let budget = open();
        budget.take(Usd(15_000)).unwrap();
        budget.take(Usd(15_000)).unwrap();
        budget.give_back(Usd(5_000));
        assert!(budget.exhausted().is_none());
        let error = open().take(Usd(15_000)).unwrap_err();
        assert_eq!((error.code(), error.kind()), (Some(codes::BUDGET), ErrorKind::RateLimited));
        let Retry::After(wait) = error.retry() else { panic!("until midnight") };
        assert!(open().exhausted().is_some(), "reported once, and stored");
        clock.advance(wait);
        let budget = open();
        assert!(budget.exhausted().is_none());
        budget.take(Usd(15_000)).unwrap();
    }

    #[test]
    fn a_cap_that_was_raised_counts_the_same_day() {
        let folder = tempfile::tempdir().unwrap();
        let clock = ManualClock::new();
        let open = |cents| {
            DailyBudget::open(
                Usd::from_cents(cents),
                folder.path().join("spent.json"),
                clock.shared(),
            )
        };
        open(2).take(Usd(15_000)).unwrap();
        assert!(open(2).take(Usd(15_000)).is_err());
        assert!(open(2).exhausted().is_some());
        let raised = open(3);
        assert!(raised.exhausted().is_none());
        raised.take(Usd(15_000)).unwrap();
        assert!(raised.take(Usd(15_000)).is_err(), "earlier spending counts");
    }

    #[test]
    fn what_costs_nothing_is_always_allowed() {
        let folder = tempfile::tempdir().unwrap();
        let budget = DailyBudget::open(
            Usd(0),
            folder.path().join("spent.json"),
            ManualClock::new().shared(),
        );
        budget.take(Usd(0)).unwrap();
        assert!(budget.take(Usd(1)).is_err());
    }
}
