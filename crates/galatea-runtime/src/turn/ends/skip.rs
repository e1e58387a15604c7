//! Finishes messages that get no answer, each with its reason.

use galatea_core::{
    Decision, Result, RoomId, StepOutcome, Store, Verdict, content::REPLACES, store::InboxState,
    verdict::Change,
};

use crate::{
    lanes::Lane,
    turn::{
        commit::finish_unanswered,
        context::TurnPlace,
        engine::Engine,
        gate::{Judged, judge::Judge},
        message::{Claimed, Waiting},
    },
};

/// Messages without an answer that are finished in one commit.
const SKIPS: usize = 100;
/// Messages read at once of those that did not fit into memory.
const BATCH: u32 = 256;

/// Skips messages that came while an answer was made, if that is the policy: those that wait in
/// memory, then those that did not fit there.
pub(crate) async fn drop_late(engine: &Engine, lane: &Lane<RoomId, Claimed>) {
    let (now, plain) = (engine.clock.now(), |w: &Waiting| w.entry.envelope.command.is_none());
    let late = lane.take_while(usize::MAX, |w| plain(w));
    if !late.is_empty() && !drop_all(engine, lane, late).await {
        return;
    }
    while lane.has_spilled() {
        let Ok(items) = engine.store.unfinished_in_room(*lane.key(), BATCH).await else { return };
        let mut late = Vec::new();
        for item in items {
            let Some(message) = engine.claims.unclaimed(item) else { continue };
            if !plain(&message) || message.received_at > now {
                break;
            }
            let Some(claimed) = engine.claims.claim(message) else { break };
            late.push(claimed);
        }
        if late.is_empty() || !drop_all(engine, lane, late).await {
            return;
        }
    }
}

/// True when they are finished; otherwise they wait again. Should the Room go to another process in
/// between, this future is dropped, and their guards with it.
async fn drop_all(engine: &Engine, lane: &Lane<RoomId, Claimed>, late: Vec<Claimed>) -> bool {
    let mut verdict = Verdict::default();
    verdict.step("busy", StepOutcome::Skip, "it came while another message was being answered");
    verdict.change = Some(Change { setting: "BUSY_POLICY".into(), value: "collect".into() });
    let finished = late.iter().map(|late| (late.message.clone(), verdict.clone())).collect();
    match finish_unanswered(engine, *lane.key(), finished, Vec::new()).await {
        Ok(()) => true,
        Err(error) => {
            tracing::warn!(room = %lane.key(), error = %error.report(), "failed to skip messages; they are answered instead");
            lane.put_front(late);
            false
        }
    }
}

/// The verdict on a question that came by an edit, where the message was answered before the edit's
/// turn; none where the gate decides.
///
/// # Errors
/// Those of the store.
pub(crate) async fn answered_before_edit(
    store: &dyn Store,
    message: &Waiting,
) -> Result<Option<Verdict>> {
    let Some(original) = message.entry.envelope.edit_of else { return Ok(None) };
    let answered = store
        .inbox_item(original)
        .await?
        .is_some_and(|original| original.state == InboxState::Done);
    Ok(answered.then(|| {
        let mut verdict = Verdict::default();
        verdict.step("edit", StepOutcome::Skip, "the message was answered before it was edited");
        verdict
    }))
}

/// The verdict on a message that an application posted in place of one that was answered; none where the
/// gate decides.
///
/// # Errors
/// Those of the store.
pub(crate) async fn answered_before_replaced(
    engine: &Engine,
    place: &TurnPlace,
    message: &Waiting,
) -> Result<Option<Verdict>> {
    let content = &message.entry.memory.content;
    let Some(original) = content.extra.get(REPLACES).and_then(|id| id.as_str()) else {
        return Ok(None);
    };
    let original = engine.directory.accounts.memory(&place.route.info, original);
    // A lane is in order: the original's turn is over.
    let answered = engine
        .store
        .inbox_item(original)
        .await?
        .is_some_and(|original| original.state == InboxState::Done);
    Ok(answered.then(|| {
        let mut verdict = Verdict::default();
        let why = "it was answered before an application posted it again under another name";
        verdict.step("replaced", StepOutcome::Skip, why);
        verdict
    }))
}

/// Finishes messages without an answer: this one, and those after it that get none either, in one
/// commit.
pub(crate) async fn skip(
    engine: &Engine,
    lane: &Lane<RoomId, Claimed>,
    taken: &mut Vec<Claimed>,
    first: Waiting,
    verdict: Verdict,
    judge: &Judge<'_>,
) -> Result<()> {
    let room = first.entry.memory.room_id;
    let heard = |waiting: &Waiting| {
        if !waiting.entry.envelope.from_self {
            engine.state.hops.count(room, waiting.entry.envelope.from_bot, Decision::Skip);
        }
    };
    heard(&first);
    let mut verdicts = Vec::new();
    let more = lane.take_while(SKIPS, |next| match judge.evaluate(next) {
        Judged::Skip(verdict) | Judged::Expired(verdict) => {
            heard(next);
            verdicts.push(verdict);
            true
        }
        _ => false,
    });
    let messages = more.iter().map(|claimed| claimed.message.clone());
    let finished = std::iter::once((first, verdict)).chain(messages.zip(verdicts)).collect();
    taken.extend(more);
    finish_unanswered(engine, room, finished, Vec::new()).await
}

/// Finishes a message whose turns ended the program each time.
pub(crate) async fn give_up(engine: &Engine, waiting: Waiting) -> Result<()> {
    let room = waiting.entry.memory.room_id;
    let mut verdict = Verdict { decision: Decision::Failed, ..Verdict::default() };
    verdict.step(
        "attempts",
        StepOutcome::Failed,
        format!("{} turns were begun for it, and none was finished", waiting.attempts),
    );
    tracing::error!(room = %room, message_id = %waiting.entry.memory.id, attempts = waiting.attempts, "giving up a message: it seems to crash the program");
    finish_unanswered(engine, room, vec![(waiting, verdict)], Vec::new()).await
}
