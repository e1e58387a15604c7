//! The rates and caps that hold for one message.

use galatea_core::{Timestamp, store::Holder};

use super::account::Spend;
use crate::{
    budget::refusal::Who,
    config::{Cap, Flow, Rate, Spending},
};

/// Per cent of what the agent may cost a day that work in the background may use: the embeddings of
/// a long history leave the other half for answers.
const BACKGROUND: u64 = 50;

/// Speaker and place, with their limits.
#[derive(Debug, Clone)]
pub(crate) struct Case<'a> {
    pub(crate) spending: &'a Spending,
    pub(crate) holders: &'a Holders,
    /// Not answered on an earlier day, neither listed nor approved.
    pub(crate) stranger: bool,
    /// Work of the agent beside its answers, which no person asked for.
    pub(crate) background: bool,
    pub(crate) now: Timestamp,
}

/// The keys of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Holders {
    pub(crate) person: Holder,
    pub(crate) room: Holder,
    pub(crate) world: Holder,
    pub(crate) platform: Holder,
}

pub(super) fn percent(used: Spend, cap: &Cap) -> u64 {
    let of = |used: u64, cap: Option<u64>| {
        cap.map_or(0, |cap| used.saturating_mul(100).checked_div(cap).unwrap_or(100))
    };
    of(used.micros, cap.micros).max(of(used.tokens, cap.tokens))
}

/// In the order in which a refusal names them: what is nearest to the person first.
pub(super) fn rates(case: &Case<'_>) -> Vec<(Holder, Who, Rate)> {
    let Case { spending, holders, stranger, .. } = case;
    let mut all = vec![
        (holders.person.clone(), Who::Person, spending.person.clone()),
        (holders.room.clone(), Who::Room, spending.room.clone()),
        (holders.world.clone(), Who::World, spending.world.clone()),
    ];
    all.extend(
        spending.platform.clone().map(|rate| (holders.platform.clone(), Who::Platform, rate)),
    );
    all.push((Holder::Agent, Who::Agent, spending.agent.clone()));
    if *stranger {
        let part = |n: u64| n.saturating_mul(spending.strangers) / 100;
        let narrow = |n: u32| u32::try_from(part(u64::from(n))).unwrap_or(u32::MAX);
        let flow = spending
            .agent
            .flow
            .map(|flow| Flow { per_minute: narrow(flow.per_minute), burst: narrow(flow.burst) });
        all.push((
            Holder::Strangers,
            Who::Strangers,
            Rate {
                flow,
                day: spending.agent.day.map(part),
                setting: spending.strangers_setting.clone(),
            },
        ));
    }
    all
}

/// The share of a rate of many people that commands may use. It is at least one, unless commands have
/// no share at all.
pub(super) fn share_of_commands(rate: &Rate, share: u64) -> Rate {
    let part = |n: u64| match n.saturating_mul(share) / 100 {
        0 => n.min(u64::from(share > 0)),
        part => part,
    };
    let narrow = |n: u32| u32::try_from(part(u64::from(n))).unwrap_or(u32::MAX);
    let flow = rate
        .flow
        .map(|flow| Flow { per_minute: narrow(flow.per_minute), burst: narrow(flow.burst) });
    Rate { flow, day: rate.day.map(part), setting: rate.setting.clone() }
}

pub(super) fn caps(case: &Case<'_>) -> Vec<(Holder, Who, Cap)> {
    let Case { spending, holders, stranger, .. } = case;
    if case.background {
        // The person of its rows is the agent itself.
        let part = |n: u64| n.saturating_mul(BACKGROUND) / 100;
        let cap = Cap {
            micros: spending.agent_cap.micros.map(part),
            tokens: spending.agent_cap.tokens.map(part),
            setting: spending.agent_cap.setting.clone(),
        };
        return vec![
            (holders.person.clone(), Who::Background, cap),
            (Holder::Agent, Who::Agent, spending.agent_cap.clone()),
        ];
    }
    let person = if *stranger { &spending.stranger_cap } else { &spending.person_cap };
    let mut all = vec![
        (holders.person.clone(), Who::Person, person.clone()),
        (holders.room.clone(), Who::Room, spending.room_cap.clone()),
    ];
    all.extend(
        spending.platform_cap.clone().map(|cap| (holders.platform.clone(), Who::Platform, cap)),
    );
    all.push((Holder::Agent, Who::Agent, spending.agent_cap.clone()));
    if *stranger {
        let part = |n: u64| n.saturating_mul(spending.strangers) / 100;
        let cap = Cap {
            micros: spending.agent_cap.micros.map(part),
            tokens: spending.agent_cap.tokens.map(part),
            setting: spending.strangers_setting.clone(),
        };
        all.push((Holder::Strangers, Who::Strangers, cap));
    }
    all
}
