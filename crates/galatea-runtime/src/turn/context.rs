//! Place and context of one turn: the Room and how it is reached, the message, the conversation up
//! to it, and the view that plugin code gets.

use galatea_core::{
    Address, Content, Decision, EntityId, Error, ErrorKind, Memory, MemoryId, MemoryKind, Models,
    Quote, QuoteKind, Result, RoomPeople, State, StepOutcome, Store, Timestamp, Turn, TurnId,
    Verdict, model::Tier, store::MemoryQuery, turn::Catalog,
};
use std::sync::Arc;

use super::{engine::Engine, message::Waiting};
use crate::{
    budget::{Budget, Meter, Visit},
    config::Policy,
    directory::RoomInfo,
    outbox::Route,
    trace::{Recorder, TraceHead},
};

/// The state of a turn whose providers have not run.
const NO_STATE: &State = &State { fragments: Vec::new(), left_out: Vec::new() };
/// The catalog of a turn that offers nothing.
const NO_CATALOG: &Catalog =
    &Catalog { actions: Vec::new(), providers: Vec::new(), evaluators: Vec::new() };

/// A Room as turns see it.
#[derive(Clone)]
pub(super) struct TurnPlace {
    pub(super) info: Arc<RoomInfo>,
    pub(super) route: Arc<Route>,
    pub(super) policy: Arc<Policy>,
}

impl TurnPlace {
    /// The place of a message; none when its Room is not stored.
    ///
    /// # Errors
    /// `Unavailable` while its account is not connected.
    pub(super) async fn of(engine: &Engine, message: &Waiting) -> Result<Option<Self>> {
        let room = message.entry.memory.room_id;
        let Some(info) = engine.directory.rooms.load(&*engine.store, room).await? else {
            return Ok(None);
        };
        let (source, account) = (&message.entry.source, &message.entry.account);
        let route = engine.outbox.routes.ready(source, account).ok_or_else(|| {
            Error::new(ErrorKind::Unavailable, "the platform's connector is not running yet")
        })?;
        let policy = engine.policies.of(source, account)?;
        Ok(Some(Self { info, route, policy }))
    }
}

/// A turn: the message, those answered together with it, where, and how to reach it.
pub(crate) struct TurnContext {
    pub(crate) turn: TurnId,
    pub(crate) info: Arc<RoomInfo>,
    pub(crate) route: Arc<Route>,
    /// Message that is answered; the last when several are.
    pub(crate) message: Waiting,
    /// Answered together with it, oldest first.
    pub(crate) merged: Vec<Waiting>,
    /// Found on the way and not to be answered, each with its own verdict.
    pub(crate) passed: Vec<(Waiting, Verdict)>,
    /// Decision of the gate; the turn adds its own steps to a copy.
    pub(crate) verdict: Verdict,
    /// A model still has to say whether to answer.
    pub(crate) ask: bool,
    /// Counts what this turn uses.
    pub(crate) meter: Arc<Meter>,
    /// Records what this turn does.
    pub(crate) trace: Arc<Recorder>,
    /// Beginning of the turn.
    began: Timestamp,
    /// The agent's models, each call of them counted.
    pub(crate) models: Models,
    merged_memories: Vec<Memory>,
    recent: Vec<Arc<Memory>>,
    earlier: Option<Timestamp>,
    leaving: usize,
    people: Arc<RoomPeople>,
    handle: Option<String>,
}

