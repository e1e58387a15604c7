//! Who may talk to an agent: strangers who wait for approval, invitations, and blocks.

use galatea_core::{
    AgentId, EntityId, Error, RemoteId, Result, Source, TaskId,
    ids::uuid_of,
    relationship::IdentityLink,
    store::{Block, BlockKind, OperatorRole},
};
use galatea_runtime::pairing::{self, Invitation, PendingPairing};
use serde_json::json;
use std::time::Duration;
use uuid::Uuid;

use super::{Operator, Ops};
use crate::platforms::PLATFORMS;

/// A stranger who waits to talk to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedPairing {
    /// The agent.
    pub agent: AgentId,
    /// Who waits.
    pub person: PendingPairing,
}

/// Name of a block in addresses: it follows from what makes a block the same.
pub fn block_id(block: &Block) -> Uuid {
    let Block { agent, source, kind, remote, .. } = block;
    uuid_of(&format!("block:{agent}:{source}:{}:{remote}", kind.as_str()))
}

/// A block to add.
#[derive(Debug, Clone)]
pub struct NewBlock {
    /// Only this agent; none is every agent.
    pub agent: Option<AgentId>,
    /// The platform.
    pub source: String,
    /// What the id is of.
    pub kind: BlockKind,
    /// The platform's id.
    pub remote: String,
    /// The reason, for people.
    pub reason: String,
}

impl Ops {
    async fn some_agents(&self, agent: Option<AgentId>) -> Result<Vec<AgentId>> {
        let all = self.store.agents().await?.into_iter().map(|(id, _)| id);
        let some: Vec<AgentId> =
            all.filter(|id| agent.is_none_or(|wanted| wanted == *id)).collect();
        if some.is_empty() {
            return Err(Error::not_found("no such agent has run here"));
        }
        Ok(some)
    }

