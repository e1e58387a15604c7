//! Puts together what a turn commits: memories, the parts of its answers, usage, and the inbox rows
//! that it finishes.

use galatea_core::{
    ActionResult, Address, Content, Decision, Error, ErrorKind, Memory, MemoryId, Result,
    StepOutcome, Timestamp, TurnId, Verdict,
    rights::TAINTED,
    store::{
        Amount, FinishedMessage, InboxState, LiveEvent, MESSAGE_DECIDED, RequestedChange,
        TurnRecord,
    },
};
use serde_json::json;

use super::{
    held::Continuation,
    memories::{leave_files_out, reply_memory, reply_target, result_memory},
    parts::AnswerParts,
    unanswered::Unanswered,
};
use crate::{
    outbox::{Prepared, Stamp},
    turn::{context::TurnContext, engine::Engine, message::Waiting},
};

/// The record of a turn while it is put together.
pub(crate) struct RecordBuilder<'a> {
    engine: &'a Engine,
    context: &'a TurnContext,
    address: Address,
    stamp: Stamp,
    record: TurnRecord,
    parts: AnswerParts<'a>,
    /// It goes on with an earlier answer.
    continued: bool,
    finished: Vec<(Waiting, Verdict)>,
}

/// The record of a turn, and what has to happen once it is committed.
pub(crate) struct ReadyRecord {
    pub(crate) record: TurnRecord,
    /// Its deliveries, for the outbox.
    pub(crate) prepared: Prepared,
    /// Messages that get no answer, for their platform.
    pub(crate) unanswered: Vec<Unanswered>,
}

impl<'a> RecordBuilder<'a> {
    /// Begins a record without answers. `limited` says whether the limit on parts at once
    /// (`ANSWER_PARTS`) applies.
    ///
    /// # Errors
    /// `Invalid` for an invalid setting of this account.
    pub(crate) fn new(
        engine: &'a Engine,
        context: &'a TurnContext,
        effects: Vec<RequestedChange>,
        finished: Vec<(Waiting, Verdict)>,
        limited: bool,
    ) -> Result<Self> {
        let stamp = Stamp::now(&*engine.clock);
        let address = engine.directory.rooms.follow(context.address());
        let record = TurnRecord {
            turn: context.turn,
            agent: engine.view.identity.id(),
            room: address.room,
            memories: Vec::new(),
            deliveries: Vec::new(),
            finished: Vec::new(),
            effects,
            usage: Vec::new(),
            told: Vec::new(),
            at: stamp.at,
            fence: context.message.lease.fence(),
        };
        let capabilities = &context.route.info.capabilities;
        let direct = context.info.room.kind.is_direct();
        let most = engine
            .policies
            .of(&context.info.room.source, &context.info.room.account)?
            .parts
            .on(capabilities.max_text, capabilities.public && !direct)
            .filter(|_| limited);
        let parts = AnswerParts::new(&engine.outbox, context.turn, stamp, most, direct);
        Ok(Self { engine, context, address, stamp, record, parts, continued: false, finished })
    }

    /// Adds the next parts of earlier answers that were held back.
    pub(crate) fn add_resumed(&mut self, resumed: Vec<(Content, Continuation)>) -> Result<()> {
        for (n, (content, held)) in resumed.into_iter().enumerate() {
            self.continued = true;
            let reply_to = reply_target(self.context).filter(|_| n == 0);
            self.parts.answer(&self.context.route, &self.address, &content, held, reply_to)?;
        }
        Ok(())
    }

    /// Adds answers with their memories, which it returns. `tainted` says whether they may repeat
    /// what other people wrote.
    pub(crate) fn add_answers(
        &mut self,
        answers: Vec<Content>,
        tainted: bool,
    ) -> Result<Vec<Memory>> {
        let mut memories = Vec::new();
        for (n, content) in answers.into_iter().enumerate() {
            let content = self.addressed(content);
            let reply_to = reply_target(self.context).filter(|_| n == 0);
            let room = self.address.room;
            let mut memory = reply_memory(self.engine, self.context, room, content);
            if tainted && self.context.info.room.kind.is_direct() {
                memory.metadata.insert(TAINTED.into(), json!(true));
            }
            let whole = Continuation::whole(memory.id);
            let (route, content) = (&self.context.route, &memory.content);
            self.parts.answer(route, &self.address, content, whole, reply_to)?;
            leave_files_out(&mut memory.content);
            self.record.memories.push(memory.clone());
            memories.push(memory);
        }
        Ok(memories)
    }

    /// Adds replies that are not remembered: answers to commands, and notices.
    pub(crate) fn add_unremembered(&mut self, replies: Vec<Content>) -> Result<()> {
        for (n, content) in replies.into_iter().enumerate() {
            let content = self.addressed(content);
            let reply_to = reply_target(self.context).filter(|_| n == 0);
            self.parts.add(&self.context.route, &self.address, &content, reply_to, None)?;
        }
        Ok(())
    }

    fn addressed(&self, mut content: Content) -> Content {
        content.source.get_or_insert_with(|| self.context.info.room.source.to_string());
        content.in_reply_to.get_or_insert(self.context.message.entry.memory.id);
        content
    }

