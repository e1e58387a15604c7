//! Commits memories, outbox rows and finished inbox rows in one transaction (T2); then the rows go
//! to the outbox.

pub(crate) mod held;
pub(crate) mod memories;
pub(crate) mod outcome;
pub(crate) mod parts;
pub(crate) mod record;
pub(crate) mod unanswered;

use galatea_core::{
    Decision, Event, Memory, MemoryId, Result, RoomId, TurnId, Verdict, kill_point,
    store::{Amount, RequestedChange, StepKind, TurnRecord, UsageRow},
};

use self::{
    outcome::Outcome,
    record::{ReadyRecord, RecordBuilder, finished_rows, told},
    unanswered::Unanswered,
};
use super::{context::TurnContext, engine::Engine, message::Waiting};
use crate::{trace::StepClock, unknown_outcome};

/// Commits a turn and gives its rows to the outbox. Returns the memories of the replies.
pub(super) async fn commit(
    engine: &Engine,
    context: &TurnContext,
    outcome: Outcome,
    finished: Vec<(Waiting, Verdict)>,
) -> Result<Vec<Memory>> {
    let is_failure_notice = outcome.notice;
    let time = StepClock::start(&*engine.clock);
    let (ready, replies) = build(engine, context, outcome, finished).await?;
    let ReadyRecord { record, prepared, unanswered } = ready;
    let (effects, at, parts) = (record.effects.clone(), record.at, record.deliveries.len());
    store(engine, record).await?;
    let mut step = time.step(StepKind::Commit, "answer");
    step.note = Some(match parts {
        0 => "stored; nothing is sent".to_owned(),
        1 => "stored with 1 part to send".to_owned(),
        parts => format!("stored with {parts} parts to send"),
    });
    context.trace.add(step);
    engine.tracer.finish(context.trace_head(), &context.trace);
    if is_failure_notice {
        engine.state.notices.committed(context.info.room.id, at);
    }
    apply(engine, &effects);
    unanswered.into_iter().for_each(|unanswered| unanswered.report(engine));
    engine.outbox.submit(prepared);
    Ok(replies)
}

/// Makes the record of a turn, and the memories of its replies.
async fn build(
    engine: &Engine,
    context: &TurnContext,
    outcome: Outcome,
    finished: Vec<(Waiting, Verdict)>,
) -> Result<(ReadyRecord, Vec<Memory>)> {
    let Outcome { mut replies, resumed, remember, .. } = outcome;
    let has_replies = !replies.is_empty() || !resumed.is_empty();
    let is_limited = remember || !resumed.is_empty();
    if let Some(first) = replies.first_mut() {
        first.thought = outcome.thought;
    }
    let mut builder = RecordBuilder::new(engine, context, outcome.effects, finished, is_limited)?;
    builder.add_resumed(resumed)?;
    let memories = if remember {
        builder.add_answers(replies, outcome.others_words)?
    } else {
        builder.add_unremembered(replies)?;
        Vec::new()
    };
    builder.end_answers();
    for (there, content) in &outcome.elsewhere {
        builder.add_elsewhere(there, content).await;
    }
    for (there, content) in &outcome.notices {
        builder.add_notice_elsewhere(there, content);
    }
    Ok((builder.build(outcome.results, has_replies), memories))
}

/// Stores a record. If the outcome is unknown, waits until the store confirms or denies it.
async fn store(engine: &Engine, record: TurnRecord) -> Result<()> {
    let usage = record.usage.clone();
    let (turn, first) = (record.turn, record.finished.first().map(|message| message.id));
    kill_point("commit.before");
    if let Err(error) = engine.store.finish_turn(record).await
        && let Err(error) =
            unknown_outcome::resolve(&*engine.store, &*engine.clock, error, turn, first).await
    {
        // Use without a stored turn.
        engine.budget.keep(usage.into_iter().map(without_answers).collect());
        return Err(error);
    }
    kill_point("commit.after");
    Ok(())
}

/// Brings what this process keeps of Rooms and people up to date with committed changes.
fn apply(engine: &Engine, effects: &[RequestedChange]) {
    engine.directory.rooms.apply(effects);
    if effects.iter().any(|effect| matches!(effect, RequestedChange::SaveTask { .. })) {
        engine.wake_tasks();
    }
    if effects.iter().any(|effect| matches!(effect, RequestedChange::ForgetPerson { .. })) {
        engine.directory.known.clear();
        engine.state.people.forget();
    }
}

/// Rest of the usage when its turn is not committed: the turn is made again, and counts its
/// answers then.
fn without_answers(row: UsageRow) -> UsageRow {
    UsageRow { amount: Amount { answers: 0, ..row.amount }, ..row }
}

/// Commits that messages get no answer. `usage` is counted with it.
pub(super) async fn finish_unanswered(
    engine: &Engine,
    room: RoomId,
    finished: Vec<(Waiting, Verdict)>,
    usage: Vec<UsageRow>,
) -> Result<()> {
    let (id, turn) = (engine.view.identity.id(), TurnId::fresh());
    let unanswered: Vec<Unanswered> = finished
        .iter()
        .filter_map(|(waiting, verdict)| Unanswered::of(engine, &waiting.entry, verdict))
        .collect();
    // Some platforms echo our own messages; those are not events.
    let decided: Vec<(MemoryId, Decision)> = finished
        .iter()
        .filter(|(waiting, _)| !waiting.entry.envelope.from_self)
        .map(|(waiting, verdict)| (waiting.entry.memory.id, verdict.decision))
        .collect();
    let fence = finished.first().and_then(|(waiting, _)| waiting.lease.fence());
    let at = engine.clock.now();
    let told = told(engine, turn, at, &finished);
    let finished = finished_rows(finished);
    engine
        .store
        .finish_turn(TurnRecord {
            turn,
            agent: id,
            room,
            memories: Vec::new(),
            deliveries: Vec::new(),
            finished,
            effects: Vec::new(),
            usage,
            told,
            at,
            fence,
        })
        .await?;
    unanswered.into_iter().for_each(|unanswered| unanswered.report(engine));
    for (memory, decision) in decided {
        tracing::debug!(room = %room, message_id = %memory, decision = ?decision, "decided");
        engine.events.publish(Event::TurnDecided { agent: id, room, turn, memory, decision });
    }
    Ok(())
}
