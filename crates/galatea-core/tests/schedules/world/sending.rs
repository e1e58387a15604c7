//! The process that sends: its lane, its attempts and its read-backs.

use galatea_core::{
    Account, Address, AgentId, Delivery, DeliveryId, Encoded, Error, ErrorKind, RemoteId, RoomId,
    Sent, Source, Timestamp, TurnId,
    protocol::{DeliveryEvent, Effect, Part, ReadBackOutcome, Rules},
    store::{OutboxItem, OutboxState},
};
use uuid::Uuid;

use super::{Answer, Doing, Policy, Sender, World};

impl World {
    /// What the first process does next with its lane.
    pub(super) fn sending(&self, worlds: &mut Vec<Self>) {
        let Some(sender) = &self.sender else {
            worlds.push(self.but(Self::take_over));
            return;
        };
        // What another process committed is found in the store.
        if self.open_rows().any(|id| sender.lane.iter().all(|(known, _)| *known != id)) {
            worlds.push(self.but(|w| {
                let found: Vec<_> = w.open_rows().map(|id| (id, w.stored(id))).collect();
                if let Some(sender) = &mut w.sender {
                    for (id, part) in found {
                        if sender.lane.iter().all(|(known, _)| *known != id) {
                            sender.lane.push_back((id, part));
                        }
                    }
                }
            }));
        }
        if !sender.lane.is_empty() {
            self.doing(sender.effect, worlds);
        }
    }

    fn take_over(&mut self) {
        let lane = self.open_rows().map(|id| (id, self.stored(id))).collect();
        self.sender = Some(Sender { lane, effect: None });
    }

