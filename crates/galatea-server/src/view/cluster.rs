//! Processes, limits, findings of checks, and the state of this process.

use galatea_core::{Finding, Severity};
use galatea_host::ops::{BudgetState, ClusterView as Processes};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::list;

/// A process that shares the database.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NodeView {
    id: Uuid,
    /// Machine and process id.
    name: String,
    /// `all`, `ingress`, `worker` or `api`.
    role: String,
    version: String,
    up_since: i64,
    /// How far its clock is behind the database's, in milliseconds.
    skew: i64,
    /// Parts of rooms that it answers in.
    rooms: usize,
    /// Accounts that it connects.
    accounts: Vec<String>,
    /// `up`, or `lost` if its heartbeat is overdue.
    state: String,
}

/// The processes that share the database.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct ClusterView {
    /// `sqlite` or `postgres`.
    store: String,
    nodes: Vec<NodeView>,
    /// Milliseconds that the oldest message waits that nobody has begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    behind: Option<u64>,
}

impl From<Processes> for ClusterView {
    fn from(view: Processes) -> Self {
        let nodes = view.members.iter().map(|member| {
            let held = view
                .leases
                .iter()
                .filter(|lease| lease.member == Some(member.id) && !lease.left.is_zero());
            let (accounts, rooms): (Vec<_>, Vec<_>) = held
                .map(|lease| lease.lease.part.to_string())
                .partition(|part| !part.starts_with("rooms:"));
            let membership = &member.membership;
            NodeView {
                id: member.id.0,
                name: membership.name.clone(),
                role: membership.role.as_str().to_owned(),
                version: membership.about.version.clone(),
                up_since: member.joined.0,
                skew: membership.about.skew_millis,
                rooms: rooms.len(),
                accounts,
                state: if member.left.is_zero() { "lost" } else { "up" }.to_owned(),
            }
        });
        Self {
            store: if view.shared { "postgres" } else { "sqlite" }.to_owned(),
            nodes: nodes.collect(),
            behind: view.behind.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
        }
    }
}

/// A limit of money or tokens that is nearly used up.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct BudgetView {
    /// Name of the agent.
    agent: String,
    /// What the limit is of.
    whose: String,
    /// Name of the setting.
    setting: String,
    /// How much of it is used today, in per cent.
    percent: u64,
}

impl From<BudgetState> for BudgetView {
    fn from(state: BudgetState) -> Self {
        let BudgetState { agent, whose, setting, percent } = state;
        Self { agent, whose, setting, percent }
    }
}

list!(/// Limits that are nearly used up.
    BudgetList of BudgetView);

/// A result of a check.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct FindingView {
    /// Stable code.
    id: String,
    /// `ok`, `info`, `warning` or `error`.
    severity: String,
    subject: String,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    /// The next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
    /// What the repair would do, as a question; absent if only a person can.
    #[serde(skip_serializing_if = "Option::is_none")]
    repair: Option<String>,
}

impl From<Finding> for FindingView {
    fn from(finding: Finding) -> Self {
        Self {
            id: finding.id,
            severity: severity(finding.severity).to_owned(),
            subject: finding.subject,
            message: finding.message,
            cause: finding.cause,
            origin: finding.origin,
            fix: finding.fix,
            repair: finding.repair,
        }
    }
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Ok => "ok",
        Severity::Info => "info",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

list!(/// Results of a check.
    FindingList of FindingView);

/// The state of this process.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SystemView {
    /// Version of the program.
    pub(crate) version: String,
    /// The commit that it was built from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) commit: Option<String>,
    /// It can work.
    pub(crate) ready: bool,
    /// Seconds since its start.
    pub(crate) uptime: u64,
    /// Time of the server.
    pub(crate) server_time: i64,
    /// Problems that keep it from working, the most severe first.
    #[schema(value_type = Vec<Object>)]
    pub(crate) reasons: Value,
    /// Conditions to look at although it works.
    #[schema(value_type = Vec<Object>)]
    pub(crate) remarks: Value,
}
