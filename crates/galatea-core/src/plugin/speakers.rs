//! Names of a conversation's speakers in prompts. Two people of one name get different
//! names, and no person gets the agent's name.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter,
};

use crate::{
    ids::EntityId,
    memory::Memory,
    people::{room_people::RoomPeople, shown_name::skeleton},
    turn::Turn,
};

pub use crate::people::shown_name::display;

/// Key of a memory's metadata: the name under which its author is shown.
pub const ENTITY_NAME: &str = "entityName";
/// Names that mean something else to models: the roles of their conversations.
const ROLES: [&str; 8] =
    ["system", "assistant", "user", "developer", "tool", "human", "ai", "model"];

/// Names of a conversation's people.
#[derive(Debug, Clone, Default)]
pub struct Speakers {
    names: BTreeMap<EntityId, String>,
}

/// A name and its [`skeleton`]. Both are empty while no name is known.
#[derive(Default)]
struct Name {
    shown: String,
    key: String,
}

impl Name {
    fn of(shown: String) -> Self {
        Self { key: skeleton(&shown), shown }
    }
}

impl Speakers {
    /// Names of these people, who speak beside the agent. The first name of each counts.
    pub fn new<'a>(
        agent: &str,
        people: impl IntoIterator<Item = (EntityId, Option<&'a str>)>,
    ) -> Self {
        let people = people.into_iter().map(|(entity, name)| (entity, move || name));
        Self::named(agent, &RoomPeople::default(), people, iter::empty())
    }

    /// Names of the people who wrote these messages. The name in the first message of each counts.
    pub fn of_messages<'a>(agent: &str, messages: impl IntoIterator<Item = &'a Memory>) -> Self {
        let people = messages.into_iter().map(|memory| (memory.entity_id, || name_in(memory)));
        Self::named(agent, &RoomPeople::default(), people, iter::empty())
    }

    /// Names of the authors of a turn's messages in its prompt.
    pub fn of(turn: &Turn<'_>) -> Self {
        Self::beside(turn, iter::empty())
    }

    /// Names of these people in the prompt of a turn. The speakers of the conversation and the
    /// people of the Room have the same name in each part of a prompt; the others that it names do not
    /// change that. The agent has its own name.
    pub fn beside<'a>(
        turn: &Turn<'_>,
        others: impl IntoIterator<Item = (EntityId, Option<&'a str>)>,
    ) -> Self {
        let own = turn.agent.identity.entity();
        // The newest first: the latest name of a person counts.
        let said = iter::once(turn.message)
            .chain(turn.merged.iter().rev())
            .chain(turn.recent.iter().rev().map(AsRef::as_ref))
            .filter(|memory| memory.entity_id != own)
            .map(|memory| (memory.entity_id, || name_in(memory)));
        let others = others.into_iter().filter(|(entity, _)| *entity != own);
        let agent = &turn.agent.character.name;
        let mut speakers = Self::named(agent, turn.people, said, others);
        speakers.names.insert(own, display(agent));
        speakers
    }

    /// `speaking` and the Room decide about each other's suffixes; `others` get one beside them. Asks
    /// for a name only if none is known yet.
    fn named<'a, 'b, N: FnOnce() -> Option<&'a str>>(
        agent: &str,
        room: &RoomPeople,
        speaking: impl Iterator<Item = (EntityId, N)>,
        others: impl IntoIterator<Item = (EntityId, Option<&'b str>)>,
    ) -> Self {
        let agent = skeleton(&display(agent));
        let here = first_names(speaking, |_| true);
        let taken = by_key(&here);
        let is_shared = |entity: EntityId, key: &str, taken: &ByKey| {
            key == agent
                || ROLES.contains(&key)
                || taken.get(key).is_some_and(|all| all.iter().any(|other| *other != entity))
                || room.has_namesake(entity, key)
        };
        let mut names: BTreeMap<EntityId, String> = here
            .iter()
            .map(|(entity, name)| {
                (*entity, told_apart(*entity, &name.shown, is_shared(*entity, &name.key, &taken)))
            })
            .collect();
        let others = others.into_iter().map(|(entity, name)| (entity, move || name));
        let others = first_names(others, |entity| !names.contains_key(&entity));
        let beside = by_key(&others);
        for (entity, name) in &others {
            let told = match room.name(*entity) {
                Some(known) => {
                    told_apart(*entity, known, is_shared(*entity, &skeleton(known), &taken))
                }
                None => {
                    let shared = is_shared(*entity, &name.key, &taken)
                        || is_shared(*entity, &name.key, &beside);
                    told_apart(*entity, &name.shown, shared)
                }
            };
            names.insert(*entity, told);
        }
        Self { names }
    }

    /// The name of a person: one line without the marks of prompts ([`display`]), except for the
    /// suffix that distinguishes two people of one name.
    pub fn name(&self, entity: EntityId) -> String {
        self.names.get(&entity).cloned().unwrap_or_else(|| format!("someone {}", suffix(entity)))
    }

    /// The name under which a prompt shows the author of a memory.
    pub fn of_memory(&self, memory: &Memory) -> String {
        self.name(memory.entity_id)
    }

    /// The name for a provider's `name` field: 1 to 64 of `a-zA-Z0-9_-`, different for different
    /// people.
    pub fn field(&self, entity: EntityId) -> String {
        let mut field = String::new();
        for c in self.name(entity).chars() {
            match c {
                'a'..='z' | 'A'..='Z' | '0'..='9' | '-' => field.push(c),
                _ if !field.is_empty() && !field.ends_with('_') => field.push('_'),
                _ => {}
            }
        }
        field.truncate(48);
        let field = field.trim_matches('_');
        // Letters that the field cannot show leave others' names alike.
        let whole = self.names.get(&entity).is_some_and(|name| name.is_ascii() && name.len() <= 48);
        match (field.is_empty(), whole) {
            (true, _) => format!("person_{}", &suffix(entity)[1..]),
            (false, true) => field.to_owned(),
            (false, false) => format!("{field}_{}", &suffix(entity)[1..]),
        }
    }
}

