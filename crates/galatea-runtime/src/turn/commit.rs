//! Commits memories, outbox rows and finished inbox rows in one transaction (T2); then the rows go
//! to the outbox.

use galatea_core::{
    Decision, Error, ErrorKind, Event, Memory, MemoryId, Result, RoomId, StepOutcome, TurnId,
    Verdict, kill_point,
    rights::TAINTED,
    store::{Amount, FinishedMessage, InboxState, RequestedChange, TurnRecord, UsageRow},
};
use serde_json::json;

use super::{
    context::TurnContext,
    engine::Engine,
    memories::{leave_files_out, reply_memory, reply_target, result_memory},
    message::Waiting,
    outcome::{Continuation, Outcome},
    parts::Parts,
    unanswered::Unanswered,
};
use crate::{outbox::Stamp, unknown_outcome};

/// Commits a turn and gives its rows to the outbox. Returns the memories of the replies.
pub(super) async fn commit(
    engine: &Engine,
    context: &TurnContext,
    outcome: Outcome,
    mut finished: Vec<(Waiting, Verdict)>,
) -> Result<Vec<Memory>> {
    let stamp = Stamp::now(&*engine.clock);
    let address = engine.directory.rooms.follow(context.address());
    let mut record = TurnRecord {
        turn: context.turn,
        agent: engine.view.identity.id(),
        room: address.room,
        memories: Vec::new(),
        deliveries: Vec::new(),
        finished: Vec::new(),
        effects: outcome.effects,
        usage: Vec::new(),
        at: stamp.at,
        fence: context.message.lease.fence(),
    };
    let capabilities = &context.route.info.capabilities;
    let most = engine
        .policies
        .of(&context.info.room.source, &context.info.room.account)?
        .parts
        .on(capabilities.max_text, capabilities.public)
        .filter(|_| outcome.remember || !outcome.resumed.is_empty());
    let mut parts = Parts::new(&engine.outbox, context.turn, stamp, most);
    for (content, held) in outcome.resumed {
        parts.answer(&context.route, &address, &content, held)?;
    }
    let says_nothing = outcome.replies.is_empty();
    let mut replies = Vec::new();
    for (n, mut content) in outcome.replies.into_iter().enumerate() {
        content.source.get_or_insert_with(|| context.info.room.source.to_string());
        content.in_reply_to.get_or_insert(context.message.entry.memory.id);
        if n == 0 {
            content.thought = outcome.thought.clone();
        }
        let reply_to = reply_target(context).filter(|_| n == 0);
        if !outcome.remember {
            parts.add(&context.route, &address, &content, reply_to, None)?;
            continue;
        }
        let mut memory = reply_memory(engine, context, address.room, content, stamp.at);
        if outcome.others_words && context.info.room.kind.is_direct() {
            memory.metadata.insert(TAINTED.into(), json!(true));
        }
        let held = Continuation { memory: memory.id, from: 0, reply_to };
        parts.answer(&context.route, &address, &memory.content, held)?;
        leave_files_out(&mut memory.content);
        record.memories.push(memory.clone());
        replies.push(memory);
    }
    parts.end(context, &address, &mut record, &mut finished)?;
    let said = outcome.elsewhere.into_iter().map(|(there, content)| (there, content, true));
    let notices = outcome.notices.into_iter().map(|(there, content)| (there, content, false));
    for (there, content, remember) in said.chain(notices) {
        let memory = if remember {
            let mut memory =
                engine.outbox.memory_elsewhere(&there, content.clone(), stamp.at).await;
            // There it is another's: the person who asked for it speaks in it.
            memory.metadata.insert(TAINTED.into(), json!(true));
            Some(memory)
        } else {
            None
        };
        let id = memory.as_ref().map(|memory| memory.id);
        let said = match engine.outbox.routes.ready(&there.source, &there.account) {
            Some(route) => parts.add(&route, &there, &content, None, id),
            None => Err(Error::new(ErrorKind::Unavailable, "that platform is not connected")),
        };
        match said {
            Ok(()) => record.memories.extend(memory),
            // A failure elsewhere must not cost the answer here.
            Err(error) => {
                tracing::warn!(turn = %context.turn, source = %there.source, error = %error.report(), "an action's words for another room could not be encoded; only the answer here is sent");
                for (_, verdict) in finished.iter_mut().filter(|(waiting, _)| {
                    context.memories().any(|m| m.id == waiting.entry.memory.id)
                }) {
                    verdict.step(
                        "elsewhere",
                        StepOutcome::Failed,
                        format!("nothing was said on {}: {error}", there.source),
                    );
                }
            }
        }
    }
    let answered = Some(&context.message.entry.memory.id)
        .filter(|_| !says_nothing && reply_target(context).is_some());
    let unanswered: Vec<Unanswered> = finished
        .iter()
        .filter(|(w, _)| Some(&w.entry.memory.id) != answered)
        .filter_map(|(w, v)| Unanswered::of(engine, &w.entry, v))
        .collect();
    context.meter.count(Amount { answers: answers(&finished), ..Amount::default() });
    record.usage = context.meter.take();
    record.usage.extend(engine.budget.left());
    let usage = record.usage.clone();
    record.finished = finished_rows(finished);
    record.memories.extend(
        outcome
            .results
            .into_iter()
            .map(|result| result_memory(engine, context, address.room, result, stamp.at)),
    );
    let mut prepared = engine.outbox.prepare(parts.rows, stamp);
    engine.outbox.commit_first_as_sending(&mut prepared);
    record.deliveries = prepared.rows();
    let effects = record.effects.clone();
    kill_point("commit.before");
    let (turn, first) = (record.turn, record.finished.first().map(|message| message.id));
    if let Err(error) = engine.store.finish_turn(record).await
        && let Err(error) =
            unknown_outcome::resolve(&*engine.store, &*engine.clock, error, turn, first).await
    {
        // Nothing of it is stored, but it was used.
        engine.budget.keep(usage.into_iter().map(without_answers).collect());
        return Err(error);
    }
    kill_point("commit.after");
    if outcome.notice {
        engine.state.notices.committed(context.info.room.id, stamp.at);
    }
    engine.directory.rooms.apply(&effects);
    if effects.iter().any(|effect| matches!(effect, RequestedChange::ForgetPerson { .. })) {
        engine.directory.known.clear();
    }
    unanswered.into_iter().for_each(|unanswered| unanswered.report(engine));
    engine.outbox.submit(prepared);
    Ok(replies)
}

