//! setWebhook, deleteWebhook, getWebhookInfo. `telegram/webhook.rs` posts the updates.

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::telegram::{
    answer::{Answer, Refusal},
    params::Params,
    state::{State, Webhook},
};

/// setWebhook. The real server requires https and the ports 443, 80, 88 or 8443; this one accepts
/// plain http to the loopback and nothing else.
pub(super) fn set(state: &mut State, params: &Params) -> Answer {
    let url = params.required_text("url")?.to_owned();
    if url.is_empty() {
        return delete(state, params);
    }
    let parsed =
        url::Url::parse(&url).map_err(|_| Refusal::broken("invalid webhook URL specified"))?;
    let loopback = matches!(parsed.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
    if !loopback || !["http", "https"].contains(&parsed.scheme()) {
        return Err(Refusal::broken("bad webhook: this server reaches the loopback only"));
    }
    let secret = params.text("secret_token")?.map(str::to_owned);
    if let Some(secret) = &secret {
        if secret.len() > 256 {
            return Err(Refusal::broken("secret token is too long"));
        }
        if !secret.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-') {
            return Err(Refusal::broken("secret token contains unallowed characters"));
        }
    }
    // 1-100, default 40 (Bot API, setWebhook).
    let max_connections = params.int("max_connections")?.unwrap_or(40);
    if !(1..=100).contains(&max_connections) {
        params.note("max_connections is 1-100");
    }
    state.updates.allow(params)?;
    if params.flag("drop_pending_updates")? {
        state.updates.drop_pending();
    }
    if let Some(old) = state.webhook.take() {
        old.stop.cancel();
    }
    state.webhook = Some(Webhook {
        url,
        secret,
        max_connections: max_connections.clamp(1, 100),
        stop: CancellationToken::new(),
        last_error: None,
    });
    Ok(json!(true))
}

pub(super) fn delete(state: &mut State, params: &Params) -> Answer {
    if params.flag("drop_pending_updates")? {
        state.updates.drop_pending();
    }
    if let Some(old) = state.webhook.take() {
        old.stop.cancel();
    }
    Ok(json!(true))
}

pub(super) fn info(state: &State) -> Value {
    let mut info = json!({ "url": "", "has_custom_certificate": false, "pending_update_count": state.updates.pending() });
    if let Some(webhook) = &state.webhook {
        info["url"] = json!(webhook.url);
        info["max_connections"] = json!(webhook.max_connections);
        if let Some((date, message)) = &webhook.last_error {
            info["last_error_date"] = json!(date);
            info["last_error_message"] = json!(message);
        }
    }
    if let Some(allowed) = state.updates.allowed() {
        info["allowed_updates"] = json!(allowed);
    }
    info
}
