//! Silence: messages that are finished without an answer, each with its reason.

use galatea_core::{Decision, Result, RoomId, Verdict};
use std::sync::Arc;

use super::{
    Waiting,
    attempt::count_hops,
    commit,
    gate::Judged,
    queue::{IN_MEMORY, ids, waiting},
};
use crate::{agent::Agent, lanes::Lane};

/// Messages without an answer that are finished in one commit.
const SKIPS: usize = 100;

/// Skips what came while an answer was made, if that is the policy: what waits in memory, then what did not fit there.
pub(super) async fn drop_late(agent: &Arc<Agent>, lane: &Lane<RoomId, Waiting>, taken: &mut Vec<Waiting>, room: RoomId) {
    let (now, plain) = (agent.clock.now(), |w: &Waiting| w.entry.envelope.command.is_none());
    let late = lane.take_while(usize::MAX, plain);
    if !late.is_empty() && !drop_all(agent, lane, taken, room, late).await {
        return;
    }
    while lane.has_spilled() {
        let limit = u32::try_from(IN_MEMORY).unwrap_or(u32::MAX);
        let Ok(items) = agent.store.unfinished_in_room(room, limit).await else { return };
        let stored = items.into_iter().filter_map(|item| waiting(agent, item)).filter(|w| !agent.in_turn.contains_key(&w.entry.memory.id));
        // Marked, so that nothing else takes them up meanwhile.
        let mark = |w: &Waiting| agent.in_turn.insert(w.entry.memory.id, ()).is_none();
        let late: Vec<Waiting> = stored.take_while(|w| plain(w) && w.received_at <= now && mark(w)).collect();
        if late.is_empty() || !drop_all(agent, lane, taken, room, late).await {
            return;
        }
    }
}

/// True when they are finished; otherwise they wait again. They are among what is taken meanwhile: should the Room be lost to another process in
/// between, nothing may think that they are still in hand here.
async fn drop_all(agent: &Arc<Agent>, lane: &Lane<RoomId, Waiting>, taken: &mut Vec<Waiting>, room: RoomId, late: Vec<Waiting>) -> bool {
    let before = taken.len();
    taken.extend(late.iter().cloned());
    let mut verdict = Verdict::default();
    verdict.step("busy", "skip", "it came while another message was being answered");
    verdict.change = Some(galatea_core::verdict::Change { setting: "BUSY_POLICY".into(), value: "collect".into() });
    let finished = late.iter().map(|waiting| (waiting.clone(), verdict.clone())).collect();
    match commit::silently(agent, room, finished).await {
        Ok(()) => {
            ids(&late).iter().for_each(|id| {
                agent.in_turn.remove(id);
            });
            true
        }
        Err(error) => {
            tracing::warn!(room = %room, error = %error.report(), "messages could not be dropped and are answered instead");
            taken.truncate(before);
            lane.put_front(late);
            false
        }
    }
}

/// Finishes messages without an answer: this one, and those after it that get none either, in one commit.
pub(super) async fn skip(
    agent: &Agent,
    lane: &Lane<RoomId, Waiting>,
    taken: &mut Vec<Waiting>,
    first: Waiting,
    verdict: Verdict,
    judge: impl Fn(&Waiting) -> Judged,
) -> Result<()> {
    let room = first.entry.memory.room_id;
    let heard = |waiting: &Waiting| {
        if !waiting.entry.envelope.from_self {
            count_hops(agent, room, waiting.entry.envelope.from_bot, Decision::Skip);
        }
    };
    heard(&first);
    let mut verdicts = Vec::new();
    let more = lane.take_while(SKIPS, |next| match judge(next) {
        Judged::Skip(verdict) | Judged::Expired(verdict) => {
            heard(next);
            verdicts.push(verdict);
            true
        }
        _ => false,
    });
    taken.extend(more.iter().cloned());
    let finished = std::iter::once((first, verdict)).chain(more.into_iter().zip(verdicts)).collect();
    commit::silently(agent, room, finished).await
}

pub(super) async fn give_up(agent: &Agent, room: RoomId, waiting: Waiting) -> Result<()> {
    let mut verdict = Verdict { decision: Decision::Failed, ..Verdict::default() };
    verdict.step("attempts", "failed", format!("{} turns were begun for it, and none was finished", waiting.attempts));
    tracing::error!(room = %room, message = %waiting.entry.memory.id, attempts = waiting.attempts, "a message is given up: it seems to end the program");
    commit::silently(agent, room, vec![(waiting, verdict)]).await
}