/// How many of these messages are answered.
fn answers(finished: &[(Waiting, Verdict)]) -> u64 {
    let answered = finished.iter().filter(|(_, verdict)| {
        matches!(verdict.decision, Decision::Answer | Decision::Merged | Decision::Command)
    });
    u64::try_from(answered.count()).unwrap_or(u64::MAX)
}

/// What is left of usage when its turn is not committed: the turn is made again, and counts its
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
            at: engine.clock.now(),
            fence,
        })
        .await?;
    unanswered.into_iter().for_each(|unanswered| unanswered.report(engine));
    for (memory, decision) in decided {
        tracing::debug!(room = %room, message = %memory, decision = ?decision, "decided");
        engine.events.publish(Event::TurnDecided { agent: id, room, turn, memory, decision });
    }
    Ok(())
}

fn finished_rows(finished: Vec<(Waiting, Verdict)>) -> Vec<FinishedMessage> {
    finished
        .into_iter()
        .map(|(waiting, verdict)| FinishedMessage {
            id: waiting.entry.memory.id,
            state: state_of(verdict.decision),
            verdict,
        })
        .collect()
}

fn state_of(decision: Decision) -> InboxState {
    match decision {
        Decision::Answer | Decision::Merged | Decision::Command => InboxState::Done,
        Decision::Skip => InboxState::Skipped,
        Decision::Expired => InboxState::Expired,
        Decision::Failed => InboxState::Dead,
    }
}
