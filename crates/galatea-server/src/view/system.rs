//! Agents, connectors, usage, blocks, and the record of changes.

use galatea_core::store::{Block, RecordedChange, UsageRow};
use galatea_host::ops::{AgentInfo, AgentView, ConnectorStatus};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{list, word};

/// An agent of this process.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct AgentSummary {
    id: Uuid,
    name: String,
    /// `created`, `starting`, `running`, `degraded`, `stopping`, `stopped` or `failed`.
    state: String,
    /// Why its last restart failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
}

impl From<AgentInfo> for AgentSummary {
    fn from(info: AgentInfo) -> Self {
        Self { id: info.id.0, name: info.name, state: word(&info.state), failure: info.failure }
    }
}

list!(/// Agents.
    AgentList of AgentSummary);

/// An agent with its character.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct AgentDetail {
    agent: AgentSummary,
    /// The character, without secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    character: Option<Value>,
}

impl From<AgentView> for AgentDetail {
    fn from(view: AgentView) -> Self {
        Self { agent: view.info.into(), character: view.character }
    }
}

/// A connector.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConnectorView {
    agent: Uuid,
    agent_name: String,
    /// The platform.
    source: String,
    account: String,
    /// `starting`, `elsewhere`, `up`, `degraded`, `retrying` or `down`, with what is known about it.
    #[schema(value_type = Object)]
    health: Value,
}

impl From<ConnectorStatus> for ConnectorView {
    fn from(status: ConnectorStatus) -> Self {
        Self {
            agent: status.agent.0,
            agent_name: status.agent_name,
            source: status.info.source.as_str().to_owned(),
            account: status.info.account.0,
            health: serde_json::to_value(&status.health).unwrap_or_default(),
        }
    }
}

list!(/// Connectors.
    ConnectorList of ConnectorView);

/// What was used on a day, by room, person and model.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct UsageLine {
    agent: Uuid,
    /// The day in UTC, counted from 1970.
    day: i64,
    /// The platform.
    source: String,
    room: Uuid,
    person: Uuid,
    /// Empty for what no model had a part in.
    model: String,
    answers: u64,
    /// Messages that a limit kept from being answered.
    refused: u64,
    /// Calls to models.
    calls: u64,
    /// Tokens read.
    input: u64,
    /// Of these from the provider's cache.
    cached: u64,
    /// Tokens written.
    output: u64,
    /// Tokens whose price is not known.
    unpriced: u64,
    /// Cost in millionths of a US dollar.
    micros: u64,
}

impl From<UsageRow> for UsageLine {
    fn from(row: UsageRow) -> Self {
        let amount = row.amount;
        Self {
            agent: row.agent.0,
            day: row.day.0,
            source: row.source.as_str().to_owned(),
            room: row.room.0,
            person: row.person.0,
            model: row.model,
            answers: amount.answers,
            refused: amount.refused,
            calls: amount.calls,
            input: amount.input,
            cached: amount.cached,
            output: amount.output,
            unpriced: amount.unpriced,
            micros: amount.micros,
        }
    }
}

list!(/// Rows of the ledger.
    UsageList of UsageLine);

/// Somebody or somewhere that is never answered.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct BlockView {
    /// The platform.
    source: String,
    /// `person`, `room` or `world`.
    kind: String,
    /// The platform's id.
    remote: String,
    reason: String,
    at: i64,
}

impl From<Block> for BlockView {
    fn from(block: Block) -> Self {
        Self {
            source: block.source.as_str().to_owned(),
            kind: word(&block.kind),
            remote: block.remote.0,
            reason: block.reason,
            at: block.at.0,
        }
    }
}

list!(/// Blocks.
    BlockList of BlockView);

/// A change that an operator made.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct ChangeView {
    id: i64,
    at: i64,
    /// The user, or `command line`.
    actor: String,
    /// Such as `outbox.retry`.
    operation: String,
    /// The object.
    target: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    before: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    after: Option<Value>,
    /// Whence it came.
    origin: String,
}

impl From<RecordedChange> for ChangeView {
    fn from(change: RecordedChange) -> Self {
        let RecordedChange { seq, at, actor, operation, target, before, after, origin } = change;
        Self { id: seq, at: at.0, actor, operation, target, before, after, origin }
    }
}

list!(/// Changes.
    ChangeList of ChangeView);
