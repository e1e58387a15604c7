//! Encodes and numbers what is said, each part a row of the outbox; what is too much at once is
//! held back.

use galatea_core::{
    Address, Content, Error, MemoryId, Outgoing, RemoteId, Result, StepOutcome, TurnId, Verdict,
    store::{NewDelivery, RequestedChange, TurnRecord},
};
use serde_json::json;

use super::{
    context::TurnContext,
    memories::carries_file,
    message::Waiting,
    outcome::{CONTINUATION_KEY, Continuation, FOOTER},
};
use crate::outbox::{Outbox, Route, Stamp};

/// The rows of one turn.
pub(super) struct Parts<'a> {
    outbox: &'a Outbox,
    turn: TurnId,
    stamp: Stamp,
    /// In order of their numbers.
    pub(super) rows: Vec<NewDelivery>,
    /// Messages that may be said at once; none is without limit.
    most: Option<usize>,
    held: Vec<Continuation>,
}

impl<'a> Parts<'a> {
    /// None yet. Of answers at most so many parts are said at once.
    pub(super) fn new(outbox: &'a Outbox, turn: TurnId, stamp: Stamp, most: Option<usize>) -> Self {
        Self { outbox, turn, stamp, rows: Vec::new(), most, held: Vec::new() }
    }

    /// Adds all parts of a message.
    pub(super) fn add(
        &mut self,
        route: &Route,
        address: &Address,
        content: &Content,
        reply_to: Option<RemoteId>,
        memory: Option<MemoryId>,
    ) -> Result<()> {
        let outgoing = Outgoing::Message { content: content.clone(), reply_to }.made_visible();
        for body in route.handler.encode(&outgoing)? {
            self.push(address, body, memory)?;
        }
        Ok(())
    }

    /// Adds the parts of one answer from a number on, as many as there is room for; one place is
    /// kept for the line that says that there is more. An answer that carries a file in itself is
    /// added whole: its memory does not keep the file.
    pub(super) fn answer(
        &mut self,
        route: &Route,
        address: &Address,
        content: &Content,
        answer: Continuation,
    ) -> Result<()> {
        let outgoing =
            Outgoing::Message { content: content.clone(), reply_to: answer.reply_to.clone() }
                .made_visible();
        let mut bodies = route.handler.encode(&outgoing)?;
        let rest = bodies.split_off(answer.from.min(bodies.len()));
        let left = self.most.map_or(usize::MAX, |most| most.saturating_sub(self.rows.len()));
        let fits = carries_file(content) || (self.held.is_empty() && rest.len() <= left);
        let now_said = if fits {
            rest.len()
        } else if self.held.is_empty() {
            left.saturating_sub(1)
        } else {
            0
        };
        if !fits {
            self.held.push(Continuation { from: answer.from + now_said, ..answer.clone() });
        }
        for body in rest.into_iter().take(now_said) {
            self.push(address, body, Some(answer.memory))?;
        }
        Ok(())
    }

    fn push(
        &mut self,
        address: &Address,
        body: galatea_core::Encoded,
        memory: Option<MemoryId>,
    ) -> Result<()> {
        let part = u32::try_from(self.rows.len())
            .map_err(|_| Error::unexpected("more parts than can be counted"))?;
        let row = self.outbox.row(self.turn, part, address.clone(), body, memory, self.stamp);
        self.rows.push(row);
        Ok(())
    }

    /// Says that there is more and keeps it with the Room, or forgets what an earlier answer held
    /// back.
    pub(super) fn end(
        &mut self,
        context: &TurnContext,
        address: &Address,
        record: &mut TurnRecord,
        finished: &mut [(Waiting, Verdict)],
    ) -> Result<()> {
        let before =
            context.info.room.metadata.get(CONTINUATION_KEY).is_some_and(|held| !held.is_null());
        if self.held.is_empty() && (!before || self.rows.is_empty()) {
            return Ok(());
        }
        let said = self.rows.len();
        let held = if self.held.is_empty() { serde_json::Value::Null } else { json!(self.held) };
        let metadata = serde_json::Map::from_iter([(CONTINUATION_KEY.to_owned(), held)]);
        record.effects.push(RequestedChange::MergeRoomMetadata { room: address.room, metadata });
        if self.held.is_empty() {
            return Ok(());
        }
        self.add(&context.route, address, &Content::text(FOOTER), None, None)?;
        let id = context.message.entry.memory.id;
        for (_, verdict) in finished.iter_mut().filter(|(waiting, _)| waiting.entry.memory.id == id)
        {
            verdict.step("parts", StepOutcome::Note, format!("{said} parts of the answer were sent; the rest is sent when a person writes \"more\" (ANSWER_PARTS)"));
        }
        Ok(())
    }
}
