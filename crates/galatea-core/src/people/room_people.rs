//! The people of a Room, for lists and names in prompts.

use crate::{
    entity::Entity,
    ids::EntityId,
    people::shown_name::{display, skeleton},
};

/// People that are known by name. Their names take some 40 KiB.
const MOST: usize = 500;

/// The people of a Room who have a name, without the agent. Read before a turn, so that all parts of a
/// prompt name the same people in the same way.
#[derive(Debug, Clone, Default)]
pub struct RoomPeople {
    people: Vec<RoomPerson>,
    /// Names that read alike, each with its person, in order.
    alike: Vec<(String, EntityId)>,
    count: usize,
}

#[derive(Debug, Clone)]
struct RoomPerson {
    id: EntityId,
    shown: String,
    handle: Option<String>,
}

impl RoomPeople {
    /// The first 500 of these who have a name, and how many have one. A person who had everything
    /// deleted has none.
    pub fn new(agent: EntityId, entities: &[Entity]) -> Self {
        let named = |entity: &&Entity| {
            entity.id != agent && entity.names.iter().any(|name| !name.is_empty())
        };
        let count = entities.iter().filter(named).count();
        let people: Vec<RoomPerson> = entities
            .iter()
            .filter(named)
            .take(MOST)
            .map(|entity| RoomPerson {
                id: entity.id,
                shown: display(&entity.display_name()),
                handle: entity.called().nth(1).map(|(_, name)| display(name)),
            })
            .collect();
        let key = |person: &RoomPerson| (skeleton(&person.shown), person.id);
        let mut alike: Vec<_> = people.iter().map(key).collect();
        alike.sort_unstable();
        Self { people, alike, count }
    }

    /// Each person with the name to show, in a fixed order.
    pub fn named(&self) -> impl Iterator<Item = (EntityId, &str)> {
        self.people.iter().map(|person| (person.id, person.shown.as_str()))
    }

    /// The names by which others ask for them now: what is shown, and the handle.
    pub fn called(&self) -> impl Iterator<Item = (EntityId, &str)> {
        self.people.iter().flat_map(|person| {
            let names = [Some(&person.shown), person.handle.as_ref()];
            names.into_iter().flatten().map(|name| (person.id, name.as_str()))
        })
    }

    /// Number of the Room's people that have a name.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The name to show of one person.
    pub(crate) fn name(&self, person: EntityId) -> Option<&str> {
        self.named().find(|(id, _)| *id == person).map(|(_, name)| name)
    }

    /// True if another person of the Room has a name that reads like this one (as [`skeleton`] gives
    /// it).
    pub(crate) fn has_namesake(&self, person: EntityId, key: &str) -> bool {
        let from = self.alike.partition_point(|(other, _)| other.as_str() < key);
        self.alike[from..].iter().take_while(|(other, _)| other == key).any(|(_, id)| *id != person)
    }
}
