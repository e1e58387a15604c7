//! `/api/server/logs`: the newest lines of the log, with secrets masked.

use axum::{
    Router,
    extract::{Query, State},
    http::StatusCode,
    routing::get,
};
use galatea_host::ops::logs::{LogLevel, LogLine};
use serde_json::{Value, json};
use std::sync::Arc;

use super::{
    envelope::{Answer, bare, coded, failed},
    kept::time,
    runs::Asked,
    who::Who,
};
use crate::app::App;

/// elizaOS's levels with their numbers, the most severe first.
const LEVELS: [(&str, u32); 9] = [
    ("fatal", 60),
    ("error", 50),
    ("warn", 40),
    ("info", 30),
    ("log", 29),
    ("progress", 28),
    ("success", 27),
    ("debug", 20),
    ("trace", 10),
];
/// An hour in milliseconds: what elizaOS shows where a program names no time.
const HOUR: i64 = 3_600_000;
/// Lines that are looked at.
const LINES: usize = 5_000;

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new().route("/api/server/logs", get(list).post(list).delete(clear))
}

/// The number of a level.
pub(crate) fn number(name: &str) -> Option<u32> {
    LEVELS.iter().find(|(known, _)| *known == name).map(|(_, number)| *number)
}

/// A line as elizaOS shows it.
pub(crate) fn view(line: &LogLine) -> Value {
    json!({
        "time": line.at.0,
        "level": number(line.level.as_str()),
        "msg": line.text,
        "src": line.target,
    })
}

async fn list(State(app): State<Arc<App>>, who: Who, Query(asked): Asked) -> Answer {
    let since = time(&asked, "since").unwrap_or_else(|| app.ops.clock().now().0 - HOUR);
    let limit = time(&asked, "limit").and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0);
    let limit = limit.unwrap_or(100).min(1_000);
    let level = asked.get("level").map_or_else(|| "all".to_owned(), |l| l.to_lowercase());
    let wanted = (level != "all").then(|| number(&level).unwrap_or(30));
    let lines = app.ops.logs(&who.by, None, LogLevel::Trace, LINES).map_err(failed)?;
    let fits = |line: &&Arc<LogLine>| {
        line.at.0 >= since && wanted.is_none_or(|n| number(line.level.as_str()) == Some(n))
    };
    let mut shown: Vec<Value> = lines.iter().filter(fits).map(|line| view(line)).collect();
    shown.drain(..shown.len().saturating_sub(limit));
    let of = |key: &str| asked.get(key).map_or("all", String::as_str);
    let body = json!({
        "logs": shown,
        "count": shown.len(),
        "total": lines.len(),
        "requestedLevel": level,
        "agentName": of("agentName"),
        "agentId": of("agentId"),
        "levels": LEVELS.map(|(name, _)| name),
    });
    bare(StatusCode::OK, body)
}

/// elizaOS empties its log here. The log is a record, which no program empties.
async fn clear(_: Who) -> Answer {
    Err(coded(403, "FORBIDDEN", "the log cannot be emptied"))
}