    fn open_rows(&self) -> impl Iterator<Item = DeliveryId> + '_ {
        self.tables.parts.values().copied().filter(|id| self.tables.outbox[id].is_open())
    }

    fn stored(&self, id: DeliveryId) -> Part {
        Part::stored(&item(id, self.tables.outbox[&id], self.rows[&id]))
    }

    fn doing(&self, effect: Option<Doing>, worlds: &mut Vec<Self>) {
        match effect {
            None => worlds.push(self.but(|w| w.hear(&DeliveryEvent::Ready))),
            Some(Doing::Wait(until)) => worlds.push(self.but(|w| {
                w.now = w.now.max(until);
                if !w.budget.slow_network {
                    while !w.flights.is_empty() {
                        w.land(0);
                    }
                }
                w.hear(&DeliveryEvent::Ready);
            })),
            Some(Doing::StoreIntent) => worlds.push(self.but(|w| {
                w.store(OutboxState::Sending, w.now);
                w.hear(&DeliveryEvent::Marked);
            })),
            Some(Doing::Send) => self.attempts(worlds),
            Some(Doing::Hear(answer)) => worlds.push(self.but(|w| w.answer(answer))),
            Some(Doing::Look) => self.looks().into_iter().for_each(|looked| {
                worlds.push(self.but(|w| w.hear(&DeliveryEvent::ReadBack(looked))))
            }),
            Some(Doing::Again(state, until)) => worlds.push(self.but(|w| {
                w.store(state, until);
                w.set(Doing::Wait(until));
            })),
            Some(Doing::End(state)) => worlds.push(self.but(|w| {
                w.store(state, w.now);
                if let Some(sender) = &mut w.sender {
                    sender.lane.pop_front();
                    sender.effect = None;
                }
            })),
        }
    }

    /// Everything that can become of one attempt.
    fn attempts(&self, worlds: &mut Vec<Self>) {
        let Some(part) = self.head() else { return };
        worlds.push(self.but(|w| {
            w.show(part);
            w.set(Doing::Hear(Answer::Taken));
        }));
        if self.budget.faults == 0 {
            return;
        }
        let spoilt = |answer: Answer, fate: fn(&mut Self, u32)| {
            self.but(|w| {
                w.budget.faults -= 1;
                fate(w, part);
                w.set(Doing::Hear(answer));
            })
        };
        worlds.push(spoilt(Answer::Lost, Self::show));
        worlds.push(spoilt(Answer::Lost, |_, _| {}));
        worlds.push(spoilt(Answer::Lost, |w, part| w.flights.push(part)));
        worlds.push(spoilt(Answer::Refused, |_, _| {}));
    }

    fn answer(&mut self, answer: Answer) {
        let lost = Error::new(ErrorKind::Unavailable, "no answer").with_sent(Sent::Maybe);
        let refused = Error::new(ErrorKind::Unavailable, "not now");
        match answer {
            Answer::Taken => self.hear(&DeliveryEvent::Sent),
            Answer::Lost => self.hear(&DeliveryEvent::Failed { error: &lost, jitter: 0.5 }),
            Answer::Refused => self.hear(&DeliveryEvent::Failed { error: &refused, jitter: 0.5 }),
        }
    }

    fn looks(&self) -> Vec<ReadBackOutcome> {
        let there = self.head().is_some_and(|part| self.shown.contains(&part));
        match self.policy {
            Policy::ReadBack if there => vec![ReadBackOutcome::Present],
            Policy::ReadBack => vec![ReadBackOutcome::Absent],
            // An echo may tell; otherwise the key makes sending again harmless.
            Policy::Key if there => vec![ReadBackOutcome::Present, ReadBackOutcome::Absent],
            Policy::Key => vec![ReadBackOutcome::Absent],
            Policy::Resend | Policy::Hold => vec![ReadBackOutcome::Unclear],
        }
    }

    fn hear(&mut self, event: &DeliveryEvent<'_>) {
        let rules = Rules { resend_unsure: self.policy != Policy::Hold };
        let now = self.now;
        let Some(sender) = &mut self.sender else { return };
        let Some((_, part)) = sender.lane.front_mut() else { return };
        let (next, effect) = part.clone().step(event, now, rules);
        *part = next;
        sender.effect = Some(match effect {
            Effect::Wait(until) => Doing::Wait(until),
            Effect::Look => Doing::Look,
            Effect::StoreIntent => Doing::StoreIntent,
            Effect::Send => Doing::Send,
            Effect::Again(state, until) => Doing::Again(state, until),
            Effect::End(state, _) => Doing::End(state),
        });
    }

    fn set(&mut self, doing: Doing) {
        if let Some(sender) = &mut self.sender {
            sender.effect = Some(doing);
        }
    }

    fn head(&self) -> Option<u32> {
        let id = self.sender.as_ref()?.lane.front()?.0;
        self.tables.parts.iter().find(|(_, row)| **row == id).map(|((_, part), _)| *part)
    }

    fn store(&mut self, state: OutboxState, not_before: Timestamp) {
        if let Some((id, part)) = self.sender.as_ref().and_then(|s| s.lane.front()) {
            // A sender has the lane, so only that sender ends its part.
            let _ = self.tables.settle(*id, state);
            self.rows.insert(*id, (part.attempt, not_before, part.outcome_unknown));
        }
    }
}

fn item(
    id: DeliveryId,
    state: OutboxState,
    (attempt, not_before, outcome_unknown): (u32, Timestamp, bool),
) -> OutboxItem {
    let address = Address {
        source: Source::new("test"),
        account: Account("1".into()),
        room: RoomId(Uuid::nil()),
        remote: RemoteId::new(1),
    };
    let delivery = Delivery {
        id,
        agent: AgentId(Uuid::nil()),
        turn: TurnId(Uuid::nil()),
        part: 0,
        address,
        key: String::new(),
        body: Encoded(serde_json::Value::Null),
        attempt,
        created_at: Timestamp(0),
        previous: None,
    };
    OutboxItem {
        delivery,
        memory: None,
        state,
        not_before,
        expires: None,
        remote: None,
        error: None,
        outcome_unknown,
    }
}
