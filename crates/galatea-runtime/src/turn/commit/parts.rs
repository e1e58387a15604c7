//! Encodes and numbers what is said, each part a row of the outbox; what is too much at once is
//! held back.

use galatea_core::{
    Address, Content, Error, MemoryId, Outgoing, RemoteId, Result, StepOutcome, TurnId, Verdict,
    store::{NewDelivery, RequestedChange, TurnRecord},
};

use super::{
    held::{self, Continuation},
    memories::carries_file,
};
use crate::{
    outbox::{Outbox, Route, Stamp},
    turn::{context::TurnContext, message::Waiting},
};

/// The rows of one turn.
pub(crate) struct AnswerParts<'a> {
    outbox: &'a Outbox,
    turn: TurnId,
    stamp: Stamp,
    /// In order of their numbers.
    pub(crate) rows: Vec<NewDelivery>,
    /// Messages that may be said at once; none is without limit.
    most: Option<usize>,
    /// In private chats it is said otherwise how to get the rest.
    direct: bool,
    held: Vec<Continuation>,
}

impl<'a> AnswerParts<'a> {
    /// Starts without rows. `most` bounds the parts of an answer that are said at once.
    pub(crate) fn new(
        outbox: &'a Outbox,
        turn: TurnId,
        stamp: Stamp,
        most: Option<usize>,
        direct: bool,
    ) -> Self {
        Self { outbox, turn, stamp, rows: Vec::new(), most, direct, held: Vec::new() }
    }

    /// Adds all parts of a message.
    pub(crate) fn add(
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

    /// Adds an answer from a place on, as much of it as there is room for; below that stands that
    /// there is more. An answer that carries a file in itself is added whole: its memory does not
    /// keep the file.
    pub(crate) fn answer(
        &mut self,
        route: &Route,
        address: &Address,
        content: &Content,
        from: Continuation,
        reply_to: Option<RemoteId>,
    ) -> Result<()> {
        let encode = |content: Content| {
            let outgoing = Outgoing::Message { content, reply_to: reply_to.clone() };
            route.handler.encode(&outgoing.made_visible())
        };
        let memory = from.memory;
        let left = self.most.map_or(usize::MAX, |most| most.saturating_sub(self.rows.len()));
        if !self.held.is_empty() && !carries_file(content) {
            self.held.push(from);
            return Ok(());
        }
        let rest = Content { text: from.rest(&content.text), ..content.clone() };
        let bodies = encode(rest)?;
        if carries_file(content) || bodies.len() <= left {
            return bodies.into_iter().try_for_each(|body| self.push(address, body, Some(memory)));
        }
        let capabilities = &route.info.capabilities;
        let footer = held::footer(self.direct, capabilities.buttons);
        let beginning = |words: &str| {
            let mut content = held::beginning(content, words, footer);
            if capabilities.buttons {
                content.buttons = held::button(memory);
            }
            content
        };
        let fits = |words: &str| Ok(encode(beginning(words))?.len() <= left);
        let most = left.saturating_mul(capabilities.max_text);
        let cut = match left {
            0 => None,
            _ => held::cut(&content.text, &from, capabilities.text_unit, most, fits)?,
        };
        let Some(cut) = cut else {
            // No room is left, or none for its shortest piece.
            self.held.push(from);
            return Ok(());
        };
        for body in encode(beginning(&cut.now))? {
            self.push(address, body, Some(memory))?;
        }
        self.held.push(cut.rest);
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

    /// Keeps with the Room what was held back of this turn's answers, beside what is held back for
    /// other people. `continued` says that the turn went on with an earlier answer.
    pub(crate) fn end(
        &mut self,
        context: &TurnContext,
        address: &Address,
        record: &mut TurnRecord,
        finished: &mut [(Waiting, Verdict)],
        continued: bool,
    ) {
        let message = &context.message.entry.memory;
        let (asker, said) = (message.entity_id, self.rows.len());
        let held = std::mem::take(&mut self.held);
        let has_more = !held.is_empty();
        let metadata = &context.info.room.metadata;
        if let Some(metadata) = held::update(metadata, record.at, asker, held, continued, said > 0)
        {
            record
                .effects
                .push(RequestedChange::MergeRoomMetadata { room: address.room, metadata });
        }
        if !has_more {
            return;
        }
        for (_, verdict) in
            finished.iter_mut().filter(|(waiting, _)| waiting.entry.memory.id == message.id)
        {
            verdict.step("parts", StepOutcome::Note, format!("{said} parts of the answer were sent; the rest is sent when the person asks for \"more\" (ANSWER_PARTS)"));
        }
    }
}
