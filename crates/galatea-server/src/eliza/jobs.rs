//! Jobs: bare objects.

use axum::{
    Router,
    extract::{Path, Query, State},
    http::StatusCode,
    routing::get,
};
use galatea_core::{
    AgentId, MemoryId,
    store::{Job, JobState},
};
use galatea_host::ops::jobs::JOBS;
use serde_json::{Value, json};
use std::sync::Arc;

use super::{
    envelope::{Answer, Body, Refusal, bare, failed_plainly, plain, uuid},
    kept::time,
    runs::Asked,
    who::Who,
};
use crate::app::App;

/// Longest question, in characters.
const TEXT: usize = 50_000;
/// Most bytes of metadata.
const METADATA: usize = 10_000;
/// Times after which a job is given up, in milliseconds: the usual, the least and the most.
const TIMEOUT: (i64, i64, i64) = (30_000, 1_000, 300_000);

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/api/messaging/jobs", get(list).post(make))
        .route("/api/messaging/jobs/health", get(health))
        .route("/api/messaging/jobs/{job}", get(one))
}

/// What a body asks, checked in elizaOS's order and words.
fn checked(body: &Value) -> Result<(String, i64), Refusal> {
    let bad = |message: String| Err(plain(400, &message));
    if body.get("agentId").is_some_and(|id| !id.is_string() && !id.is_null()) {
        return bad("agentId must be a valid UUID string".to_owned());
    }
    if body.get("userId").and_then(Value::as_str).is_none() {
        return bad("userId is required and must be a valid UUID string".to_owned());
    }
    let Some(text) = body.get("content").and_then(Value::as_str) else {
        return bad("content is required and must be a string".to_owned());
    };
    if text.is_empty() {
        return bad("content cannot be empty".to_owned());
    }
    if text.encode_utf16().count() > TEXT {
        return bad(format!("content exceeds maximum length of {TEXT} characters"));
    }
    if let Some(metadata) = body.get("metadata").filter(|metadata| !metadata.is_null()) {
        if !metadata.is_object() && !metadata.is_array() {
            return bad("metadata must be an object".to_owned());
        }
        if metadata.to_string().len() > METADATA {
            return bad(format!("metadata exceeds maximum size of {METADATA} bytes"));
        }
    }
    let (usual, least, most) = TIMEOUT;
    let millis = match body.get("timeoutMs").filter(|value| !value.is_null()) {
        None => usual,
        Some(value) => match value.as_f64() {
            Some(millis) if millis >= 0.0 => {
                #[allow(clippy::cast_possible_truncation, reason = "milliseconds, compared below")]
                let millis = millis as i64;
                millis
            }
            _ => return bad("timeoutMs must be a positive number".to_owned()),
        },
    };
    if millis < least {
        return bad(format!("timeoutMs must be at least {least}ms"));
    }
    if millis > most {
        return bad(format!("timeoutMs cannot exceed {most}ms"));
    }
    Ok((text.to_owned(), millis))
}

async fn make(State(app): State<Arc<App>>, who: Who, Body(body): Body) -> Answer {
    let (text, millis) = checked(&body)?;
    let user = body.get("userId").and_then(Value::as_str).and_then(uuid);
    let user = user.ok_or_else(|| plain(400, "Invalid userId format (must be valid UUID)"))?;
    who.writes_as(user)?;
    let agents = app.ops.agents(&who.by).map_err(failed_plainly)?;
    let agent = match body.get("agentId").and_then(Value::as_str).filter(|id| !id.is_empty()) {
        Some(id) => uuid(id)
            .map(AgentId)
            .ok_or_else(|| plain(400, "Invalid agentId format (must be valid UUID)"))?,
        None => agents
            .first()
            .map(|info| info.id)
            .ok_or_else(|| plain(404, "No agents available on server"))?,
    };
    if !agents.iter().any(|info| info.id == agent) {
        return Err(plain(404, &format!("Agent {agent} not found")));
    }
    let metadata = body.get("metadata").cloned().unwrap_or_default();
    let job = app.ops.ask_job(&who.by, &app.chat, agent, user, text, metadata, millis).await;
    let job = job.map_err(failed_plainly)?;
    let body = json!({
        "jobId": job.id,
        "status": job.state.as_str(),
        "createdAt": job.created_at.0,
        "expiresAt": job.expires_at.0,
    });
    bare(StatusCode::CREATED, body)
}

