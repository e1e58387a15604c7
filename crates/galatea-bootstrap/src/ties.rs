//! Reads and writes the metadata of relationships: `interactions` counts them, `rooms` stores the
//! tags learnt in each room.

use galatea_core::{Relationship, RoomId};
use serde_json::{Map, Value, json};

/// Maximum number of tags and of rooms stored for one relationship.
const MOST_TAGS: usize = 20;
const MOST_ROOMS: usize = 50;

/// Number of times that two entities were found to be connected.
pub(crate) fn interactions(tie: &Relationship) -> u64 {
    tie.metadata.get("interactions").and_then(Value::as_u64).unwrap_or(0)
}

/// The tags learnt in this room. `None` if the relationship was learnt in other rooms only.
pub(crate) fn tags_in(tie: &Relationship, room: RoomId) -> Option<Vec<String>> {
    let tags = tie.metadata.get("rooms")?.get(room.to_string())?.as_array()?;
    Some(tags.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

/// Counts one more interaction and stores its tags for this room.
pub(crate) fn note(tie: &mut Relationship, room: RoomId, tags: impl Iterator<Item = String>) {
    let met = interactions(tie).saturating_add(1);
    tie.metadata.insert("interactions".into(), json!(met));
    let mut rooms: Map<String, Value> =
        tie.metadata.get("rooms").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut here = tags_in(tie, room).unwrap_or_default();
    for tag in tags {
        if !here.contains(&tag) && here.len() < MOST_TAGS {
            here.push(tag.clone());
        }
        if !tie.tags.contains(&tag) && tie.tags.len() < MOST_TAGS {
            tie.tags.push(tag);
        }
    }
    if rooms.len() < MOST_ROOMS || rooms.contains_key(&room.to_string()) {
        rooms.insert(room.to_string(), json!(here));
    }
    tie.metadata.insert("rooms".into(), Value::Object(rooms));
}
