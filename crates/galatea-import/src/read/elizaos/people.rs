//! The people of a dump: their names, and the rooms in which they take part. They are read before the
//! memories, since `pg_dump` writes tables in the order of their names.

use galatea_core::{AgentId, EntityId, RoomId};
use std::collections::HashMap;

use super::dump::{Parsed, Row};

/// Names and rooms of the people whom an agent knows.
#[derive(Debug, Default)]
pub(super) struct People {
    names: HashMap<EntityId, Vec<String>>,
    rooms: HashMap<RoomId, Vec<EntityId>>,
}

impl People {
    /// Those in these rows. What cannot be read is reported when it is imported.
    pub(super) fn of(rows: impl Iterator<Item = Parsed<Row>>, agent: AgentId) -> Self {
        let mut people = Self::default();
        for row in rows.flatten() {
            if row.id::<AgentId>("agent_id").is_some_and(|id| id != agent) {
                continue;
            }
            match row.table.as_str() {
                "entities" => {
                    if let Some(id) = row.id("id") {
                        people.names.insert(id, row.list("names"));
                    }
                }
                "participants" => {
                    if let (Some(entity), Some(room)) = (row.id("entity_id"), row.id("room_id")) {
                        people.rooms.entry(room).or_default().push(entity);
                    }
                }
                _ => {}
            }
        }
        people
    }

    /// The name to show for a person: the first one.
    pub(super) fn name(&self, entity: EntityId) -> Option<&str> {
        self.names.get(&entity)?.iter().map(String::as_str).find(|name| !name.trim().is_empty())
    }

    /// The participant of a room whom a fact names at its beginning.
    pub(super) fn subject(&self, room: RoomId, fact: &str) -> Option<EntityId> {
        let there = self.rooms.get(&room)?;
        let names = |entity: &EntityId| Some((*entity, self.names.get(entity)?.as_slice()));
        named_first(fact, there.iter().filter_map(names))
    }
}

/// The person whose name stands at the beginning of a text. Of several the longest name counts; `None`
/// if two people have it.
fn named_first<'a>(
    text: &str,
    people: impl Iterator<Item = (EntityId, &'a [String])>,
) -> Option<EntityId> {
    let mut best: Option<(usize, Option<EntityId>)> = None;
    for (entity, names) in people {
        let Some(length) = names.iter().filter_map(|name| begins(text, name)).max() else {
            continue;
        };
        best = match best {
            Some((longest, found)) if longest == length => {
                Some((longest, found.filter(|found| *found == entity)))
            }
            Some((longest, found)) if longest > length => Some((longest, found)),
            _ => Some((length, Some(entity))),
        };
    }
    best?.1
}

/// The number of characters of a name, if a text begins with it as a whole word.
fn begins(text: &str, name: &str) -> Option<usize> {
    let lower = |c: char| c.to_lowercase().collect::<String>();
    let plain = |text: &str| text.trim_start().trim_start_matches('@').to_owned();
    let (text, name) = (plain(text), plain(name.trim_end()));
    let mut rest = text.chars();
    let mut length = 0;
    for expected in name.chars() {
        if lower(rest.next()?) != lower(expected) {
            return None;
        }
        length += 1;
    }
    let goes_on = rest.next().is_some_and(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
    (length > 0 && !goes_on).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_person_named_at_the_beginning_is_found() {
        let who =
            |n: u32| -> EntityId { format!("00000000-0000-4000-8000-{n:012}").parse().unwrap() };
        let names: Vec<(EntityId, Vec<String>)> = [
            (1, vec!["Ann Lee", "ann"]),
            (2, vec!["Bob"]),
            (3, vec!["Ann Lee Brown", ""]),
            (4, vec!["Max"]),
            (5, vec!["max"]),
        ]
        .into_iter()
        .map(|(n, names)| (who(n), names.into_iter().map(str::to_owned).collect()))
        .collect();
        let found = |text: &str| {
            named_first(text, names.iter().map(|(entity, names)| (*entity, names.as_slice())))
        };
        for (text, expected) in [
            ("Ann is allergic to walnuts", Some(1)),
            ("ann's gate PIN is 4711", Some(1)),
            ("@ann likes tea", Some(1)),
            ("Ann Lee rows", Some(1)),
            ("Ann Lee Brown rows", Some(3)),
            ("Bob", Some(2)),
            ("Max rows", None),
            ("Anna rows", None),
            ("Ann-Marie rows", None),
            ("The club likes Bob", None),
            ("", None),
        ] {
            assert_eq!(found(text), expected.map(who), "{text}");
        }
    }
}