    /// Ends the answers in this Room: what exceeds the limit on parts is kept with the Room.
    pub(crate) fn end_answers(&mut self) {
        let (record, finished) = (&mut self.record, &mut self.finished);
        self.parts.end(self.context, &self.address, record, finished, self.continued);
    }

    /// Adds a message for another Room, with its memory.
    pub(crate) async fn add_elsewhere(&mut self, there: &Address, content: &Content) {
        let outbox = &self.engine.outbox;
        let mut memory = outbox.memory_elsewhere(there, content.clone(), self.stamp.at).await;
        // By its turn it is found when the person who asked for it is forgotten.
        memory.metadata.insert("turn".into(), json!(self.context.turn));
        // There it is another's: the person who asked for it speaks in it.
        memory.metadata.insert(TAINTED.into(), json!(true));
        if self.add_part_elsewhere(there, content, Some(memory.id)) {
            self.record.memories.push(memory);
        }
    }

    /// Adds a notice for another Room, which is not remembered.
    pub(crate) fn add_notice_elsewhere(&mut self, there: &Address, content: &Content) {
        self.add_part_elsewhere(there, content, None);
    }

    /// True if the message could be encoded. If not, the verdicts note it: a failure elsewhere must
    /// not cost the answer here.
    fn add_part_elsewhere(
        &mut self,
        there: &Address,
        content: &Content,
        memory: Option<MemoryId>,
    ) -> bool {
        let added = match self.engine.outbox.routes.ready(&there.source, &there.account) {
            Some(route) => self.parts.add(&route, there, content, None, memory),
            None => Err(Error::new(ErrorKind::Unavailable, "that platform is not connected")),
        };
        let Err(error) = added else { return true };
        tracing::warn!(turn = %self.context.turn, source = %there.source, error = %error.report(), "an action's words for another room could not be encoded; only the answer here is sent");
        let here: Vec<MemoryId> = self.context.memories().map(|memory| memory.id).collect();
        let answered =
            |(waiting, _): &&mut (Waiting, Verdict)| here.contains(&waiting.entry.memory.id);
        for (_, verdict) in self.finished.iter_mut().filter(answered) {
            verdict.step(
                "elsewhere",
                StepOutcome::Failed,
                format!("nothing was said on {}: {error}", there.source),
            );
        }
        false
    }

    /// Completes the record with the results of actions, the usage and the finished messages.
    /// `replies` says whether the message gets a reply here.
    pub(crate) fn build(self, results: Vec<ActionResult>, replies: bool) -> ReadyRecord {
        let unanswered = self.unanswered(replies);
        let Self { engine, context, address, stamp, mut record, parts, finished, .. } = self;
        context.meter.count(Amount { answers: answers(&finished), ..Amount::default() });
        record.usage = context.meter.take();
        record.usage.extend(engine.budget.left());
        record.told = told(engine, record.turn, record.at, &finished);
        record.finished = finished_rows(finished);
        let memory = |result| result_memory(engine, context, address.room, result);
        record.memories.extend(results.into_iter().map(memory));
        let mut prepared = engine.outbox.prepare(parts.rows, stamp);
        engine.outbox.commit_first_as_sending(&mut prepared);
        record.deliveries = prepared.rows();
        ReadyRecord { record, prepared, unanswered }
    }

    /// The finished messages but the one that gets the reply.
    fn unanswered(&self, replies: bool) -> Vec<Unanswered> {
        let replied = replies && reply_target(self.context).is_some();
        let answered = replied.then_some(self.context.message.entry.memory.id);
        self.finished
            .iter()
            .filter(|(waiting, _)| Some(waiting.entry.memory.id) != answered)
            .filter_map(|(waiting, verdict)| Unanswered::of(self.engine, &waiting.entry, verdict))
            .collect()
    }
}

/// Events about what was decided, for the platforms whose people read the store.
pub(crate) fn told(
    engine: &Engine,
    turn: TurnId,
    at: Timestamp,
    finished: &[(Waiting, Verdict)],
) -> Vec<LiveEvent> {
    let told = |(waiting, verdict): &(Waiting, Verdict)| {
        let entry = &waiting.entry;
        let route = engine.outbox.routes.any(&entry.source, &entry.account)?;
        let (is_read, own) = (route.handler.delivers_by_commit(), entry.envelope.from_self);
        (is_read && !own).then(|| LiveEvent {
            seq: 0,
            at,
            agent: Some(entry.memory.agent_id),
            kind: MESSAGE_DECIDED.to_owned(),
            data: json!({
                "room": entry.memory.room_id,
                "memory": entry.memory.id,
                "turn": turn,
                "decision": verdict.decision,
            }),
        })
    };
    finished.iter().filter_map(told).collect()
}

/// Number of these messages that are answered.
fn answers(finished: &[(Waiting, Verdict)]) -> u64 {
    let answered = finished.iter().filter(|(_, verdict)| {
        matches!(verdict.decision, Decision::Answer | Decision::Merged | Decision::Command)
    });
    u64::try_from(answered.count()).unwrap_or(u64::MAX)
}

/// Inbox rows of these messages in their last state.
pub(crate) fn finished_rows(finished: Vec<(Waiting, Verdict)>) -> Vec<FinishedMessage> {
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