impl TurnContext {
    /// The messages to be answered.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Waiting> {
        std::iter::once(&self.message).chain(&self.merged)
    }

    /// The same, to be changed.
    pub(super) fn waiting_mut(&mut self) -> impl Iterator<Item = &mut Waiting> {
        std::iter::once(&mut self.message).chain(&mut self.merged)
    }

    /// `visit` says whose limits its calls are counted against.
    pub(crate) fn new(
        engine: &Engine,
        place: &TurnPlace,
        message: Waiting,
        verdict: Verdict,
        visit: Visit,
    ) -> Self {
        let trace = Recorder::new(engine.limits.traces.level);
        let meter = engine.budget.meter(visit, Arc::clone(&trace));
        let (info, route) = (Arc::clone(&place.info), Arc::clone(&place.route));
        let handle = route.handler.handle();
        Self {
            turn: TurnId::fresh(),
            info,
            route,
            message,
            merged: Vec::new(),
            passed: Vec::new(),
            verdict,
            ask: false,
            models: meter.models(&engine.thinking.models),
            meter,
            trace,
            began: engine.clock.now(),
            merged_memories: Vec::new(),
            recent: Vec::new(),
            earlier: None,
            leaving: 0,
            people: Arc::default(),
            handle,
        }
    }

    /// Whose trace it is.
    pub(crate) fn trace_head(&self) -> TraceHead {
        let entry = &self.message.entry.memory;
        let oldest = self.recent.first().map_or(entry.created_at, |memory| memory.created_at);
        TraceHead {
            turn: self.turn,
            room: self.info.room.id,
            person: entry.entity_id,
            at: self.began,
            since: self.merged_memories.iter().map(|m| m.created_at).fold(oldest, Ord::min),
        }
    }

    /// If a cap is nearly used up, the small model answers.
    pub(crate) fn save(&mut self, budget: &Budget) {
        if let Some(why) = budget.thrift(&self.meter.visit) {
            self.models.large = Arc::clone(&self.models.small);
            self.models.objects.large = self.models.objects.small.clone();
            self.verdict.step("budget", StepOutcome::Note, why);
        }
    }

    /// Answers this one too, as the newest.
    pub(crate) fn merge(&mut self, newer: Waiting) {
        let older = std::mem::replace(&mut self.message, newer);
        self.merged.push(older);
    }

    pub(crate) fn address(&self) -> Address {
        let room = &self.info.room;
        Address {
            source: room.source.clone(),
            account: room.account.clone(),
            room: room.id,
            remote: room.remote.clone(),
        }
    }

    /// Reads the conversation so far, with one query, and who the people of the Room are. What waits for its own turn is left out, and what
    /// is answered now is taken as it reads now, if it was edited while it waited.
    pub(super) async fn recall(&mut self, engine: &Engine, behind: usize) -> Result<()> {
        let since = self
            .info
            .room
            .metadata
            .get("resetAt")
            .and_then(serde_json::Value::as_i64)
            .map(Timestamp);
        // At most twice the rows: a long queue must not make every turn read all of it.
        let behind = u32::try_from(behind).unwrap_or(u32::MAX).min(engine.limits.conversation);
        let extra = u32::try_from(self.merged.len() + 1).unwrap_or(u32::MAX).saturating_add(behind);
        let query = MemoryQuery {
            since,
            ..MemoryQuery::new(
                engine.view.identity.id(),
                engine.limits.conversation.saturating_add(extra),
            )
            .room(self.info.room.id)
            .kind(MemoryKind::Messages)
        };
        let mut recent = Vec::new();
        // Newest first: messages of others after the current message belong to a later turn; our
        // own words in between answered earlier ones.
        let (mut later, itself) = (true, engine.view.identity.entity());
        let stored = engine.store.shared_memories(&query).await?;
        let more = stored.len() >= usize::try_from(query.limit).unwrap_or(usize::MAX);
        for memory in stored {
            let own = std::iter::once(&mut self.message)
                .chain(&mut self.merged)
                .find(|w| w.entry.memory.id == memory.id);
            if let Some(own) = own {
                if own.entry.memory.content != memory.content {
                    Arc::make_mut(&mut own.entry).memory.content.clone_from(&memory.content);
                }
                later = false;
                continue;
            }
            let elsewhere = engine.claims.contains(&memory.id)
                && !self.passed.iter().any(|(w, _)| w.entry.memory.id == memory.id);
            if !elsewhere && (!later || memory.entity_id == itself) {
                recent.push(memory);
            }
        }
        self.merged_memories = self.merged.iter().map(|w| w.entry.memory.clone()).collect();
        let most = usize::try_from(engine.limits.conversation).unwrap_or(usize::MAX);
        let mut earlier = recent.get(most).map(|memory| memory.created_at);
        recent.truncate(most);
        recent.reverse();
        let window = self.models.text(Tier::TextLarge).info().limits.window;
        let tokens = engine.limits.conversation_tokens.most(window);
        let shown = engine.state.beginnings.shown(self.info.room.id, &recent, itself, most, tokens);
        earlier =
            recent.drain(..shown.from).next_back().map(|memory| memory.created_at).or(earlier);
        // True if earlier messages of the store were not read.
        let unread =
            || Some(Timestamp(recent.first().filter(|_| more)?.created_at.0.saturating_sub(1)));
        self.earlier = earlier.or_else(unread);
        self.recent = recent;
        self.leaving = shown.leaving;
        self.people = engine.state.people.of(&*engine.store, itself, &self.info.room).await?;
        self.look_up_quotes(&*engine.store, itself).await;
        Ok(())
    }

    /// Adds the messages that the current ones reply to, where the platform gave only the id; and
    /// what is known of its files.
    async fn look_up_quotes(&mut self, store: &dyn Store, itself: EntityId) {
        let recent = std::mem::take(&mut self.recent);
        let mut found: Vec<Arc<Memory>> = Vec::new();
        let wanted: Vec<MemoryId> = self.memories().filter_map(replied_to).collect();
        for id in wanted {
            let known = recent.iter().find(|memory| memory.id == id).cloned();
            let known = match known {
                Some(known) => Some(known),
                None => store
                    .memory(id)
                    .await
                    .ok()
                    .flatten()
                    .filter(|memory| memory.room_id == self.info.room.id)
                    .map(Arc::new),
            };
            found.extend(known);
        }
        for memory in self.memories_mut() {
            let Some(quoted) =
                replied_to(memory).and_then(|id| found.iter().find(|found| found.id == id))
            else {
                continue;
            };
            complete(&mut memory.content, quoted, quoted.entity_id == itself);
        }
        self.recent = recent;
    }

    /// Everything that is answered, oldest first.
    pub(super) fn memories(&self) -> impl Iterator<Item = &Memory> {
        self.merged_memories.iter().chain(std::iter::once(&self.message.entry.memory))
    }

    /// The time of an answer: that of the newest message it answers, by the platform's clock. Messages
    /// of one time stand in the order of their commits, so the answer stands behind what it answers
    /// and before what is received later, however far the clocks of platform and machine differ.
    pub(super) fn answered_at(&self) -> Timestamp {
        let newest = &self.message.entry.memory;
        self.merged.iter().map(|w| w.entry.memory.created_at).fold(newest.created_at, Ord::max)
    }

    /// The same, to be changed.
    pub(super) fn memories_mut(&mut self) -> impl Iterator<Item = &mut Memory> {
        self.merged_memories
            .iter_mut()
            .chain(std::iter::once(&mut Arc::make_mut(&mut self.message.entry).memory))
    }

    /// The view that plugin code gets, before providers have run and before its actions are known.
    /// Both are added by [`Turn`]'s fields `state` and `catalog`.
    pub(super) fn turn<'a>(&'a self, engine: &'a Engine) -> Turn<'a> {
        Turn {
            id: self.turn,
            agent: &engine.view,
            room: &self.info.room,
            world: self.info.world.as_ref(),
            people: &self.people,
            handle: self.handle.as_deref(),
            files: self.route.info.capabilities.files,
            message: &self.message.entry.memory,
            envelope: &self.message.entry.envelope,
            merged: &self.merged_memories,
            recent: &self.recent,
            earlier: self.earlier,
            leaving: self.leaving,
            state: NO_STATE,
            store: &engine.thinking.plugins.store,
            cache: &engine.thinking.plugins.cache,
            models: &self.models,
            usage: self.meter.as_ref(),
            services: &engine.thinking.plugins.services,
            catalog: NO_CATALOG,
            clock: &engine.clock,
            events: &engine.thinking.plugins.events,
            outbound: &engine.thinking.plugins.outbound,
        }
    }

    /// Every inbox row this turn finishes, with its verdict; the merged ones say with which they
    /// were answered.
    pub(super) fn finish(&mut self, verdict: &Verdict) -> Vec<(Waiting, Verdict)> {
        let mut finished = std::mem::take(&mut self.passed);
        for merged in &self.merged {
            let mut own = verdict.clone();
            if verdict.decision == Decision::Answer {
                own.decision = Decision::Merged;
                own.step(
                    "merged",
                    StepOutcome::Answer,
                    format!("answered together with message {}", self.message.entry.memory.id),
                );
            }
            finished.push((merged.clone(), own));
        }
        finished.push((self.message.clone(), verdict.clone()));
        finished
    }
}

