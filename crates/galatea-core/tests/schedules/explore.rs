//! Depth first through every schedule; equal states are looked at once, and their schedules counted
//! as often as they are reached.

use std::collections::HashMap;

use super::world::{End, World};

/// How many schedules ended in which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Verdicts {
    /// All of them.
    pub(crate) schedules: u128,
    /// Distinct states met.
    pub(crate) states: usize,
    /// A part was shown twice.
    pub(crate) doubled: u128,
    /// The same, and nothing stored says that it may have been.
    pub(crate) silently_doubled: u128,
    /// A part was never shown.
    pub(crate) lost: u128,
    /// The same, and it is stored as sent.
    pub(crate) silently_lost: u128,
    /// A part ended as ambiguous.
    pub(crate) unsure: u128,
    /// A later part was shown before an earlier one.
    pub(crate) out_of_order: u128,
    /// The message was acknowledged, and its turn was never committed.
    pub(crate) unanswered: u128,
}

impl Verdicts {
    fn of(end: &End) -> Self {
        let count = u128::from;
        Self {
            schedules: 1,
            states: 0,
            doubled: count(end.doubled),
            silently_doubled: count(end.doubled && !end.outcome_unknown),
            lost: count(end.lost),
            silently_lost: count(end.lost && !end.unsure),
            unsure: count(end.unsure),
            out_of_order: count(end.out_of_order),
            unanswered: count(end.unanswered),
        }
    }

    fn add(&mut self, other: Self) {
        self.schedules += other.schedules;
        self.doubled += other.doubled;
        self.silently_doubled += other.silently_doubled;
        self.lost += other.lost;
        self.silently_lost += other.silently_lost;
        self.unsure += other.unsure;
        self.out_of_order += other.out_of_order;
        self.unanswered += other.unanswered;
    }
}

pub(crate) fn explore(start: World) -> Verdicts {
    let mut known = HashMap::new();
    let mut verdicts = visit(start, &mut known);
    verdicts.states = known.len();
    verdicts
}

fn visit(world: World, known: &mut HashMap<World, Verdicts>) -> Verdicts {
    if let Some(verdicts) = known.get(&world) {
        return *verdicts;
    }
    let mut verdicts = Verdicts::default();
    let next = world.next();
    if next.is_empty() {
        verdicts = Verdicts::of(&world.end());
    }
    for world in next {
        verdicts.add(visit(world, known));
    }
    known.insert(world, verdicts);
    verdicts
}