/// The name a message was said under.
pub fn name_in(memory: &Memory) -> Option<&str> {
    // Metadata have a few keys: to compare them takes less time than to hash one.
    memory.metadata.iter().find(|(key, _)| *key == ENTITY_NAME)?.1.as_str()
}

/// Four digits of an id: few enough to read, enough to tell some people of one name apart.
fn suffix(entity: EntityId) -> String {
    // Its last digits: the first ones of an id of version 7 are a time.
    format!("#{:04x}", entity.0.as_u128() & 0xffff)
}

/// The people of a conversation who have names that read alike.
type ByKey = BTreeMap<String, BTreeSet<EntityId>>;

fn by_key(names: &BTreeMap<EntityId, Name>) -> ByKey {
    let mut by_key = ByKey::new();
    for (entity, name) in names {
        by_key.entry(name.key.clone()).or_default().insert(*entity);
    }
    by_key
}

/// The first name of each person that is not empty.
fn first_names<'a, N: FnOnce() -> Option<&'a str>>(
    people: impl Iterator<Item = (EntityId, N)>,
    counts: impl Fn(EntityId) -> bool,
) -> BTreeMap<EntityId, Name> {
    let mut names: BTreeMap<EntityId, Name> = BTreeMap::new();
    for (entity, name) in people.filter(|(entity, _)| counts(*entity)) {
        let known = names.entry(entity).or_default();
        if known.shown.is_empty()
            && let Some(name) = name().map(display).filter(|name| !name.is_empty())
        {
            *known = Name::of(name);
        }
    }
    names
}