/// The message that this one replies to, unless a platform's own words of it leave nothing to ask.
fn replied_to(memory: &Memory) -> Option<MemoryId> {
    let reply = memory.content.quotes.iter().find(|quote| quote.kind == QuoteKind::Reply);
    let complete = reply.is_some_and(|quote| !quote.is_empty() && quote.attachments.is_empty());
    memory.content.in_reply_to.filter(|_| !complete)
}

/// Adds what is stored of the quoted message: its words, or the descriptions of its pictures.
fn complete(content: &mut Content, quoted: &Memory, own: bool) {
    let said = &quoted.content;
    match content.quotes.iter_mut().find(|quote| quote.kind == QuoteKind::Reply) {
        Some(quote) => {
            if quote.text.trim().is_empty() {
                quote.text.clone_from(&said.text);
            }
            for media in &mut quote.attachments {
                if let Some(known) = said.attachments.iter().find(|known| known.id == media.id) {
                    media.clone_from(known);
                }
            }
        }
        None => {
            let by = galatea_core::speakers::name_in(quoted).map(str::to_owned);
            let quote = Quote {
                own,
                attachments: said.attachments.clone(),
                ..Quote::new(QuoteKind::Reply, by, said.text.as_str())
            };
            if !quote.is_empty() {
                content.quotes.push(quote);
            }
        }
    }
}