/// A job with its question and its answer.
async fn view(app: &App, who: &Who, job: &Job) -> Result<Value, Refusal> {
    let question = app.ops.channel_message(&who.by, job.message).await.map_err(failed_plainly)?;
    let answer = match job.answer {
        Some(id) => answer(app, who, id).await?,
        None => None,
    };
    let took = job.ended_at.map(|ended| ended.0.saturating_sub(job.created_at.0));
    let result = answer.map(|message| json!({ "message": message, "processingTimeMs": took }));
    let mut view = json!({
        "jobId": job.id,
        "status": job.state.as_str(),
        "agentId": job.agent,
        "userId": job.user,
        "prompt": question.map(|question| question.text),
        "createdAt": job.created_at.0,
        "expiresAt": job.expires_at.0,
        "metadata": job.metadata,
    });
    if let Some(result) = result {
        view["result"] = result;
    }
    if let Some(error) = &job.error {
        view["error"] = json!(error);
    }
    Ok(view)
}

/// The answer of a job; none if it was deleted since.
async fn answer(app: &App, who: &Who, id: MemoryId) -> Result<Option<Value>, Refusal> {
    let memory = match app.ops.memory(&who.by, id).await {
        Ok(memory) => memory,
        Err(error) if error.kind() == galatea_core::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed_plainly(error)),
    };
    Ok(Some(json!({
        "id": memory.id,
        "content": memory.content.text,
        "authorId": memory.agent_id,
        "createdAt": memory.created_at.0,
        "metadata": { "thought": memory.content.thought, "actions": memory.content.actions },
    })))
}

async fn one(State(app): State<Arc<App>>, who: Who, Path(id): Path<String>) -> Answer {
    let id = uuid(&id).ok_or_else(|| plain(404, "Job not found"))?;
    let job = app.ops.job(&who.by, id).await.map_err(failed_plainly)?;
    let view = view(&app, &who, &job).await?;
    bare(StatusCode::OK, view)
}

async fn list(State(app): State<Arc<App>>, who: Who, Query(asked): Asked) -> Answer {
    let limit = time(&asked, "limit").and_then(|limit| u32::try_from(limit).ok());
    let limit = limit.filter(|limit| *limit > 0).unwrap_or(50).min(JOBS);
    let state = asked.get("status").and_then(|state| JobState::from_stored(state));
    let jobs = app.ops.jobs(&who.by, state, limit).await.map_err(failed_plainly)?;
    let counts = app.ops.count_jobs(&who.by).await.map_err(failed_plainly)?;
    let total: u64 = counts.iter().map(|count| count.jobs).sum();
    let mut shown = Vec::new();
    for job in &jobs {
        shown.push(view(&app, &who, job).await?);
    }
    let filtered = shown.len();
    bare(StatusCode::OK, json!({ "jobs": shown, "total": total, "filtered": filtered }))
}

#[allow(clippy::cast_precision_loss, reason = "shares of some thousand jobs")]
async fn health(State(app): State<Arc<App>>, who: Who) -> Answer {
    let counts = app.ops.count_jobs(&who.by).await.map_err(failed_plainly)?;
    let of = |state: JobState| counts.iter().find(|count| count.state == state);
    let jobs = |state: JobState| of(state).map_or(0, |count| count.jobs);
    let (completed, failed) = (jobs(JobState::Completed), jobs(JobState::Failed));
    let timeout = jobs(JobState::Timeout);
    let ended = completed + failed + timeout;
    let share = |n: u64| match ended {
        0 => 0.0,
        all => (n as f64 / all as f64 * 100.0).round() / 100.0,
    };
    let took = of(JobState::Completed).map_or(0, |count| count.took);
    let average = took.checked_div(i64::try_from(completed).unwrap_or(i64::MAX)).unwrap_or(0);
    let total: u64 = counts.iter().map(|count| count.jobs).sum();
    let body = json!({
        "healthy": true,
        "timestamp": app.ops.clock().now().0,
        "totalJobs": total,
        "statusCounts": {
            "pending": 0,
            "processing": jobs(JobState::Processing),
            "completed": completed,
            "failed": failed,
            "timeout": timeout,
        },
        "metrics": {
            "averageProcessingTimeMs": average,
            "successRate": share(completed),
            "failureRate": share(failed),
            "timeoutRate": share(timeout),
        },
        "maxJobs": 10_000,
    });
    bare(StatusCode::OK, body)
}
