//! People who are talked about before they have written themselves. They have no account, so their id
//! is made of the World and the name. As soon as exactly one person of the World has the name, what was
//! said under it is about that person. Nothing of this is stored: a name is no proof, and it can change.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    entity::Entity,
    error::Result,
    fact::Origin,
    ids::{AgentIdentity, EntityId, WorldId},
    memory::Memory,
    people::shown_name::{display, skeleton},
    store::EntityStore,
};

/// People of a World whose names are compared. In a larger World a name means none of them, since
/// another person may have it. 5,000 rows are read in some 20 ms.
const MOST: u32 = 5_000;

/// The id of a person of whom only the name is known.
pub fn id(identity: &AgentIdentity, world: WorldId, name: &str) -> EntityId {
    EntityId(identity.swizzle(&format!("someone:{world}:{}", comparable(&display(name)))))
}

/// Letters and digits of a name, in lower case.
pub fn comparable(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// True if a fact of this World was stored under a name.
pub fn is_by_name(identity: &AgentIdentity, world: WorldId, fact: &Memory) -> bool {
    fact.world_id == Some(world)
        && id(identity, world, &Origin::of(fact).subject_name) == fact.entity_id
}

/// Whom the names of a World mean: those by which its people are called now. The same everywhere in
/// the World, so that prompts, lists and deletions agree.
#[derive(Debug, Default)]
pub struct Mentioned {
    /// The people of names that read alike, each with the name as it is compared.
    people: BTreeMap<String, BTreeSet<(EntityId, String)>>,
}

impl Mentioned {
    /// Reads the people of a World. Called where a fact was found that was stored under a name.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn read(store: &(impl EntityStore + ?Sized), world: WorldId) -> Result<Self> {
        let people = store.entities_in_world(world, MOST + 1).await?;
        Ok(if people.len() > MOST as usize { Self::default() } else { Self::new(&people) })
    }

    fn new(people: &[Entity]) -> Self {
        let mut alike: BTreeMap<String, BTreeSet<(EntityId, String)>> = BTreeMap::new();
        for (person, name) in people.iter().flat_map(Entity::called) {
            let name = display(name);
            alike.entry(skeleton(&name)).or_default().insert((person, comparable(&name)));
        }
        Self { people: alike }
    }

    /// Number of known names.
    pub fn count(&self) -> usize {
        self.people.len()
    }

    /// Whom a fact of this World that was stored under a name is about: the only person of the name,
    /// otherwise the one of whom only the name is known. Its author talked about another person, so it
    /// stays apart from the author, also if the author takes the name later.
    pub fn subject(&self, fact: &Memory) -> EntityId {
        let origin = Origin::of(fact);
        let person = self.only(&display(&origin.subject_name));
        person.filter(|person| origin.said_by != Some(*person)).unwrap_or(fact.entity_id)
    }

    /// The only person whose name reads like this one; none if the name is another one that reads
    /// alike.
    fn only(&self, name: &str) -> Option<EntityId> {
        let alike = self.people.get(&skeleton(name))?;
        let people: BTreeSet<EntityId> = alike.iter().map(|(person, _)| *person).collect();
        let name = comparable(name);
        let is_equal = alike.iter().any(|(_, known)| *known == name);
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

    fn called(id: EntityId, name: &str, handle: &str) -> Entity {
        let platform = serde_json::json!({ "id": "1", "name": name, "userName": handle });
        let metadata = [("telegram".to_owned(), platform)].into_iter().collect();
        let names = vec![name.to_owned(), "Cleo the elder".to_owned()];
        Entity { id, agent_id: who(0).0.into(), names, metadata }
    }

    #[test]
    fn a_name_means_the_only_known_person_of_that_name_and_never_the_author() {
        let identity = AgentIdentity::new(None, "Juniper");
        let (world, other) = (WorldId(Uuid::from_u128(1)), WorldId(Uuid::from_u128(2)));
        let (cleo, ben, third) = (who(1), who(2), who(3));
        let fact = hearsay(&identity, world, "Cleo", ben);
        let ghost = fact.entity_id;
        for (people, expected, why) in [
            (vec![called(ben, "Ben", "")], ghost, "no person of the name"),
            (vec![called(ben, "Ben", ""), called(cleo, "CLEO", "c")], cleo, "one"),
            (vec![called(cleo, "Cleo Smith", "cleo")], cleo, "her handle"),
            (vec![called(cleo, "Cleo", "cleo")], cleo, "one person by both names"),
            (vec![called(cleo, "Cleo", ""), called(third, "Cleo", "")], ghost, "two"),
            (
                vec![called(cleo, "Cleo", ""), called(third, "Сleo", "")],
                ghost,
                "two that read alike",
            ),
            (vec![called(third, "Сleo", "")], ghost, "one letter is Cyrillic"),
            (vec![called(ben, "Cleo", "")], ghost, "the author took the name"),
        ] {
            assert_eq!(Mentioned::new(&people).subject(&fact), expected, "{why}");
        }
        assert!(is_by_name(&identity, world, &fact));
        assert!(!is_by_name(&identity, other, &fact), "another World");
        // What is known of a person with an account belongs to the account.
        assert!(!is_by_name(&identity, world, &Memory { entity_id: third, ..fact }));
        let elder = hearsay(&identity, world, "Cleo the elder", ben);
        let known = Mentioned::new(&[called(cleo, "Cleo", "")]);
        assert_eq!(known.subject(&elder), elder.entity_id, "a name of the past");
        // The lower case of `İ` is `i` with a combining mark, which is not alphanumeric.
        let turkish = hearsay(&identity, world, "İbrahim", ben);
        let known = Mentioned::new(&[called(cleo, "İbrahim", "")]);
        assert!(is_by_name(&identity, world, &turkish));
        assert_eq!(known.subject(&turkish), cleo);
    }
}
