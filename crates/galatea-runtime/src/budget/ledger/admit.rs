//! Lets messages through, or says which rate or cap keeps them from being answered.

use galatea_core::store::Holder;

use super::{
    Ledger,
    account::{LedgerAccount, Spend},
    limits::{Case, rates, share_of_commands},
};
use crate::{
    budget::refusal::{CommandShare, Refusal, RefusalReason, Who},
    config::Rate,
};

/// Checks of a message before it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::budget) enum Ask {
    /// An answer: every limit, and it is counted.
    Answer,
    /// A command: the person's rate, and of the rates of many people a share of its own. So commands
    /// are answered while answers are used up, and cannot use up all of them.
    Command,
    /// A command of a person who may rule the Room: the person's rate only, so that a busy Room can
    /// still be muted.
    Ruling,
    /// A model is asked whether to answer at all: every limit, and nothing is counted yet.
    Opinion,
}

impl Ledger {
    /// Checks a message; one that is let through is counted.
    pub(in crate::budget) fn admit(&mut self, case: &Case<'_>, ask: Ask) -> Result<(), Refusal> {
        self.drop_idle(case.now);
        let rates = rates(case);
        for (key, who, rate) in &rates {
            let account = self.account(key, case.now);
            match ask {
                Ask::Ruling if *who != Who::Person => {}
                Ask::Command if *who != Who::Person => fits_commands(account, case, *who, rate)?,
                _ => fits_answers(account, case, *who, rate)?,
            }
        }
        match ask {
            Ask::Answer => {
                self.fits(case, Spend::default())?;
                self.count(case, &rates);
            }
            Ask::Opinion => self.fits(case, Spend::default())?,
            Ask::Command | Ask::Ruling => self.count_command(case, &rates),
        }
        Ok(())
    }

    /// Counts an answer that was asked about first ([`Ask::Opinion`]).
    pub(in crate::budget) fn answered(&mut self, case: &Case<'_>) {
        let rates = rates(case);
        self.count(case, &rates);
    }

    fn count(&mut self, case: &Case<'_>, rates: &[(Holder, Who, Rate)]) {
        for (key, _, _) in rates {
            let account = self.account(key, case.now);
            account.mine_answers += 1;
            if let Some(bucket) = &mut account.bucket {
                bucket.take();
            }
        }
    }

    /// The answer to a command is a message like any other, so it is taken from the answers as well:
    /// together they stay within what a platform lets through.
    fn count_command(&mut self, case: &Case<'_>, rates: &[(Holder, Who, Rate)]) {
        for (key, who, rate) in rates {
            let account = self.account(key, case.now);
            account.mine_answers += 1;
            if *who != Who::Person {
                account.mine_commands += 1;
                if let Some(flow) = share_of_commands(rate, case.spending.commands).flow {
                    account.commands_bucket(flow, case.now).take();
                }
            }
            if let Some(flow) = rate.flow {
                account.answers_bucket(flow, case.now).owe(flow);
            }
        }
    }
}

/// Checks that a rate leaves an answer.
fn fits_answers(
    account: &mut LedgerAccount,
    case: &Case<'_>,
    who: Who,
    rate: &Rate,
) -> Result<(), Refusal> {
    if let Some(flow) = rate.flow
        && !account.answers_bucket(flow, case.now).has_one()
    {
        return Err(Refusal::new(who, RefusalReason::Minute(flow), &rate.setting));
    }
    match rate.day.filter(|day| account.answers() >= *day) {
        Some(day) => Err(Refusal::new(who, RefusalReason::Day(day), &rate.setting)),
        None => Ok(()),
    }
}

/// Checks that the share of commands leaves an answer.
fn fits_commands(
    account: &mut LedgerAccount,
    case: &Case<'_>,
    who: Who,
    rate: &Rate,
) -> Result<(), Refusal> {
    let share = share_of_commands(rate, case.spending.commands);
    let hurried = share.flow.filter(|flow| !account.commands_bucket(*flow, case.now).has_one());
    let why = match hurried {
        Some(flow) => RefusalReason::Minute(flow),
        None => match share.day.filter(|day| account.mine_commands >= *day) {
            Some(day) => RefusalReason::Day(day),
            None => return Ok(()),
        },
    };
    Err(Refusal::new(who, why, &rate.setting).of_commands(CommandShare {
        percent: case.spending.commands,
        setting: case.spending.commands_setting.clone(),
    }))
}
