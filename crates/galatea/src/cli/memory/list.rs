//! `memory ls`, and how memories are named in lists.

use galatea_core::{Derived, EntityId, Memory, RoomId, Store, visible::one_line};
use serde_json::{Value, json};
use std::{
    collections::{HashMap, hash_map::Entry},
    process::ExitCode,
};

use super::select::{Which, clipped};
use crate::{cli::audit::utc, context::Context, report::failure::Result};

/// Lines without `--limit`.
pub(super) const USUAL: u32 = 20;
/// Longest text in a list, in characters.
const SHORT: usize = 100;
/// Longest name, in characters. Telegram's have 128 at most, Discord's 100.
const NAME: usize = 128;

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

    /// Who said it, or whom it is about: one line that a terminal can show.
    pub(super) fn person(&self, memory: &Memory) -> String {
        let named = memory.metadata.get("entityName").and_then(Value::as_str);
        let name = named
            .map(str::to_owned)
            .or_else(|| self.people.get(&memory.entity_id).cloned())
            .unwrap_or_else(|| memory.entity_id.to_string());
        clipped(&one_line(&name), NAME)
    }

    /// The room's name in one line that a terminal can show.
    pub(super) fn room(&self, memory: &Memory) -> String {
        let name = self.rooms.get(&memory.room_id).cloned();
        clipped(&one_line(&name.unwrap_or_else(|| memory.room_id.to_string())), NAME)
    }

    /// One line: id, kind, time, room, person, text.
    pub(super) fn line(&self, memory: &Memory) -> String {
        format!(
            "{}  {}  {}  {}  {}: {}",
            memory.id,
            one_line(memory.kind.as_str()),
            utc(memory.created_at),
            self.room(memory),
            self.person(memory),
            clipped(&one_line(&memory.content.text), SHORT),
        )
    }

    /// Names as they are stored, for tests.
    #[cfg(test)]
    pub(super) fn given(memory: &Memory, person: &str, room: &str) -> Self {
        Self {
            rooms: [(memory.room_id, room.to_owned())].into(),
            people: [(memory.entity_id, person.to_owned())].into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::{AgentId, Content, MemoryId, MemoryKind, Timestamp};

    #[test]
    fn a_name_is_clipped_and_has_no_escapes() {
        let memory = Memory {
            id: MemoryId::fresh(),
            kind: MemoryKind::Messages,
            agent_id: AgentId::fresh(),
            entity_id: EntityId::fresh(),
            room_id: RoomId::fresh(),
            world_id: None,
            content: Content::text("hi\nthere"),
            metadata: serde_json::Map::new(),
            created_at: Timestamp(0),
        };
        let long = "N".repeat(1_000_000);
        let names = Names::given(&memory, &long, "ro\u{1b}[2Jom\nb");
        let line = names.line(&memory);
        assert!(line.len() < 400 && line.contains("NN…: hi there"), "{line}");
        assert!(line.contains("ro[2Jom b") && !line.contains('\u{1b}'), "{line}");
    }
}
