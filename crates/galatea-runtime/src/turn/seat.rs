//! Seat: what one turn is about, and the view of it that plugin code gets.

use galatea_core::{Address, Decision, Memory, MemoryKind, Result, State, Timestamp, Turn, TurnId, Verdict, store::MemoryQuery, turn::Catalog};
use std::sync::Arc;

use super::Waiting;
use crate::{agent::Agent, delivery::Route, rooms::RoomInfo};

/// One turn's matter: the message, those answered together with it, where, and how to reach it.
pub(crate) struct Seat {
    pub(crate) turn: TurnId,
    pub(crate) info: Arc<RoomInfo>,
    pub(crate) route: Arc<Route>,
    /// What is answered; the last when several are.
    pub(crate) message: Waiting,
    /// Answered together with it, oldest first.
    pub(crate) merged: Vec<Waiting>,
    /// Found on the way and not to be answered, each with its own verdict.
    pub(crate) passed: Vec<(Waiting, Verdict)>,
    /// The gate's verdict.
    pub(crate) verdict: Verdict,
    /// A model still has to say whether to answer.
    pub(crate) ask: bool,
    merged_memories: Vec<Memory>,
    recent: Vec<Arc<Memory>>,
}

impl Seat {
    pub(crate) fn new(info: Arc<RoomInfo>, route: Arc<Route>, message: Waiting, verdict: Verdict) -> Self {
        Self {
            turn: TurnId::fresh(),
            info,
            route,
            message,
            merged: Vec::new(),
            passed: Vec::new(),
            verdict,
            ask: false,
            merged_memories: Vec::new(),
            recent: Vec::new(),
        }
    }

    /// Answers this one too, as the newest.
    pub(crate) fn merge(&mut self, newer: Waiting) {
        let older = std::mem::replace(&mut self.message, newer);
        self.merged.push(older);
    }

    /// Where answers go.
    pub(crate) fn address(&self) -> Address {
        let room = &self.info.room;
        Address { source: room.source.clone(), account: room.account.clone(), room: room.id, remote: room.remote.clone() }
    }

    /// Reads the conversation so far: one query. What waits for its own turn is left out, and what is answered now is taken
    /// as it reads now, if it was edited while it waited.
    pub(super) async fn recall(&mut self, agent: &Agent, behind: usize) -> Result<()> {
        let since = self.info.room.metadata.get("resetAt").and_then(serde_json::Value::as_i64).map(Timestamp);
        // At most twice the rows: a long queue must not make every turn read all of it.
        let behind = u32::try_from(behind).unwrap_or(u32::MAX).min(agent.limits.conversation);
        let extra = u32::try_from(self.merged.len() + 1).unwrap_or(u32::MAX).saturating_add(behind);
        let query = MemoryQuery {
            since,
            ..MemoryQuery::new(agent.view.identity.id(), agent.limits.conversation.saturating_add(extra)).room(self.info.room.id).kind(MemoryKind::Messages)
        };
        let mut recent = Vec::new();
        // Newest first: what others said after the message in hand is a later turn's; our own words in between answered earlier ones.
        let (mut later, itself) = (true, agent.view.identity.entity());
        for memory in agent.store.shared_memories(&query).await? {
            let own = std::iter::once(&mut self.message).chain(&mut self.merged).find(|w| w.entry.memory.id == memory.id);
            if let Some(own) = own {
                if own.entry.memory.content != memory.content {
                    Arc::make_mut(&mut own.entry).memory.content.clone_from(&memory.content);
                }
                later = false;
                continue;
            }
            let elsewhere = agent.in_turn.contains_key(&memory.id) && !self.passed.iter().any(|(w, _)| w.entry.memory.id == memory.id);
            if !elsewhere && (!later || memory.entity_id == itself) {
                recent.push(memory);
            }
        }
        self.merged_memories = self.merged.iter().map(|w| w.entry.memory.clone()).collect();
        recent.truncate(usize::try_from(agent.limits.conversation).unwrap_or(usize::MAX));
        recent.reverse();
        self.recent = recent;
        Ok(())
    }

    /// Everything that is answered, oldest first.
    pub(super) fn memories(&self) -> impl Iterator<Item = &Memory> {
        self.merged_memories.iter().chain(std::iter::once(&self.message.entry.memory))
    }

    /// The same, to be changed.
    pub(super) fn memories_mut(&mut self) -> impl Iterator<Item = &mut Memory> {
        self.merged_memories.iter_mut().chain(std::iter::once(&mut Arc::make_mut(&mut self.message.entry).memory))
    }

    /// The view plugin code gets.
    pub(super) fn turn<'a>(&'a self, agent: &'a Agent, state: &'a State, catalog: &'a Catalog) -> Turn<'a> {
        Turn {
            id: self.turn,
            agent: &agent.view,
            room: &self.info.room,
            world: self.info.world.as_ref(),
            message: &self.message.entry.memory,
            envelope: &self.message.entry.envelope,
            merged: &self.merged_memories,
            recent: &self.recent,
            state,
            store: &agent.store,
            models: &agent.models,
            services: &agent.services,
            catalog,
            clock: &agent.clock,
            events: &agent.events,
            outbound: &agent.outbound,
        }
    }

    /// Every inbox row this turn finishes, with its verdict; the merged ones say with which they were answered.
    pub(super) fn finish(&mut self, verdict: &Verdict) -> Vec<(Waiting, Verdict)> {
        let mut finished = std::mem::take(&mut self.passed);
        for merged in &self.merged {
            let mut own = verdict.clone();
            if verdict.decision == Decision::Answer {
                own.decision = Decision::Merged;
                own.step("merged", "answer", format!("answered together with message {}", self.message.entry.memory.id));
            }
            finished.push((merged.clone(), own));
        }
        finished.push((self.message.clone(), verdict.clone()));
        finished
    }
}
