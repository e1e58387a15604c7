//! People who are talked about before they have written themselves. They have no account, so their id
//! is made of the World and the name. As soon as exactly one known person has the name, what was said
//! under it is about that person. Nothing of this is stored: a name is no proof, and it can change.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    fact::Origin,
    ids::{AgentIdentity, EntityId, WorldId},
    memory::Memory,
    shown_name::{display, skeleton},
};

/// The id of a person of whom only the name is known.
pub fn id(identity: &AgentIdentity, world: WorldId, name: &str) -> EntityId {
    EntityId(identity.swizzle(&format!("someone:{world}:{}", comparable(&display(name)))))
}

/// Letters and digits of a name, in lower case.
pub fn comparable(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Whom the names of a World mean, as far as its people are known.
#[derive(Debug)]
pub struct Mentioned<'a> {
    identity: &'a AgentIdentity,
    world: WorldId,
    /// The people of names that read alike, each with the name as it is compared.
    people: BTreeMap<String, BTreeSet<(EntityId, String)>>,
}

impl<'a> Mentioned<'a> {
    /// Knows these people of a World by these names, as [`display`] gives them. A person may have
    /// several. People who are only
    /// talked about may be among them, under their own names.
    pub fn new<'n>(
        identity: &'a AgentIdentity,
        world: WorldId,
        people: impl IntoIterator<Item = (EntityId, &'n str)>,
    ) -> Self {
        let mut alike: BTreeMap<String, BTreeSet<(EntityId, String)>> = BTreeMap::new();
        for (person, name) in people {
            alike.entry(skeleton(name)).or_default().insert((person, comparable(name)));
        }
        Self { identity, world, people: alike }
    }

    /// Whom a fact is about: the only person of the name if only the name was known, otherwise the
    /// person it was stored with. Its author talked about another person, so it stays apart from the
    /// author, also if the author takes the name later.
    pub fn subject(&self, fact: &Memory) -> EntityId {
        let stored = fact.entity_id;
        let origin = Origin::of(fact);
        let name = display(&origin.subject_name);
        let Some(person) = self.only(stored, &skeleton(&name), &comparable(&name)) else {
            return stored;
        };
        let by_name = fact.world_id == Some(self.world) && self.id(&name) == stored;
        if by_name && origin.said_by != Some(person) { person } else { stored }
    }

    /// The ids under which facts about a person were stored while only the name was known.
    pub fn ids(&self, person: EntityId) -> Vec<EntityId> {
        let names = self.people.iter().flat_map(|(key, alike)| {
            let own = alike.iter().filter(move |(entity, _)| *entity == person);
            own.map(move |(_, name)| (key, name))
        });
        names
            .filter(|(_, name)| !name.is_empty())
            .map(|(key, name)| (key, name, self.id(name)))
            .filter(|(key, name, id)| self.only(*id, key, name) == Some(person))
            .map(|(_, _, id)| id)
            .collect()
    }

    fn id(&self, name: &str) -> EntityId {
        id(self.identity, self.world, name)
    }

    /// The only person, beside the one that is only talked about, whose name reads like this one; none
    /// if the name is another one that reads alike.
    fn only(&self, mentioned: EntityId, key: &str, name: &str) -> Option<EntityId> {
        let alike = self.people.get(key)?.iter().filter(|(person, _)| *person != mentioned);
        let people: BTreeSet<EntityId> = alike.clone().map(|(person, _)| *person).collect();
        let is_equal = alike.clone().any(|(_, known)| known == name);
        people.first().copied().filter(|_| people.len() == 1 && is_equal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        content::Content,
        ids::{MemoryId, RoomId},
        memory::MemoryKind,
    };
    use uuid::Uuid;

    fn who(n: u128) -> EntityId {
        EntityId(Uuid::from_u128(n))
    }

    /// What this person said of a person of this name.
    fn hearsay(identity: &AgentIdentity, world: WorldId, name: &str, by: EntityId) -> Memory {
        let origin = Origin {
            said_by: Some(by),
            said_by_name: "Ben".to_owned(),
            subject_name: name.to_owned(),
        };
        let subject = id(identity, world, name);
        Memory {
            id: MemoryId::fresh(),
            kind: MemoryKind::Facts,
            agent_id: identity.id(),
            entity_id: subject,
            room_id: RoomId(Uuid::from_u128(5)),
            world_id: Some(world),
            content: Content::text("Cleo is a harbour pilot."),
            metadata: origin.metadata(subject),
            created_at: crate::Timestamp(0),
        }
    }

    #[test]
    fn a_name_means_the_only_known_person_of_that_name_and_never_the_author() {
        let identity = AgentIdentity::new(None, "Juniper");
        let (world, other) = (WorldId(Uuid::from_u128(1)), WorldId(Uuid::from_u128(2)));
        let (cleo, ben, third) = (who(1), who(2), who(3));
        let fact = hearsay(&identity, world, "Cleo", ben);
        let ghost = fact.entity_id;
        for (people, expected, why) in [
            (vec![(ben, "Ben")], ghost, "no person of the name"),
            (vec![(ben, "Ben"), (cleo, "CLEO")], cleo, "one"),
            (vec![(ghost, "Cleo"), (cleo, "Cleo Smith"), (cleo, "cleo")], cleo, "her handle"),
            (vec![(cleo, "Cleo"), (third, "Cleo")], ghost, "two"),
            (vec![(cleo, "Cleo"), (third, "Сleo")], ghost, "two that read alike"),
            (vec![(third, "Сleo")], ghost, "one letter is Cyrillic"),
            (vec![(ben, "Cleo")], ghost, "the author took the name"),
        ] {
            let mentioned = Mentioned::new(&identity, world, people);
            assert_eq!(mentioned.subject(&fact), expected, "{why}");
            let asked = mentioned.ids(cleo);
            assert_eq!(asked.contains(&ghost), expected == cleo, "{why}: {asked:?}");
        }
        let elsewhere = Mentioned::new(&identity, other, [(cleo, "Cleo")]);
        assert_eq!(elsewhere.subject(&fact), ghost, "another World");
        // What is known of a person with an account belongs to the account.
        let own = Memory { entity_id: third, ..fact };
        assert_eq!(Mentioned::new(&identity, world, [(cleo, "Cleo")]).subject(&own), third);
    }
}
