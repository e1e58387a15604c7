//! `/api/agents/:id/runs` and `/logs`: turns, in elizaOS's words.

use axum::{
    Router,
    extract::{Path, Query, State},
    routing::{delete, get},
};
use galatea_core::{
    Decision, RoomId, TurnId,
    store::{InboxItem, InboxState, OutboxItem, OutboxState, Place, TurnsQuery},
};
use serde_json::{Value, json};
use std::{collections::HashMap, sync::Arc};

use super::{
    agents::agent,
    envelope::{Answer, Refusal, coded, failed, success, uuid},
    who::Who,
};
use crate::app::App;

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/api/agents/{agent}/runs", get(list))
        .route("/api/agents/{agent}/runs/{run}", get(one))
        .route("/api/agents/{agent}/logs", get(logs))
        .route("/api/agents/{agent}/logs/{log}", delete(delete_log))
}

/// Parameters of the query.
pub(super) type Asked = Query<HashMap<String, String>>;

/// State of a turn in elizaOS's words.
fn status(item: &InboxItem) -> &'static str {
    match item.state {
        InboxState::New => "started",
        InboxState::Dead => "error",
        InboxState::Expired => "timeout",
        InboxState::Done | InboxState::Skipped => "completed",
    }
}

fn failed_parts(parts: &[OutboxItem]) -> usize {
    parts.iter().filter(|part| part.state == OutboxState::Dead).count()
}

/// A run. Messages that were answered together are one run each, under the id of their turn.
fn summary(item: &InboxItem, parts: &[OutboxItem]) -> Value {
    let ended = item.finished_at.map(|at| at.0);
    json!({
        "runId": item.turn.map_or(item.entry.memory.id.0, |turn| turn.0),
        "status": status(item),
        "startedAt": item.received_at.0,
        "endedAt": ended,
        "durationMs": ended.map(|ended| ended.saturating_sub(item.received_at.0)),
        "messageId": item.entry.memory.id,
        "roomId": item.entry.memory.room_id,
        "entityId": item.entry.memory.entity_id,
        "metadata": { "source": item.entry.source, "decision": item.verdict.as_ref().map(|v| v.decision) },
        "counts": { "actions": 0, "modelCalls": 0, "errors": failed_parts(parts), "evaluators": 0 },
    })
}

fn room(asked: &HashMap<String, String>) -> Result<Option<RoomId>, Refusal> {
    let Some(text) = asked.get("roomId").filter(|text| !text.is_empty()) else { return Ok(None) };
    let bad = || coded(400, "INVALID_ID", "Invalid room ID format");
    uuid(text).map(RoomId).map(Some).ok_or_else(bad)
}

fn number(asked: &HashMap<String, String>, key: &str) -> Option<i64> {
    asked.get(key)?.parse().ok()
}

async fn list(
    State(app): State<Arc<App>>,
    who: Who,
    Path(id): Path<String>,
    Query(asked): Asked,
) -> Answer {
    let (agent, room) = (agent(&app, &who, &id)?.id, room(&asked)?);
    let limit = number(&asked, "limit").filter(|limit| *limit > 0).unwrap_or(20).min(100);
    let limit = u32::try_from(limit).unwrap_or(20);
    let wanted = asked.get("status").map(String::as_str).unwrap_or("all");
    let (from, to) = (number(&asked, "from"), number(&asked, "to"));
    let mut query = TurnsQuery {
        agent: Some(agent),
        room,
        source: None,
        state: None,
        before: Place::NEWEST,
        limit: limit.saturating_mul(5).min(200),
    };
    let (mut runs, mut more) = (Vec::new(), false);
    // Five pages: a filter that fits few turns is not looked for any further.
    for _ in 0..5 {
        let page = app.ops.turns(&who.by, &query).await.map_err(failed)?;
        for item in &page.rows {
            let fits = (wanted == "all" || status(item) == wanted)
                && from.is_none_or(|from| item.received_at.0 >= from)
                && to.is_none_or(|to| item.received_at.0 <= to);
            if !fits {
                continue;
            }
            if runs.len() >= limit as usize {
                more = true;
                break;
            }
            runs.push(summary(item, &[]));
        }
        match page.next {
            Some(next) if !more && runs.len() < limit as usize => query.before = next,
            next => {
                more |= next.is_some();
                break;
            }
        }
    }
    let total = runs.len();
    success(json!({ "runs": runs, "total": total, "hasMore": more }))
}

