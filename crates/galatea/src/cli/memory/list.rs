//! `memory ls`, and how memories are named in lists.

use galatea_core::{Derived, EntityId, Memory, RoomId, Store};
use serde_json::{Value, json};
use std::{
    collections::{HashMap, hash_map::Entry},
    fmt::Write as _,
    process::ExitCode,
};

use super::select::Which;
use crate::{cli::audit::utc, context::Context, failure::Result};

/// Lines without `--limit`.
pub(super) const USUAL: u32 = 20;
/// Longest text in a list, in characters.
const SHORT: usize = 100;

/// Lists the newest.
pub(super) async fn list(
    store: &dyn Store,
    which: &Which,
    json: bool,
    context: &Context,
) -> Result<ExitCode> {
    let selection = which.select(store).await?;
    let limit = which.limit.unwrap_or(USUAL);
    let mut found = Vec::new();
    let mut query = selection.query(limit.max(100));
    // A name may belong to several people, of whom the query takes one.
    for memory in store.memories(&query).await? {
        if !selection.excludes(memory.entity_id) {
            found.push(memory);
        }
    }
    if selection.people.len() > 1 && found.len() < limit as usize {
        found.clear();
        for person in &selection.people {
            query.entity = Some(*person);
            found.extend(store.memories(&query).await?);
        }
        found.sort_by_key(|memory| std::cmp::Reverse(memory.created_at));
    }
    found.truncate(limit as usize);
    let ids: Vec<_> = found.iter().map(|memory| memory.id).collect();
    let derived = store.derived(selection.agent, &ids).await?;
    let names = Names::of(store, &found).await?;
    if json {
        let list: Vec<Value> = found.iter().map(|memory| shown(memory, &derived)).collect();
        context.output.json("galatea.memory.list/1", json!({ "memories": list }));
    } else if found.is_empty() {
        context.output.say("nothing is remembered that matches");
    } else {
        for memory in &found {
            let over = derived.iter().find(|d| d.memory.id == memory.id);
            let over = over.and_then(|derived| derived.valid_until);
            let until = over.map_or_else(String::new, |at| format!("  (until {})", utc(at)));
            context.output.row(2, &format!("{}{until}", names.line(memory)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn shown(memory: &Memory, derived: &[Derived]) -> Value {
    match derived.iter().find(|derived| derived.memory.id == memory.id) {
        Some(derived) => json!(derived),
        None => json!(memory),
    }
}

/// Names for the ids in a list.
pub(super) struct Names {
    rooms: HashMap<RoomId, String>,
    people: HashMap<EntityId, String>,
}

impl Names {
    pub(super) async fn of(store: &dyn Store, memories: &[Memory]) -> Result<Self> {
        let mut names = Self { rooms: HashMap::new(), people: HashMap::new() };
        let mut ids: Vec<EntityId> = memories.iter().map(|memory| memory.entity_id).collect();
        ids.sort_unstable();
        ids.dedup();
        for some in ids.chunks(500) {
            for entity in store.entities(some).await? {
                names.people.insert(entity.id, entity.display_name());
            }
        }
        for memory in memories {
            if let Entry::Vacant(unknown) = names.rooms.entry(memory.room_id) {
                let name = store.room(memory.room_id).await?.map(|room| {
                    if room.name.is_empty() { room.remote.to_string() } else { room.name }
                });
                unknown.insert(name.unwrap_or_else(|| memory.room_id.to_string()));
            }
        }
        Ok(names)
    }

    /// Who said it, or whom it is about.
    pub(super) fn person(&self, memory: &Memory) -> String {
        let named = memory.metadata.get("entityName").and_then(Value::as_str);
        named
            .map(str::to_owned)
            .or_else(|| self.people.get(&memory.entity_id).cloned())
            .unwrap_or_else(|| memory.entity_id.to_string())
    }

    pub(super) fn room(&self, memory: &Memory) -> String {
        self.rooms.get(&memory.room_id).cloned().unwrap_or_else(|| memory.room_id.to_string())
    }

    /// One line: id, kind, time, room, person, text.
    pub(super) fn line(&self, memory: &Memory) -> String {
        let text = galatea_core::visible::one_line(&memory.content.text);
        let mut line = format!(
            "{}  {}  {}  {}  {}: ",
            memory.id,
            memory.kind.as_str(),
            utc(memory.created_at),
            galatea_core::visible::one_line(&self.room(memory)),
            galatea_core::visible::one_line(&self.person(memory)),
        );
        let end = text.char_indices().nth(SHORT).map_or(text.len(), |(at, _)| at);
        let more = if end < text.len() { "…" } else { "" };
        let _ = write!(line, "{}{more}", text.get(..end).unwrap_or(&text));
        line
    }
}
