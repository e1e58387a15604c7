//! Use of today by holder, and reservations for calls under way. A pure state
//! machine: the caller passes the time and the stored rows.
//!
//! A reservation is checked and made in one step, so that however many calls begin at once, what is
//! used and set aside never passes a cap.

mod account;
mod admit;
mod limits;
mod shared;

use galatea_core::{
    Timestamp,
    store::{Amount, Day, Holder, UsageTotal},
};
use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use super::refusal::{Refusal, RefusalReason, Who};
use account::LedgerAccount;
use limits::{caps, percent};

pub(crate) use account::Spend;
pub(super) use admit::Ask;
pub(super) use limits::{Case, Holders};
pub(super) use shared::SharedPlace;

/// Holders kept in memory. Past it, those idle for a minute go; the ledger knows their day.
const MOST: usize = 20_000;
const IDLE: Duration = Duration::from_secs(60);
/// Per cent of a cap from which owners are warned and the small model answers.
pub(super) const NEARLY: u64 = 80;

/// A cap of which so much is used that owners should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Warning {
    /// Holder of the cap: Rooms and Worlds share a setting.
    pub(crate) holder: Holder,
    pub(crate) who: Who,
    pub(crate) setting: String,
    pub(crate) percent: u64,
    pub(crate) day: Day,
}

/// The book of one agent.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    accounts: HashMap<Holder, LedgerAccount>,
    /// Processes that answer for this agent; none counted is one.
    processes: u64,
    /// Caps that are nearly used up, by setting.
    near: BTreeMap<String, Warning>,
}

