//! UPDATE_CONTACT: stores details that the speaker gives about themselves.

use async_trait::async_trait;
use galatea_core::{
    Action, ActionDocs, ActionResult, Content, Memory, MemoryId, MemoryKind, Result, Turn,
    ids::uuid_of,
    rights::Scope,
    store::{MemoryQuery, RequestedChange},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, sync::Arc};

use crate::{known::Known, words};

pub(crate) struct UpdateContact(pub(crate) Arc<Known>);

/// Limits: details per call, details per person, graphemes per detail.
const PER_CALL: usize = 20;
const MOST: usize = 50;
const LONGEST: usize = 300;

/// What to remember.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// Such as {"city": "Lisbon"}; an empty text forgets.
    details: BTreeMap<String, String>,
}

#[async_trait]
impl Action for UpdateContact {
    const NAME: &'static str = "UPDATE_CONTACT";
    const SIDE_EFFECT: bool = true;
    const SCOPE: Scope = Scope::Speaker;
    type Params = Params;
    fn docs(&self) -> ActionDocs {
        ActionDocs::of::<Self>(
            "Remember or correct what the speaker tells about themselves and asks to be remembered.",
            &["UPDATE_ENTITY", "REMEMBER_CONTACT", "REMEMBER"],
        )
    }
    async fn validate(&self, _: &Turn<'_>) -> Result<bool> {
        Ok(true)
    }
    async fn run(
        &self,
        turn: &Turn<'_>,
        params: Params,
        _: &[ActionResult],
    ) -> Result<ActionResult> {
        let speaker = turn.message.entity_id;
        if turn.merged.iter().any(|m| m.entity_id != speaker) {
            return Ok(ActionResult::failed(
                "several people spoke at once; ask whose details these are",
            ));
        }
        let known = turn.store.entities(&[speaker]).await?;
        let known =
            known.first().and_then(|e| e.metadata.get("contact")).and_then(Value::as_object);
        let mut contact = known.cloned().unwrap_or_default();
        let mut changed = Vec::new();
        for (key, value) in params.details.iter().take(PER_CALL) {
            let (key, value) = (words::name(key), words::line(value, LONGEST));
            if key.is_empty() {
                continue;
            }
            if value.is_empty() {
                contact.remove(&key);
            } else if contact.len() < MOST || contact.contains_key(&key) {
                contact.insert(key.clone(), Value::String(value.clone()));
            } else {
                continue;
            }
            keep(&self.0, turn, &key, &value).await?;
            changed.push(key);
        }
        if changed.is_empty() {
            return Ok(ActionResult::failed(
                "there is nothing to remember, or too much is remembered already",
            ));
        }
        // Stored under a separate key, so that people's own statements never overwrite data of the
        // platform.
        let metadata = Map::from_iter([("contact".to_owned(), Value::Object(contact))]);
        Ok(ActionResult::ok(format!("remembered: {}", changed.join(", ")))
            .effect(RequestedChange::MergeEntityMetadata { entity: speaker, metadata }))
    }
}

/// Also stores a detail as a fact of this room, so that it is shown in this room only. The id is
/// derived from agent, speaker, room and key, so a repeated turn stores it once.
async fn keep(known: &Known, turn: &Turn<'_>, key: &str, value: &str) -> Result<()> {
    let (agent, speaker, room) = (turn.agent.identity.id(), turn.message.entity_id, turn.room.id);
    let id = MemoryId(uuid_of(&format!("contact:{agent}:{speaker}:{room}:{}", key.to_lowercase())));
    if value.is_empty() {
        turn.store.delete_memories(agent, &[id]).await?;
        return Ok(());
    }
    known.learn(turn);
    let content = Content::text(format!("{key}: {value}"));
    if turn.store.update_content(agent, id, &content).await? {
        return Ok(());
    }
    let many = turn
        .store
        .count_memories(&MemoryQuery {
            entity: Some(speaker),
            ..MemoryQuery::new(agent, 1).room(room).kind(MemoryKind::Facts)
        })
        .await?;
    if many >= 4 * u64::try_from(MOST).unwrap_or(u64::MAX) {
        return Ok(());
    }
    let metadata = Map::from_iter([
        ("type".to_owned(), json!("fact")),
        ("trust".to_owned(), json!("untrusted")),
        ("key".to_owned(), json!(key)),
    ]);
    let memory = Memory {
        id,
        kind: MemoryKind::Facts,
        agent_id: agent,
        entity_id: speaker,
        room_id: room,
        world_id: Some(turn.room.world_id),
        content,
        metadata,
        created_at: turn.now(),
    };
    turn.store.save_memories(&[memory]).await
}
