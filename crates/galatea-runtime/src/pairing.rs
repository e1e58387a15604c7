//! Pairing: a stranger gets a code; the owner approves it; from then on the stranger is answered.

use galatea_core::{AgentId, Clock, EntityId, Result, Store};
use rand::Rng;
use serde_json::json;
use std::{sync::Arc, time::Duration};

/// Codes live for an hour, and three may wait at once, so that strangers cannot fill the list.
const LIFE: Duration = Duration::from_secs(60 * 60);
const MOST: usize = 3;
/// Without letters and digits that look alike.
const ALPHABET: &[u8] = b"23456789ABCDEFGHJKMNPQRSTUVWXYZ";
const PENDING: &str = "pairing:pending";

fn approved_key(entity: EntityId) -> String {
    format!("pairing:approved:{entity}")
}

/// Whether the owner approved this person.
pub(crate) async fn is_approved(store: &Arc<dyn Store>, clock: &Arc<dyn Clock>, agent: AgentId, entity: EntityId) -> Result<bool> {
    Ok(store.cached(agent, &approved_key(entity), clock.now()).await?.is_some())
}

/// The code to show a stranger; none while too many wait.
pub(crate) async fn code_for(store: &Arc<dyn Store>, clock: &Arc<dyn Clock>, agent: AgentId, entity: EntityId, name: &str) -> Result<Option<String>> {
    let now = clock.now();
    let mut waiting = pending(store.as_ref(), agent, now).await?;
    if let Some(known) = waiting.iter().find(|p| p.entity == entity) {
        return Ok(Some(known.code.clone()));
    }
    if waiting.len() >= MOST {
        return Ok(None);
    }
    let code: String = {
        let mut rng = rand::rng();
        (0..8).map(|_| char::from(ALPHABET[rng.random_range(0..ALPHABET.len())])).collect()
    };
    waiting.push(Pending { code: code.clone(), entity, name: name.chars().take(64).collect(), until: now.plus(LIFE) });
    store.cache(agent, PENDING, &json!(waiting), Some(now.plus(LIFE))).await?;
    Ok(Some(code))
}

/// A stranger who waits for approval.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Pending {
    /// Eight characters.
    pub code: String,
    /// Who.
    pub entity: EntityId,
    /// As they call themselves.
    pub name: String,
    /// When the code ends.
    pub until: galatea_core::Timestamp,
}

/// Strangers who wait, oldest first.
///
/// # Errors
/// Whatever the store says.
pub async fn pending(store: &dyn Store, agent: AgentId, now: galatea_core::Timestamp) -> Result<Vec<Pending>> {
    let value = store.cached(agent, PENDING, now).await?;
    let mut waiting: Vec<Pending> = value.and_then(|v| serde_json::from_value(v).ok()).unwrap_or_default();
    waiting.retain(|p| p.until > now);
    Ok(waiting)
}

/// Approves a code; gives the person's name, or none when no such code waits.
///
/// # Errors
/// Whatever the store says.
pub async fn approve(store: &dyn Store, agent: AgentId, code: &str, now: galatea_core::Timestamp) -> Result<Option<String>> {
    let mut waiting = pending(store, agent, now).await?;
    let Some(at) = waiting.iter().position(|p| p.code.eq_ignore_ascii_case(code.trim())) else { return Ok(None) };
    let person = waiting.remove(at);
    store.cache(agent, &approved_key(person.entity), &json!({ "at": now, "name": person.name }), None).await?;
    store.cache(agent, PENDING, &json!(waiting), Some(now.plus(LIFE))).await?;
    Ok(Some(person.name))
}