impl Ledger {
    /// Keys of `keys` whose stored day has to be read: never read, or longer ago than `fresh`
    /// where other processes add to it.
    pub(super) fn unread<'k>(
        &mut self,
        keys: impl Iterator<Item = &'k Holder>,
        fresh: Duration,
        now: Timestamp,
    ) -> Vec<Holder> {
        let shared = self.processes > 1;
        let old = |read: Timestamp| shared && (now.since(read) >= fresh || now < read);
        let mut unread = Vec::new();
        for key in keys {
            let account = self.account(key, now);
            if account.loaded.is_none_or(old) {
                unread.push(key.clone());
            }
        }
        unread
    }

    /// Takes in what is stored of a day. It holds what was used here as well, once committed, so
    /// what others used is the rest; it never shrinks.
    pub(super) fn read(&mut self, key: &Holder, day: Day, stored: UsageTotal, now: Timestamp) {
        let account = self.account(key, now);
        if account.day != day {
            return;
        }
        let UsageTotal { today: Amount { answers, notices, micros, unpriced, .. }, earlier } =
            stored;
        account.base.micros = account.base.micros.max(micros.saturating_sub(account.mine.micros));
        account.base.tokens = account.base.tokens.max(unpriced.saturating_sub(account.mine.tokens));
        account.base_answers =
            account.base_answers.max(answers.saturating_sub(account.mine_answers));
        account.notices = account.notices.max(notices);
        account.seen = account.used();
        account.earlier |= earlier;
        account.loaded = Some(now);
    }

    /// Number of processes that answer for this agent.
    pub(super) fn share_with(&mut self, processes: u64) {
        let before = std::mem::replace(&mut self.processes, processes);
        match (before > 1, processes > 1) {
            (true, false) => self.forget_others(),
            (false, true) => self.begin_telling(),
            _ => {}
        }
    }

    /// True if a person was answered on an earlier day.
    pub(super) fn is_known(&self, person: &Holder) -> bool {
        self.accounts.get(person).is_some_and(|account| account.earlier)
    }

    /// True if all of them have been read today, so that they can be judged without asking the
    /// store.
    pub(super) fn has_read(&mut self, holders: &Holders, now: Timestamp) -> bool {
        [&holders.person, &holders.room, &holders.world]
            .into_iter()
            .all(|key| self.account(key, now).loaded.is_some())
    }

    /// Checks that a call fits into every cap; one that is used up holds nothing at all.
    fn fits(&mut self, case: &Case<'_>, estimate: Spend) -> Result<(), Refusal> {
        for (key, who, cap) in caps(case) {
            // Of a cap that all processes share, and that they have not agreed on, a process uses its
            // share of what was left at the last reading. One process answers most people and each
            // Room.
            let processes = if matches!(who, Who::Agent | Who::Platform | Who::Strangers) {
                self.processes.max(1)
            } else {
                1
            };
            let account = self.account(&key, case.now);
            let processes = if account.agreed { 1 } else { processes };
            let (used, seen) = (account.used(), account.seen);
            let part = |seen: u64, cap: Option<u64>| {
                cap.map(|cap| seen.saturating_add(cap.saturating_sub(seen) / processes).min(cap))
            };
            let full = |used: u64, held: u64, more: u64, cap: Option<u64>| {
                cap.is_some_and(|cap| {
                    used.saturating_add(held) >= cap
                        || used.saturating_add(held).saturating_add(more) > cap
                })
            };
            if full(
                used.micros,
                account.held.micros,
                estimate.micros,
                part(seen.micros, cap.micros),
            ) {
                return Err(Refusal::new(
                    who,
                    RefusalReason::Money(cap.micros.unwrap_or(0)),
                    &cap.setting,
                ));
            }
            if full(
                used.tokens,
                account.held.tokens,
                estimate.tokens,
                part(seen.tokens, cap.tokens),
            ) {
                return Err(Refusal::new(
                    who,
                    RefusalReason::Tokens(cap.tokens.unwrap_or(0)),
                    &cap.setting,
                ));
            }
        }
        Ok(())
    }

    /// Reserves what a call may cost, in the accounts of all its holders or in none.
    pub(super) fn reserve(
        &mut self,
        case: &Case<'_>,
        estimate: Spend,
        free: bool,
    ) -> Result<(), Refusal> {
        self.drop_idle(case.now);
        if !free {
            self.fits(case, estimate)?;
        }
        for (key, _, _) in caps(case) {
            let account = self.account(&key, case.now);
            account.held.add(estimate);
            account.calls += 1;
        }
        Ok(())
    }

    /// Changes the reservation of a call from `held` to `needed` for its next attempt, which fits or
    /// not like a call that begins. A refusal leaves the reservation as it is.
    pub(super) fn reserve_next(
        &mut self,
        case: &Case<'_>,
        held: Spend,
        needed: Spend,
        free: bool,
    ) -> Result<(), Refusal> {
        let caps = caps(case);
        for (key, ..) in &caps {
            self.account(key, case.now).held.sub(held);
        }
        let outcome = if free { Ok(()) } else { self.fits(case, needed) };
        let kept = if outcome.is_ok() { needed } else { held };
        for (key, ..) in &caps {
            self.account(key, case.now).held.add(kept);
        }
        outcome
    }

    /// True if a cap leaves no space for a call even when all calls under way have ended.
    pub(super) fn is_used_up(&mut self, case: &Case<'_>, estimate: Spend) -> bool {
        caps(case).into_iter().any(|(key, _, cap)| {
            let used = self.account(&key, case.now).used();
            let over = |used: u64, more: u64, cap: Option<u64>| {
                cap.is_some_and(|cap| used >= cap || used.saturating_add(more) > cap)
            };
            over(used.micros, estimate.micros, cap.micros)
                || over(used.tokens, estimate.tokens, cap.tokens)
        })
    }

    /// The end of a call: releases the reservation and counts what was used ([`Self::charge`]).
    pub(super) fn settle(
        &mut self,
        case: &Case<'_>,
        estimate: Spend,
        actual: Spend,
    ) -> Vec<Warning> {
        for (key, ..) in caps(case) {
            let account = self.account(&key, case.now);
            account.held.sub(estimate);
            account.calls = account.calls.saturating_sub(1);
        }
        self.charge(case, actual)
    }

    /// Counts what was used. Warns of caps that it brought near their end.
    pub(super) fn charge(&mut self, case: &Case<'_>, actual: Spend) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for (key, who, cap) in caps(case) {
            let account = self.account(&key, case.now);
            let before = percent(account.used(), &cap);
            account.mine.add(actual);
            let after = percent(account.used(), &cap);
            let day = account.day;
            let (holder, setting) = (key, cap.setting.clone());
            let warning = Warning { holder, who, setting, percent: after, day };
            if after >= NEARLY && matches!(who, Who::Agent | Who::Platform | Who::Strangers) {
                self.near.insert(cap.setting.clone(), warning.clone());
            }
            let is_told = !matches!(who, Who::Person | Who::Background);
            if before < NEARLY && after >= NEARLY && is_told {
                warnings.push(warning);
            }
        }
        warnings
    }

    /// Finds a cap that is nearly used up, so that the small model answers: which one, and how far.
    pub(super) fn nearly(&mut self, case: &Case<'_>) -> Option<(Who, String, u64)> {
        let mut nearest = None;
        for (key, who, cap) in caps(case) {
            let used = percent(self.account(&key, case.now).used(), &cap);
            if used >= NEARLY && nearest.as_ref().is_none_or(|(_, _, most)| used > *most) {
                nearest = Some((who, cap.setting.clone(), used));
            }
        }
        nearest
    }

    /// Caps of the agent that are nearly used up today.
    pub(super) fn near(&self, now: Timestamp) -> Vec<Warning> {
        self.near.values().filter(|warning| warning.day == Day::of(now)).cloned().collect()
    }

    /// Decides about notifying a person that a limit is reached: at most once a day for the rate
    /// and once for the day. The ledger remembers both.
    pub(super) fn notice(&mut self, person: &Holder, passes_soon: bool, now: Timestamp) -> bool {
        let account = self.account(person, now);
        if passes_soon {
            return !std::mem::replace(&mut account.hurried, true);
        }
        account.notices += 1;
        account.notices == 1
    }

    /// Calls under way for a person.
    #[cfg(test)]
    fn held(&self, key: &Holder) -> Spend {
        self.accounts.get(key).map(|account| account.held).unwrap_or_default()
    }

    fn account(&mut self, key: &Holder, now: Timestamp) -> &mut LedgerAccount {
        let account = self.accounts.entry(key.clone()).or_insert_with(|| LedgerAccount::new(now));
        account.turn_over(now);
        account
    }

    fn drop_idle(&mut self, now: Timestamp) {
        if self.accounts.len() < MOST {
            return;
        }
        let shared =
            |key: &Holder| matches!(key, Holder::Strangers | Holder::Agent | Holder::Source(_));
        self.accounts.retain(|key, account| {
            shared(key) || account.calls > 0 || now.since(account.touched) < IDLE
        });
        if self.accounts.len() >= MOST {
            // All accounts are new: those without a call under way begin again with what is stored of
            // them.
            self.accounts.retain(|key, account| shared(key) || account.calls > 0);
        }
    }
}

#[cfg(test)]
mod tests;
