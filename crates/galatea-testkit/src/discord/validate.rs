//! Rules of a message body (Discord, "Create Message", "Component Reference", "Allowed Mentions
//! Object").

use serde_json::{Map, Value};
use std::collections::HashSet;

use super::refusal::Refusal;
use crate::discord::request::Request;

const FIELDS: [&str; 13] = [
    "content",
    "nonce",
    "tts",
    "embeds",
    "allowed_mentions",
    "message_reference",
    "components",
    "sticker_ids",
    "attachments",
    "flags",
    "enforce_nonce",
    "poll",
    "payload_json",
];

/// Longest content, in code points.
const MAX_CONTENT: usize = 2000;
const MAX_FILE: usize = 10 << 20;

/// Checks the rules that all message bodies share. `new` is true for a post, false for an edit.
pub(crate) fn message(
    request: &Request,
    pings: bool,
    new: bool,
) -> Result<&Map<String, Value>, Refusal> {
    let body =
        request.body.as_object().ok_or_else(|| Refusal::form("body", "must be an object"))?;
    if let Some(unknown) = body.keys().find(|k| !FIELDS.contains(&k.as_str())) {
        return Err(Refusal::form(unknown, "no such field"));
    }
    let content = match body.get("content") {
        None | Some(Value::Null) => "",
        Some(Value::String(text)) => text,
        Some(_) => return Err(Refusal::form("content", "must be text")),
    };
    if content.chars().count() > MAX_CONTENT {
        return Err(Refusal::form("content", "Must be 2000 or fewer in length."));
    }
    let list = |name: &str| body.get(name).and_then(Value::as_array).map_or(0, Vec::len);
    if new
        && content.trim().is_empty()
        && request.files.is_empty()
        && list("embeds") == 0
        && list("components") == 0
        && list("sticker_ids") == 0
    {
        return Err(
            Refusal::new(400, 50006, "Cannot send an empty message").wrong("an empty message")
        );
    }
    if list("embeds") > 10 {
        return Err(Refusal::form("embeds", "Must be 10 or fewer in length."));
    }
    mentions(body.get("allowed_mentions"), pings)?;
    if let Some(rows) = body.get("components") {
        components(rows)?;
    }
    if body.get("flags").is_some_and(|f| {
        !f.is_null() && f.as_u64().is_none_or(|f| f & !(1 << 2 | 1 << 6 | 1 << 12 | 1 << 15) != 0)
    }) {
        return Err(Refusal::form("flags", "flags that cannot be set"));
    }
    attachments(request, body)?;
    Ok(body)
}

fn mentions(allowed: Option<&Value>, pings: bool) -> Result<(), Refusal> {
    if pings {
        return Ok(());
    }
    let Some(allowed) = allowed else {
        return Err(Refusal::form(
            "allowed_mentions",
            "missing: what a model writes would notify people",
        ));
    };
    let empty =
        |name: &str| allowed.get(name).is_none_or(|l| l.as_array().is_some_and(Vec::is_empty));
    if allowed.get("parse").and_then(Value::as_array).is_none_or(|p| !p.is_empty())
        || !empty("users")
        || !empty("roles")
        || allowed["replied_user"] == true
    {
        return Err(Refusal::form("allowed_mentions", "people would be notified"));
    }
    Ok(())
}

fn components(rows: &Value) -> Result<(), Refusal> {
    let rows = rows.as_array().ok_or_else(|| Refusal::form("components", "must be a list"))?;
    if rows.len() > 5 {
        return Err(Refusal::form("components", "Must be 5 or fewer in length."));
    }
    let mut seen = HashSet::new();
    for row in rows {
        let buttons = row["components"]
            .as_array()
            .filter(|_| row["type"] == 1)
            .ok_or_else(|| Refusal::form("components", "rows of buttons are expected"))?;
        if !(1..=5).contains(&buttons.len()) {
            return Err(Refusal::form("components", "a row has one to five buttons"));
        }
        for button in buttons {
            let style = button["style"].as_u64().unwrap_or(0);
            let label =
                button["label"].as_str().is_some_and(|l| (1..=80).contains(&l.chars().count()));
            let press = match style {
                1..=4 => {
                    button["custom_id"]
                        .as_str()
                        .is_some_and(|c| (1..=100).contains(&c.chars().count()) && seen.insert(c))
                        && button.get("url").is_none()
                }
                5 => {
                    button["url"].as_str().is_some_and(|u| u.len() <= 512 && u.starts_with("http"))
                        && button.get("custom_id").is_none()
                }
                _ => false,
            };
            if button["type"] != 2 || !label || !press {
                return Err(Refusal::form(
                    "components",
                    format!("a button breaks a rule: {button}"),
                ));
            }
        }
    }
    Ok(())
}

/// Checks that every file has a description and every description a file.
fn attachments(request: &Request, body: &Map<String, Value>) -> Result<(), Refusal> {
    let described = body.get("attachments").and_then(Value::as_array).cloned().unwrap_or_default();
    if request.files.len() > 10 {
        return Err(Refusal::form("attachments", "at most 10 files"));
    }
    for file in &request.files {
        let number = file
            .name
            .strip_prefix("files[")
            .and_then(|n| n.strip_suffix(']'))
            .and_then(|n| n.parse::<u64>().ok());
        let about = described.iter().find(|a| a["id"].as_u64() == number && number.is_some());
        if about.is_none_or(|a| a["filename"].as_str() != file.file_name.as_deref()) {
            return Err(Refusal::form(
                "attachments",
                format!("the part {} has no entry with its id and name", file.name),
            ));
        }
        if file.bytes.len() > MAX_FILE {
            return Err(Refusal::new(413, 40005, "Request entity too large")
                .wrong("a file of more than 10 MiB"));
        }
    }
    if described.len() != request.files.len() {
        return Err(Refusal::form("attachments", "entries without a file"));
    }
    Ok(())
}

/// Reads and checks the nonce of a new message.
pub(crate) fn nonce(body: &Map<String, Value>) -> Result<Option<String>, Refusal> {
    let nonce = match body.get("nonce") {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Number(n)) => Some(n.to_string()),
        Some(_) => return Err(Refusal::form("nonce", "must be text or a number")),
    };
    match nonce {
        Some(nonce) if nonce.len() > 25 => {
            Err(Refusal::form("nonce", "Must be 25 or fewer in length."))
        }
        Some(_) if body.get("enforce_nonce") != Some(&Value::Bool(true)) => {
            Err(Refusal::form("enforce_nonce", "a nonce that is not enforced protects nothing"))
        }
        None => Err(Refusal::form("nonce", "missing: a repeat would be posted twice")),
        nonce => Ok(nonce),
    }
}
