//! Messages between processes that share the limits. The ledger says what this process uses and
//! reserves, takes in what all do, and judges an admission again with that.

use galatea_core::{
    Timestamp,
    store::{Holder, SharedSum, SharedTotal, SharedUse},
};
use std::collections::{BTreeMap, BTreeSet};

use super::{
    Ask, Case, Ledger, Spend,
    account::Told,
    limits::{caps, rates},
};
use crate::{
    budget::refusal::{Refusal, RefusalReason, Who},
    config::Flow,
};

/// Microseconds of a minute.
const MINUTE: i64 = 60_000_000;

/// Use of all, as it stood when one admission was counted: those that came later at the same
/// moment are not in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::budget) struct SharedPlace {
    pub(in crate::budget) answers: u64,
    /// Up to when the pace is used, in microseconds.
    pub(in crate::budget) until: i64,
}

/// By how much one answer moves the pace of a limit, in microseconds.
fn pace(flow: Flow) -> i64 {
    MINUTE.checked_div(i64::from(flow.per_minute)).unwrap_or(MINUTE)
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

impl Ledger {
    /// True if other processes use the same limits.
    pub(in crate::budget) fn is_shared(&self) -> bool {
        self.processes > 1
    }

    /// The holders of a case that other processes may use too, each with the pace of an answer.
    /// One process answers a Room.
    pub(in crate::budget) fn shared_holders(
        case: &Case<'_>,
        ask: Option<Ask>,
    ) -> BTreeMap<Holder, i64> {
        let mut all = BTreeMap::new();
        if let Some(ask) = ask {
            let counted = counted(case, ask);
            all.extend(rates(case).into_iter().map(|(holder, _, rate)| {
                let pace = rate.flow.filter(|_| counted.contains(&holder)).map_or(0, pace);
                (holder, pace)
            }));
        }
        for (holder, ..) in caps(case) {
            all.entry(holder).or_insert(0);
        }
        all.retain(|holder, _| !matches!(holder, Holder::Room(_)));
        all
    }

    /// News of a holder that this process has to tell.
    pub(in crate::budget) fn tell(
        &mut self,
        holder: &Holder,
        pace: i64,
        now: Timestamp,
    ) -> SharedUse {
        let account = self.account(holder, now);
        let mut spend = account.mine;
        spend.add(account.held);
        let now_told = Told { answers: account.mine_answers, spend };
        let before = std::mem::replace(&mut account.told, now_told);
        let more = |now: u64, before: u64| signed(now).saturating_sub(signed(before));
        let least = |base: u64, told: u64| signed(base.saturating_add(told));
        SharedUse {
            holder: holder.clone(),
            added: SharedSum {
                answers: more(now_told.answers, before.answers),
                micros: more(spend.micros, before.spend.micros),
                tokens: more(spend.tokens, before.spend.tokens),
            },
            least: SharedSum {
                answers: least(account.base_answers, before.answers),
                micros: least(account.base.micros, before.spend.micros),
                tokens: least(account.base.tokens, before.spend.tokens),
            },
            pace,
        }
    }

    /// Takes back what the store did not take in.
    pub(in crate::budget) fn untell(&mut self, used: &SharedUse, now: Timestamp) {
        let told = &mut self.account(&used.holder, now).told;
        let less = |told: u64, added: i64| unsigned(signed(told).saturating_sub(added));
        *told = Told {
            answers: less(told.answers, used.added.answers),
            spend: Spend {
                micros: less(told.spend.micros, used.added.micros),
                tokens: less(told.spend.tokens, used.added.tokens),
            },
        };
    }

    /// Takes in what all processes use.
    pub(in crate::budget) fn hear(&mut self, holder: &Holder, total: &SharedTotal, now: Timestamp) {
        let account = self.account(holder, now);
        let rest = |all: i64, told: u64| unsigned(all).saturating_sub(told);
        account.others = Told {
            answers: rest(total.sum.answers, account.told.answers),
            spend: Spend {
                micros: rest(total.sum.micros, account.told.spend.micros),
                tokens: rest(total.sum.tokens, account.told.spend.tokens),
            },
        };
        account.agreed = true;
    }

    /// Judges an admission that was counted here, by what all processes use. One that is refused is
    /// not counted any more.
    pub(in crate::budget) fn judge_again(
        &mut self,
        case: &Case<'_>,
        ask: Ask,
        places: &BTreeMap<Holder, SharedPlace>,
    ) -> Result<(), Refusal> {
        let counted = counted(case, ask);
        let is_command = matches!(ask, Ask::Command | Ask::Ruling);
        let mut refused = None;
        for (holder, who, rate) in rates(case) {
            // Commands have a share of what many people use, which each process judges by itself.
            if is_command && who != Who::Person {
                continue;
            }
            let Some(place) = places.get(&holder).filter(|_| counted.contains(&holder)) else {
                continue;
            };
            let full = |flow: &Flow| {
                let now = case.now.0.saturating_mul(1000);
                place.until.saturating_sub(now) > pace(*flow).saturating_mul(i64::from(flow.burst))
            };
            if let Some(flow) = rate.flow.filter(full) {
                refused = Some(Refusal::new(who, RefusalReason::Minute(flow), &rate.setting));
                break;
            }
            if let Some(day) = rate.day.filter(|day| place.answers > *day) {
                refused = Some(Refusal::new(who, RefusalReason::Day(day), &rate.setting));
                break;
            }
        }
        let judged = match refused {
            Some(refusal) => Err(refusal),
            None if is_command => Ok(()),
            None => self.fits(case, Spend::default()),
        };
        if judged.is_err() {
            self.uncount(case, ask);
        }
        judged
    }

    /// Takes back an admission that was counted.
    pub(in crate::budget) fn uncount(&mut self, case: &Case<'_>, ask: Ask) {
        let people: BTreeSet<Holder> = rates(case)
            .into_iter()
            .filter(|(_, who, _)| *who == Who::Person)
            .map(|(holder, ..)| holder)
            .collect();
        for holder in counted(case, ask) {
            let account = self.account(&holder, case.now);
            if matches!(ask, Ask::Command | Ask::Ruling) && !people.contains(&holder) {
                account.mine_commands = account.mine_commands.saturating_sub(1);
            }
            account.mine_answers = account.mine_answers.saturating_sub(1);
            if let Some(bucket) = &mut account.bucket {
                bucket.give_back();
            }
        }
    }

    /// Checks that the reservation of this process fits beside what the others use and reserve.
    pub(in crate::budget) fn still_fits(&mut self, case: &Case<'_>) -> Result<(), Refusal> {
        for (holder, who, cap) in caps(case) {
            let account = self.account(&holder, case.now);
            let (used, held) = (account.used(), account.held);
            let over = |used: u64, held: u64, cap: Option<u64>| {
                cap.is_some_and(|cap| used.saturating_add(held) > cap)
            };
            if over(used.micros, held.micros, cap.micros) {
                return Err(Refusal::new(
                    who,
                    RefusalReason::Money(cap.micros.unwrap_or(0)),
                    &cap.setting,
                ));
            }
            if over(used.tokens, held.tokens, cap.tokens) {
                return Err(Refusal::new(
                    who,
                    RefusalReason::Tokens(cap.tokens.unwrap_or(0)),
                    &cap.setting,
                ));
            }
        }
        Ok(())
    }

    /// Others use the same limits from now on. They read from the ledger what was used here.
    pub(super) fn begin_telling(&mut self) {
        for account in self.accounts.values_mut() {
            account.told = Told { answers: account.mine_answers, spend: account.mine };
        }
    }

    /// This process is alone now: what others reserved is over, and what they used is read again.
    pub(super) fn forget_others(&mut self) {
        for account in self.accounts.values_mut() {
            (account.others, account.agreed, account.loaded) = (Told::default(), false, None);
        }
    }
}

/// The holders for which [`Ledger::admit`] counted an answer.
fn counted(case: &Case<'_>, ask: Ask) -> BTreeSet<Holder> {
    let mut rates = rates(case);
    match ask {
        Ask::Answer | Ask::Command | Ask::Ruling => {}
        Ask::Opinion => rates.clear(),
    }
    rates.into_iter().map(|(holder, ..)| holder).collect()
}