    /// Strangers who wait for approval, longest first.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn pairings(&self, by: &Operator) -> Result<Vec<ListedPairing>> {
        by.need_somewhere(OperatorRole::Operator)?;
        let mut listed = Vec::new();
        for (agent, _) in self.store.agents().await? {
            if by.need_on(OperatorRole::Operator, agent).is_err() {
                continue;
            }
            let waiting = pairing::pending(&*self.store, agent, self.clock.now()).await?;
            listed.extend(waiting.into_iter().map(|person| ListedPairing { agent, person }));
        }
        Ok(listed)
    }

    async fn pairing(&self, by: &Operator, id: TaskId) -> Result<ListedPairing> {
        let all = self.pairings(by).await?;
        all.into_iter().find(|listed| listed.person.row() == id).ok_or_else(|| {
            Error::not_found("nobody waits there")
                .with_code("GAL-PAIR-UNKNOWN")
                .with_fix("codes are good for one hour; a new message to the agent gives a new one")
        })
    }

    /// Admits a stranger who waits.
    ///
    /// # Errors
    /// `NotFound` (`GAL-PAIR-UNKNOWN`) if nobody waits under this id.
    pub async fn approve_pairing(&self, by: &Operator, id: TaskId) -> Result<()> {
        let ListedPairing { agent, person } = self.pairing(by, id).await?;
        let now = self.clock.now();
        pairing::approve(&*self.store, agent, &person.code, now).await?;
        let after = json!({ "agent": agent, "person": person.entity, "name": person.name });
        self.record(by, "pairing.approve", id, None, Some(after)).await
    }

    /// Ends the wait of a stranger, who is told nothing, and may ask again.
    ///
    /// # Errors
    /// As [`Ops::approve_pairing`].
    pub async fn refuse_pairing(&self, by: &Operator, id: TaskId) -> Result<()> {
        let ListedPairing { agent, person } = self.pairing(by, id).await?;
        self.store.delete_task(agent, id).await?;
        let before = json!({ "agent": agent, "person": person.entity, "name": person.name });
        self.record(by, "pairing.refuse", id, Some(before), None).await
    }

    /// Makes a code for a friend of an agent's owner: who writes it first is admitted.
    ///
    /// # Errors
    /// `NotFound` for an unknown agent, `Conflict` when a hundred are open.
    pub async fn invite_friend(
        &self,
        by: &Operator,
        agent: AgentId,
        days: u8,
    ) -> Result<Invitation> {
        by.need_on(OperatorRole::Operator, agent)?;
        self.some_agents(Some(agent)).await?;
        let life = Duration::from_secs(u64::from(days) * 24 * 60 * 60);
        let made = pairing::invite(&*self.store, agent, life, self.clock.now()).await?;
        let after = json!({ "until": made.until });
        self.record(by, "pairing.invite", agent, None, Some(after)).await?;
        Ok(made)
    }

    /// Blocks of every agent, or of one.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn all_blocks(&self, by: &Operator, agent: Option<AgentId>) -> Result<Vec<Block>> {
        by.need(OperatorRole::Viewer)?;
        let mut blocks = Vec::new();
        for (id, _) in self.store.agents().await? {
            if agent.is_none_or(|wanted| wanted == id) {
                blocks.extend(self.store.blocks(id).await?);
            }
        }
        Ok(blocks)
    }

    /// Blocks a person, a Room or a World. It takes effect within two seconds, in every process.
    ///
    /// # Errors
    /// `NotFound` for an unknown agent, `Invalid` (`GAL-BLOCK-PLATFORM`) for an unknown platform.
    pub async fn add_block(&self, by: &Operator, new: NewBlock) -> Result<Vec<Block>> {
        let NewBlock { agent, source, kind, remote, reason } = new;
        match agent {
            Some(agent) => by.need_on(OperatorRole::Operator, agent)?,
            None => by.need(OperatorRole::Operator)?,
        }
        let known = PLATFORMS.iter().map(|platform| platform.source.clone());
        // Visitors of web pages come over the API, which is no platform of the list.
        let known = known.chain([Source::new("web")]);
        let source = known
            .into_iter()
            .find(|known| known.as_str().eq_ignore_ascii_case(&source))
            .ok_or_else(|| {
            Error::invalid("there is no such platform").with_code("GAL-BLOCK-PLATFORM")
        })?;
        let id = remote.trim();
        let id = if id.starts_with('@') { id.to_lowercase() } else { id.to_owned() };
        if id.is_empty() {
            return Err(Error::invalid("a block names the platform's id"));
        }
        let mut blocks = Vec::new();
        for agent in self.some_agents(agent).await? {
            let block = Block {
                agent,
                source: source.clone(),
                kind,
                remote: RemoteId::new(id.clone()),
                reason: reason.clone(),
                at: self.clock.now(),
            };
            self.store.block(&block).await?;
            let after = json!({ "agent": agent, "kind": kind, "id": id, "reason": reason });
            self.record(by, "block.add", block_id(&block), None, Some(after)).await?;
            blocks.push(block);
        }
        Ok(blocks)
    }

    /// Blocks every account of a person that the agent has met.
    ///
    /// # Errors
    /// `NotFound` for an unknown person, or one without an account of a platform.
    pub async fn block_person(
        &self,
        by: &Operator,
        id: EntityId,
        reason: &str,
    ) -> Result<Vec<Block>> {
        let person = self.person(by, id).await?;
        let mut blocks = Vec::new();
        for (source, of) in &person.metadata {
            let Some(remote) = of.get("id").and_then(serde_json::Value::as_str) else { continue };
            let new = NewBlock {
                agent: Some(person.agent_id),
                source: source.clone(),
                kind: BlockKind::Person,
                remote: remote.to_owned(),
                reason: reason.to_owned(),
            };
            blocks.extend(self.add_block(by, new).await?);
        }
        if blocks.is_empty() {
            return Err(Error::not_found("the person has no account that could be blocked"));
        }
        Ok(blocks)
    }

    /// Lifts a block.
    ///
    /// # Errors
    /// `NotFound` (`GAL-BLOCK-UNKNOWN`) if there is none.
    pub async fn remove_block(&self, by: &Operator, id: Uuid) -> Result<()> {
        by.need_somewhere(OperatorRole::Operator)?;
        let unknown =
            || Error::not_found("this is not on the block list").with_code("GAL-BLOCK-UNKNOWN");
        let all = self.all_blocks(by, None).await?;
        let block = all.into_iter().find(|block| block_id(block) == id).ok_or_else(unknown)?;
        by.need_on(OperatorRole::Operator, block.agent)?;
        if !self.store.unblock(block.agent, &block.source, block.kind, &block.remote).await? {
            return Err(unknown());
        }
        let before = json!({ "agent": block.agent, "kind": block.kind, "id": block.remote });
        self.record(by, "block.remove", id, Some(before), None).await
    }

    /// Accounts of an agent's people that are one person, by their own word on both sides.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn links(&self, by: &Operator, agent: AgentId) -> Result<Vec<IdentityLink>> {
        by.need(OperatorRole::Viewer)?;
        self.store.links(agent).await
    }
}
