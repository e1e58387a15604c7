//! Imported rows that are stored together.

use galatea_core::{
    AgentId, Derived, EntityId, Memory, MemoryId, MemoryKind, Relationship, Result, RoomId, Store,
    fact::is_merged,
    kill_point,
    store::{DerivedChange, EntityChange, Ingest},
};
use galatea_runtime::history::is_forgotten;
use std::collections::{BTreeSet, HashMap, HashSet};

use crate::{Count, read::Item};

/// Most rows of one commit.
const STEP: usize = 500;

/// A memory that was made from others, with the line on which it stands.
pub(crate) struct Derivation {
    pub(super) row: Derived,
    pub(super) line: usize,
}

/// Rows of one commit.
#[derive(Default)]
pub(crate) struct Batch {
    rows: usize,
    pub(crate) ingest: Ingest,
    pub(crate) derived: DerivedChange,
    relationships: Vec<Relationship>,
    /// Its memories, each with the line on which it ends.
    lines: Vec<(MemoryId, usize)>,
    participants: HashSet<(EntityId, RoomId)>,
    /// People whose rows have neither names nor metadata.
    nameless: HashSet<EntityId>,
}

/// What an import left out so far, for all its commits.
#[derive(Default)]
pub(super) struct LeftOut {
    memories: HashSet<MemoryId>,
    /// What forgotten people wrote, and the agent's answers to it.
    of_forgotten: HashSet<MemoryId>,
    /// People whom the file itself does not name.
    nameless: HashSet<EntityId>,
}

impl LeftOut {
    fn has(&self, id: &MemoryId) -> bool {
        self.memories.contains(id) || self.of_forgotten.contains(id)
    }
}

impl Batch {
    /// Whether it holds as many rows as one commit takes.
    pub(super) fn is_full(&self) -> bool {
        self.rows >= STEP
    }

    /// Makes a person a participant of a Room, unless an earlier row of this batch did.
    fn add_participant(&mut self, entity: EntityId, room: RoomId) {
        if self.participants.insert((entity, room)) {
            self.ingest.connections.participants.push((entity, room));
        }
    }

    /// Adds a row that stands on this line.
    pub(crate) fn add(&mut self, line: usize, item: Item) {
        let change = &mut self.ingest.connections;
        match item {
            Item::World(world) => change.worlds.push(world),
            Item::Room(room) => change.rooms.push(room),
            Item::Person(person) => self.add_person(person),
            Item::Participant(person, room) => self.add_participant(person, room),
            Item::Relationship(tie) => self.relationships.push(tie),
            Item::Memory { row, takes_part, .. } => {
                return self.add_memory(line, *row, takes_part);
            }
            Item::Link(_) | Item::Task(_) | Item::Copy | Item::Other { .. } | Item::Nothing => {
                return;
            }
        }
        self.rows += 1;
    }

    fn add_memory(&mut self, line: usize, row: Derived, takes_part: bool) {
        let memory = &row.memory;
        let is_plain = row.sources.is_empty() && row.valid_until.is_none();
        let is_message = matches!(memory.kind, MemoryKind::Messages | MemoryKind::ActionResult)
            || is_plain && memory.kind == MemoryKind::Custom;
        if !is_message {
            return self.add_derivation(Derivation { row, line });
        }
        self.rows += 1;
        self.lines.push((memory.id, line));
        if takes_part {
            self.add_participant(memory.entity_id, memory.room_id);
        }
        self.ingest.memories.push(row.memory);
    }

    /// Adds a memory that was made from others.
    pub(super) fn add_derivation(&mut self, Derivation { row, line }: Derivation) {
        self.rows += 1;
        self.lines.push((row.memory.id, line));
        self.derived.new.push(row);
    }

    /// How many of these stored memories have another text here. They stay as they are.
    fn differing(&self, stored: &[Derived]) -> usize {
        let ours: HashMap<MemoryId, &str> =
            self.memories().map(|memory| (memory.id, memory.content.text.as_str())).collect();
        let differs = |row: &&Derived| {
            ours.get(&row.memory.id).is_some_and(|text| *text != row.memory.content.text)
        };
        stored.iter().filter(differs).count()
    }

    /// Adds a person's row. If it has no names, the exporting installation had forgotten the person or
    /// never knew a name. The messages in the file are then newer than that, and are imported.
    fn add_person(&mut self, person: EntityChange) {
        if person.names.is_empty() && person.metadata.is_empty() {
            self.nameless.insert(person.id);
        }
        self.ingest.connections.entities.push(person);
    }