async fn one(
    State(app): State<Arc<App>>,
    who: Who,
    Path((id, run)): Path<(String, String)>,
) -> Answer {
    let bad = || coded(400, "INVALID_ID", "Invalid agent or run ID format");
    let turn = uuid(&run).map(TurnId).ok_or_else(bad)?;
    let agent = agent(&app, &who, &id)?.id;
    let (messages, parts) = app.ops.whole_turn(&who.by, turn).await.map_err(failed)?;
    let missing = || coded(404, "NOT_FOUND", "Run not found");
    let item = messages.iter().find(|m| m.entry.memory.agent_id == agent).ok_or_else(missing)?;
    let source = item.entry.source.as_str();
    let mut events = vec![json!({
        "type": "RUN_STARTED",
        "timestamp": item.received_at.0,
        "data": { "source": source, "messageId": item.entry.memory.id },
    })];
    let steps = item.verdict.iter().flat_map(|verdict| &verdict.steps);
    events.extend(steps.map(|step| {
        json!({
            "type": "GATE_STEP",
            "timestamp": item.received_at.0,
            "data": { "rule": step.rule, "outcome": step.outcome, "reason": step.reason },
        })
    }));
    if let Some(ended) = item.finished_at {
        let error = item.verdict.as_ref().filter(|v| v.decision == Decision::Failed);
        let error = error.and_then(|verdict| verdict.steps.last()).map(|step| step.reason.clone());
        events.push(json!({
            "type": "RUN_ENDED",
            "timestamp": ended.0,
            "data": {
                "status": status(item),
                "error": error,
                "durationMs": ended.0.saturating_sub(item.received_at.0),
            },
        }));
    }
    success(json!({ "summary": summary(item, &parts), "events": events }))
}

/// elizaOS's log of an agent. Each turn is an entry; prompts and answers are in traces.
async fn logs(
    State(app): State<Arc<App>>,
    who: Who,
    Path(id): Path<String>,
    Query(asked): Asked,
) -> Answer {
    let agent = agent(&app, &who, &id)?.id;
    let room = room(&asked)?;
    let count = number(&asked, "count").filter(|count| *count > 0).unwrap_or(50).min(200);
    let offset = usize::try_from(number(&asked, "offset").unwrap_or(0)).unwrap_or(0);
    let kind = asked.get("type").map(String::as_str);
    let excluded = asked.get("excludeTypes").map(String::as_str);
    if kind.is_some_and(|kind| kind != "run_event") || excluded == Some("run_event") {
        return success(Vec::<Value>::new());
    }
    let limit =
        u32::try_from(count).unwrap_or(50).saturating_add(u32::try_from(offset).unwrap_or(0));
    let query = TurnsQuery {
        agent: Some(agent),
        room,
        source: None,
        state: None,
        before: Place::NEWEST,
        limit: limit.min(1_000),
    };
    let page = app.ops.turns(&who.by, &query).await.map_err(failed)?;
    let entry = |item: &InboxItem| {
        let memory = &item.entry.memory;
        json!({
            "id": memory.id,
            "type": "run_event",
            "entityId": memory.entity_id,
            "roomId": memory.room_id,
            "createdAt": super::envelope::iso(item.received_at.0),
            "body": {
                "runId": item.turn,
                "status": status(item),
                "messageId": memory.id,
                "roomId": memory.room_id,
                "entityId": memory.entity_id,
                "startTime": item.received_at.0,
                "endTime": item.finished_at.map(|at| at.0),
                "source": item.entry.source,
            },
        })
    };
    success(page.rows.iter().skip(offset).map(entry).collect::<Vec<_>>())
}

/// Entries are turns, which are deleted with their messages only.
async fn delete_log(
    State(app): State<Arc<App>>,
    who: Who,
    Path((id, log)): Path<(String, String)>,
) -> Answer {
    if uuid(&log).is_none() {
        return Err(coded(400, "INVALID_ID", "Invalid agent or log ID format"));
    }
    agent(&app, &who, &id)?;
    let message = "an entry is a turn; delete its message to remove it";
    Err(coded(409, "CONFLICT", message))
}
