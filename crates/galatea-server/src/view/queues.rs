//! Turns and parts of answers.

use galatea_core::{
    Verdict,
    store::{Counts, InboxItem, OutboxItem},
};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{list, word};

/// A step of a decision.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct VerdictStep {
    /// The rule, such as `mention`.
    rule: String,
    /// `pass`, `answer`, `skip`, `note` or `failed`.
    outcome: String,
    /// Why, in a sentence.
    reason: String,
}

/// Why a message was or was not answered.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct VerdictView {
    /// `answer`, `skip`, `merged`, `command`, `expired` or `failed`.
    decision: String,
    /// The steps in their order.
    steps: Vec<VerdictStep>,
    /// The one setting that would have changed the outcome.
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<VerdictChange>,
}

/// A setting and the value that would have changed an outcome.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct VerdictChange {
    setting: String,
    value: String,
}

impl From<Verdict> for VerdictView {
    fn from(verdict: Verdict) -> Self {
        let step = |step: galatea_core::verdict::Step| VerdictStep {
            rule: step.rule.into_owned(),
            outcome: step.outcome.to_string(),
            reason: step.reason.into_owned(),
        };
        Self {
            decision: word(&verdict.decision),
            steps: verdict.steps.into_iter().map(step).collect(),
            change: verdict
                .change
                .map(|change| VerdictChange { setting: change.setting, value: change.value }),
        }
    }
}

/// A message with what was decided about it.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnView {
    /// Id of the message.
    id: Uuid,
    /// The turn that finished it.
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<Uuid>,
    agent: Uuid,
    room: Uuid,
    person: Uuid,
    /// The platform.
    source: String,
    account: String,
    text: String,
    /// `new`, `done`, `skipped`, `expired` or `dead`.
    state: String,
    /// Turns begun for it.
    attempts: u32,
    /// Time of the message.
    at: i64,
    received_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_at: Option<i64>,
    /// None until it is decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<VerdictView>,
}

impl From<InboxItem> for TurnView {
    fn from(item: InboxItem) -> Self {
        let memory = item.entry.memory;
        Self {
            id: memory.id.0,
            turn: item.turn.map(|id| id.0),
            agent: memory.agent_id.0,
            room: memory.room_id.0,
            person: memory.entity_id.0,
            source: item.entry.source.as_str().to_owned(),
            account: item.entry.account.0,
            text: memory.content.text,
            state: item.state.as_str().to_owned(),
            attempts: item.attempts,
            at: memory.created_at.0,
            received_at: item.received_at.0,
            finished_at: item.finished_at.map(|at| at.0),
            verdict: item.verdict.map(Into::into),
        }
    }
}

list!(/// Messages with their decisions.
    TurnList of TurnView);

/// A message with its decision and the parts of its answer.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct TurnDetail {
    turn: TurnView,
    /// The parts in their order.
    parts: Vec<DeliveryView>,
}

impl TurnDetail {
    pub(crate) fn of(item: InboxItem, parts: Vec<OutboxItem>) -> Self {
        Self { turn: item.into(), parts: parts.into_iter().map(Into::into).collect() }
    }
}

/// A part of an answer.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeliveryView {
    id: Uuid,
    turn: Uuid,
    /// Its number within the answer, from 0.
    part: u32,
    agent: Uuid,
    room: Uuid,
    /// The platform.
    source: String,
    account: String,
    /// The memory that it shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<Uuid>,
    /// `pending`, `sending`, `sent`, `ambiguous`, `expired` or `dead`.
    state: String,
    attempt: u32,
    /// Earliest time of the next attempt.
    not_before: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<i64>,
    created_at: i64,
    /// The platform's id, once it is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    remote: Option<String>,
    /// The last failure, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// An earlier attempt may have arrived.
    outcome_unknown: bool,
}

impl From<OutboxItem> for DeliveryView {
    fn from(item: OutboxItem) -> Self {
        let part = item.delivery;
        Self {
            id: part.id.0,
            turn: part.turn.0,
            part: part.part,
            agent: part.agent.0,
            room: part.address.room.0,
            source: part.address.source.as_str().to_owned(),
            account: part.address.account.0,
            memory: item.memory.map(|id| id.0),
            state: item.state.as_str().to_owned(),
            attempt: part.attempt,
            not_before: item.not_before.0,
            expires_at: item.expires.map(|at| at.0),
            created_at: part.created_at.0,
            remote: item.remote.map(|remote| remote.0),
            error: item.error,
            outcome_unknown: item.outcome_unknown,
        }
    }
}

list!(/// Parts of answers.
    DeliveryList of DeliveryView);

/// What waits and what failed.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CountsView {
    /// Messages without a decision yet.
    waiting_messages: u64,
    /// Messages that were given up.
    failed_messages: u64,
    /// Messages that were too old when their turn came.
    expired_messages: u64,
    /// Parts that wait for their next attempt.
    pending: u64,
    /// Parts that are being sent.
    sending: u64,
    /// Parts of unknown outcome.
    ambiguous: u64,
    /// Parts that became too old.
    expired: u64,
    /// Parts that were given up or refused.
    dead: u64,
}

impl From<Counts> for CountsView {
    fn from(counts: Counts) -> Self {
        let Counts {
            waiting_messages,
            failed_messages,
            expired_messages,
            pending,
            sending,
            ambiguous,
            expired,
            dead,
        } = counts;
        Self {
            waiting_messages,
            failed_messages,
            expired_messages,
            pending,
            sending,
            ambiguous,
            expired,
            dead,
        }
    }
}
