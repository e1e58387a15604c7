//! UPDATE_CONTACT: stores details that the speaker gives about themselves.

use async_trait::async_trait;
use galatea_core::{
    Action, ActionDocs, ActionResult, Content, Derived, Memory, MemoryId, MemoryKind, Result,
    Speakers, Turn,
    fact::{self, Origin},
    ids::uuid_of,
    rights::Scope,
    store::{DerivedChange, MemoryQuery, RequestedChange},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use crate::{learning_cache::LearningCache, words};

pub(crate) struct UpdateContact(pub(crate) Arc<LearningCache>);

/// Limits: details per call, details per person, graphemes per detail.
const PER_CALL: usize = 20;
const MOST: usize = 50;
const LONGEST: usize = 300;

/// What to remember.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ContactParams {
    /// Such as {"city": "Lisbon"}; an empty text forgets.
    details: BTreeMap<String, String>,
}

#[async_trait]
impl Action for UpdateContact {
    const NAME: &'static str = "UPDATE_CONTACT";
    const SIDE_EFFECT: bool = true;
    const SCOPE: Scope = Scope::Speaker;
    type Params = ContactParams;
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
        params: ContactParams,
        _: &[ActionResult],
    ) -> Result<ActionResult> {
        let speaker = turn.message.entity_id;
        if turn.merged.iter().any(|m| m.entity_id != speaker) {
            return Ok(ActionResult::failed(
                "several people spoke at once; ask whose details these are",
            )
            .own());
        }
        let known = turn.store.entities(&[speaker]).await?;
        let known =
            known.first().and_then(|e| e.metadata.get("contact")).and_then(Value::as_object);
        let mut contact = known.cloned().unwrap_or_default();
        let said = speaker_words(turn);
        let (mut noted, mut forgotten) = (Vec::new(), Vec::new());
        for (key, value) in params.details.iter().take(PER_CALL) {
            let (key, value) = (words::name(key), words::line(value, LONGEST));
            if key.is_empty() {
                continue;
            }
            if value.is_empty() {
                contact.remove(&key);
            } else if !is_said(&said, &value) {
                continue;
            } else if contact.len() < MOST || contact.contains_key(&key) {
                contact.insert(key.clone(), Value::String(value.clone()));
            } else {
                continue;
            }
            keep(&self.0, turn, &key, &value).await?;
            if value.is_empty() { &mut forgotten } else { &mut noted }.push(words::spoken(&key));
        }
        if noted.is_empty() && forgotten.is_empty() {
            return Ok(ActionResult::failed(
                "there is nothing to remember: the speaker has not said it here, or too much is remembered already",
            ).own());
        }
        // Stored under a separate key, so that people's own statements never overwrite data of the
        // platform.
        let metadata = Map::from_iter([("contact".to_owned(), Value::Object(contact))]);
        Ok(ActionResult::ok(done(&noted, &forgotten))
            .own()
            .effect(RequestedChange::MergeEntityMetadata { entity: speaker, metadata }))
    }
}

/// Reports the change in sentences that stay right when a model repeats them to the speaker.
fn done(noted: &[String], forgotten: &[String]) -> String {
    [("noted", noted), ("forgot", forgotten)]
        .into_iter()
        .filter(|(_, keys)| !keys.is_empty())
        .map(|(verb, keys)| format!("I {verb} your {}.", keys.join(" and your ")))
        .collect::<Vec<_>>()
        .join(" ")
}

/// The words of the speaker's messages that the prompt shows.
fn speaker_words(turn: &Turn<'_>) -> HashSet<String> {
    let speaker = turn.message.entity_id;
    let shown = turn.recent.iter().map(AsRef::as_ref).chain(turn.merged).chain([turn.message]);
    let own = shown.filter(|memory| memory.entity_id == speaker);
    own.flat_map(|memory| words_of(&memory.content.text)).collect()
}

/// True if the speaker said it: at least half of its words. Text that the prompt holds of others,
/// remembered text among it, must not be stored as the speaker's own.
fn is_said(said: &HashSet<String>, value: &str) -> bool {
    let (mut all, mut known) = (0, 0);
    for word in words_of(value) {
        all += 1;
        known += usize::from(said.contains(&word));
    }
    all == 0 || known * 2 >= all
}

fn words_of(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

/// Also stores a detail as a fact, which is shown where the room allows. The id is derived from
/// agent, speaker, room and key, so a repeated turn stores it once.
async fn keep(cache: &LearningCache, turn: &Turn<'_>, key: &str, value: &str) -> Result<()> {
    let (agent, speaker, room) = (turn.agent.identity.id(), turn.message.entity_id, turn.room.id);
    let id = MemoryId(uuid_of(&format!("contact:{agent}:{speaker}:{room}:{}", key.to_lowercase())));
    if value.is_empty() {
        turn.store.delete_memories(agent, &[id]).await?;
        return Ok(());
    }
    cache.learn(turn);
    let content = Content::text(format!("{key}: {value}"));
    let source = turn.message.id;
    if turn.store.update_content(agent, id, &content).await? {
        let change = DerivedChange {
            confirmed: vec![(id, source)],
            restored: vec![id],
            ..DerivedChange::default()
        };
        return turn.store.change_derived(agent, &change).await.map(drop);
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
    let name = Speakers::of(turn).name(speaker);
    let origin = Origin { said_by: Some(speaker), said_by_name: name.clone(), subject_name: name };
    let mut metadata = origin.metadata(speaker);
    metadata.insert("key".to_owned(), json!(key));
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
    let new = vec![Derived::new(memory, fact::scope(turn.room, speaker, speaker), vec![source])];
    let change = DerivedChange { new, ..DerivedChange::default() };
    turn.store.change_derived(agent, &change).await.map(drop)
}