fn told_apart(entity: EntityId, name: &str, shared: bool) -> String {
    match (name.is_empty(), shared) {
        (true, _) => format!("someone {}", suffix(entity)),
        (false, true) => format!("{name} {}", suffix(entity)),
        (false, false) => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::Entity;
    use proptest::prelude::*;
    use serde_json::Map;
    use uuid::Uuid;

    fn who(n: u128) -> EntityId {
        EntityId(Uuid::from_u128(n))
    }

    #[test]
    fn people_of_one_name_are_distinguished() {
        let speakers = Speakers::new(
            "Eliza",
            [
                (who(1), Some("Maria")),
                (who(2), Some("MARIA ")),
                (who(3), Some("Bob")),
                (who(4), Some("Маria")),
            ],
        );
        assert_eq!(speakers.name(who(1)), "Maria #0001");
        assert_eq!(speakers.name(who(2)), "MARIA #0002");
        assert_eq!(speakers.name(who(4)), "Маria #0004", "two letters of it are Cyrillic");
        assert_eq!(speakers.name(who(3)), "Bob");
        assert_eq!(speakers.name(who(9)), "someone #0009");
        assert_eq!(speakers.field(who(1)), "Maria_0001");
        assert_eq!(speakers.field(who(4)), "ria_0004_0004");
    }

    #[test]
    fn no_person_is_shown_under_the_agents_name_or_a_role() {
        let speakers = Speakers::new(
            "Eliza",
            [
                (who(1), Some("eliza")),
                (who(2), Some("System")),
                (who(3), None),
                (who(4), Some("\u{202e}\n")),
            ],
        );
        assert_eq!(speakers.name(who(1)), "eliza #0001");
        assert_eq!(speakers.name(who(2)), "System #0002");
        assert_eq!(
            (speakers.name(who(3)), speakers.name(who(4))),
            ("someone #0003".into(), "someone #0004".into())
        );
        assert_eq!(speakers.field(who(3)), "someone_0003");
    }

    #[test]
    fn a_namesake_in_the_room_counts_though_silent_and_one_elsewhere_does_not() {
        let entity = |n: u128, name: &str| Entity {
            id: who(n),
            agent_id: who(99).0.into(),
            names: vec![name.to_owned()],
            metadata: Map::new(),
        };
        let room = RoomPeople::new(
            who(99),
            &[
                entity(1, "Sam"),
                entity(2, "sam"),
                entity(3, "Ann"),
                entity(4, ""),
                entity(99, "Eliza"),
            ],
        );
        assert_eq!(
            (room.count(), room.named().count()),
            (3, 3),
            "one has no name, one is the agent"
        );
        let named = |others: &[(u128, &'static str)]| {
            let speaking = [(1, "Sam"), (3, "Ann")].map(|(n, name)| (who(n), move || Some(name)));
            let others = others.iter().map(|(n, name)| (who(*n), Some(*name)));
            Speakers::named("Eliza", &room, speaking.into_iter(), others)
        };
        assert_eq!(named(&[]).name(who(1)), "Sam #0001", "though the other Sam is silent");
        let beside = named(&[(2, "Samuel"), (5, "Ann"), (6, "Ben"), (7, "ben"), (8, "Eve")]);
        assert_eq!(beside.name(who(2)), "sam #0002", "as the room calls him now");
        assert_eq!((beside.name(who(3)), beside.name(who(5))), ("Ann".into(), "Ann #0005".into()));
        assert_eq!(
            (beside.name(who(6)), beside.name(who(7))),
            ("Ben #0006".into(), "ben #0007".into())
        );
        assert_eq!(beside.name(who(8)), "Eve");
    }

    proptest! {
        #[test]
        fn names_can_be_read_and_distinguished(names in prop::collection::vec(".{0,30}", 1..6)) {
            let speakers = Speakers::new("Eliza", names.iter().enumerate().map(|(n, name)| (who(n as u128 + 1), Some(name.as_str()))));
            let mut seen = BTreeSet::new();
            let mut fields = BTreeSet::new();
            for n in 1..=names.len() as u128 {
                let (name, field) = (speakers.name(who(n)), speakers.field(who(n)));
                prop_assert!(!name.is_empty() && !name.contains(['\n', ':', '[', ']', '(', ',', '"', '\u{2028}']), "{name:?}");
                prop_assert!(!field.is_empty() && field.len() <= 64 && field.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'), "{field:?}");
                prop_assert!(seen.insert(name.to_lowercase()), "{name:?} twice");
                fields.insert(field);
            }
            prop_assert_eq!(fields.len(), names.len());
        }
    }
}