    /// Leaves out what was deleted here, what people wrote who were forgotten, what was made from either,
    /// and relationships of these people; counts the memories.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) async fn leave_out_deleted(
        &mut self,
        store: &dyn Store,
        agent: AgentId,
        left_out: &mut LeftOut,
        count: &mut Count,
    ) -> Result<()> {
        left_out.nameless.extend(self.nameless.drain());
        let forgotten = self.forgotten(store, agent).await?;
        let is_theirs = |memory: &&Memory| {
            let author = memory.entity_id;
            forgotten.contains(&author) && !left_out.nameless.contains(&author)
        };
        let theirs: Vec<MemoryId> = self.memories().filter(is_theirs).map(|one| one.id).collect();
        left_out.of_forgotten.extend(theirs);
        let answers = |memory: &&Memory| {
            let question = memory.content.in_reply_to;
            memory.entity_id.0 == agent.0
                && question.is_some_and(|id| left_out.of_forgotten.contains(&id))
        };
        let answers: Vec<MemoryId> = self.memories().filter(answers).map(|one| one.id).collect();
        left_out.of_forgotten.extend(answers);
        let sources = self.derived.new.iter().flat_map(|row| row.sources.iter().copied());
        let ids: Vec<MemoryId> = self.lines.iter().map(|(id, _)| *id).chain(sources).collect();
        let mut gone: HashSet<MemoryId> = store.deleted(&ids).await?.into_iter().collect();
        gone.extend(ids.iter().filter(|id| left_out.has(id)));
        if !gone.is_empty() {
            // What is stored was restored, and stays.
            let known = store.derived(agent, &ids).await?;
            let known: HashSet<MemoryId> = known.iter().map(|row| row.memory.id).collect();
            gone.retain(|id| !known.contains(id));
            self.ingest.memories.retain(|memory| !gone.contains(&memory.id));
            leave_out_derived(&mut self.derived.new, &known, &mut gone);
            let left: HashSet<MemoryId> = self.memories().map(|memory| memory.id).collect();
            let before = self.lines.len();
            self.lines.retain(|(id, _)| {
                let stays = left.contains(id);
                if !stays {
                    left_out.memories.insert(*id);
                }
                stays
            });
            count.deleted += before - self.lines.len();
        }
        self.relationships.retain(|tie| !ends(tie).iter().any(|id| forgotten.contains(id)));
        Ok(())
    }

    /// All its memories.
    fn memories(&self) -> impl Iterator<Item = &Memory> {
        self.ingest.memories.iter().chain(self.derived.new.iter().map(|row| &row.memory))
    }

    /// The people of these rows who were forgotten.
    async fn forgotten(&self, store: &dyn Store, agent: AgentId) -> Result<HashSet<EntityId>> {
        let people: BTreeSet<EntityId> = self
            .memories()
            .map(|memory| memory.entity_id)
            .chain(self.relationships.iter().flat_map(ends))
            .filter(|id| id.0 != agent.0)
            .collect();
        let people: Vec<EntityId> = people.into_iter().collect();
        let people = store.entities(&people).await?;
        Ok(people.iter().filter(|person| is_forgotten(person)).map(|person| person.id).collect())
    }

    /// Stores the rows, and adds to `count` how many memories are new and which the store refused.
    /// Messages go first, because the store refuses what was derived from missing ones: such rows are
    /// given back, since the missing ones may come later.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn store(
        mut self,
        store: &dyn Store,
        agent: AgentId,
        count: &mut Count,
    ) -> Result<Vec<Derivation>> {
        let ids: Vec<MemoryId> = self.lines.iter().map(|(id, _)| *id).collect();
        let known = store.derived(agent, &ids).await?;
        count.differing += self.differing(&known);
        let known = known.len();
        // What the file says of a room that is here may be old: its address is where answers go.
        self.ingest.connections.past = true;
        kill_point("import.before");
        store.ingest(self.ingest).await?;
        kill_point("import.derived");
        store.change_derived(agent, &self.derived).await?;
        kill_point("import.after");
        for tie in &self.relationships {
            let known = store.relationships(agent, tie.source_entity_id).await?;
            if !known.iter().any(|other| is_same_pair(other, tie)) {
                store.save_relationship(tie).await?;
            }
        }
        if known == ids.len() {
            return Ok(Vec::new());
        }
        let stored: HashSet<MemoryId> =
            store.derived(agent, &ids).await?.into_iter().map(|row| row.memory.id).collect();
        count.new += stored.len().saturating_sub(known);
        let mut early = Vec::new();
        for (id, line) in self.lines.iter().filter(|(id, _)| !stored.contains(id)) {
            match self.derived.new.iter().find(|row| row.memory.id == *id) {
                Some(row) => early.push(Derivation { row: row.clone(), line: *line }),
                None => count.refuse(*line, &refusal(store, agent, *id, &[]).await?),
            }
        }
        Ok(early)
    }
}

impl Derivation {
    /// Why the store refused it.
    pub(super) async fn refusal(&self, store: &dyn Store, agent: AgentId) -> Result<String> {
        refusal(store, agent, self.row.memory.id, &self.row.sources).await
    }
}

/// Leaves out what was made from what is `gone`, which grows with each such row, and keeps what is
/// `known` as stored. Rows stand in any order.
fn leave_out_derived(
    rows: &mut Vec<Derived>,
    known: &HashSet<MemoryId>,
    gone: &mut HashSet<MemoryId>,
) {
    loop {
        let before = rows.len();
        rows.retain_mut(|row| {
            let stays = known.contains(&row.memory.id) || outlives(row, gone);
            if !stays {
                gone.insert(row.memory.id);
            }
            stays
        });
        if rows.len() == before {
            return;
        }
    }
}

/// Whether a derived memory is there without its deleted sources, of which it loses the names: only a
/// fact is that another message backs, as when the sources were deleted here.
fn outlives(row: &mut Derived, gone: &HashSet<MemoryId>) -> bool {
    let before = row.sources.len();
    row.sources.retain(|source| !gone.contains(source));
    let whole = row.sources.len() == before;
    let backed =
        row.memory.kind == MemoryKind::Facts && !is_merged(&row.memory) && !row.sources.is_empty();
    !gone.contains(&row.memory.id) && (whole || backed)
}

/// The two people of a relationship.
fn ends(tie: &Relationship) -> [EntityId; 2] {
    [tie.source_entity_id, tie.target_entity_id]
}

fn is_same_pair(one: &Relationship, other: &Relationship) -> bool {
    (one.source_entity_id, one.target_entity_id) == (other.source_entity_id, other.target_entity_id)
}

/// Why the store refused a memory.
async fn refusal(
    store: &dyn Store,
    agent: AgentId,
    id: MemoryId,
    sources: &[MemoryId],
) -> Result<String> {
    if store.memory(id).await?.is_some() {
        return Ok(format!("a memory of another agent has the id {id}"));
    }
    let stored = store.derived(agent, sources).await?;
    let missing = sources.iter().find(|id| !stored.iter().any(|row| row.memory.id == **id));
    Ok(match missing {
        Some(missing) => format!(
            "{missing}, from which it was made, is neither in this file nor stored here: \
             export it too, without --kind, --person, --since, --until and --limit"
        ),
        None => format!("the store refused {id}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::{Content, MemoryScope, Timestamp};

    #[test]
    fn what_was_made_from_deleted_memories_goes_with_them() {
        let [gone, left] = [MemoryId::fresh(), MemoryId::fresh()];
        let row = |kind: MemoryKind, sources: &[MemoryId]| {
            let memory = Memory {
                id: MemoryId::fresh(),
                kind,
                agent_id: AgentId::fresh(),
                entity_id: EntityId::fresh(),
                room_id: RoomId::fresh(),
                world_id: None,
                content: Content::text("x"),
                metadata: serde_json::Map::new(),
                created_at: Timestamp(1),
            };
            Derived::new(memory, MemoryScope::Room, sources.to_vec())
        };
        for (kind, sources, stays) in [
            (MemoryKind::Facts, &[gone, left][..], Some(vec![left])),
            (MemoryKind::Facts, &[gone], None),
            (MemoryKind::Facts, &[], Some(vec![])),
            (MemoryKind::Summaries, &[gone, left], None),
            (MemoryKind::Summaries, &[left], Some(vec![left])),
        ] {
            let mut row = row(kind, sources);
            let found = outlives(&mut row, &HashSet::from([gone])).then_some(row.sources);
            assert_eq!(found, stays, "{kind:?} {sources:?}");
        }
        let mut itself = row(MemoryKind::Facts, &[]);
        let gone = HashSet::from([itself.memory.id]);
        assert!(!outlives(&mut itself, &gone));
    }

    #[test]
    fn a_participant_is_added_once() {
        let mut batch = Batch::default();
        let (ann, bob, room) = (EntityId::fresh(), EntityId::fresh(), RoomId::fresh());
        for entity in [ann, bob, ann] {
            batch.add_participant(entity, room);
        }
        assert_eq!(batch.ingest.connections.participants, [(ann, room), (bob, room)]);
    }
}
