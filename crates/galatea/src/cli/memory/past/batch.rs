//! Imported rows that are stored together.

use galatea_core::{
    AgentId, Derived, EntityId, MemoryId, Relationship, RoomId, Store, kill_point,
    store::{DerivedChange, Ingest},
};
use std::collections::{HashMap, HashSet};

use super::super::import::Count;
use crate::failure::Result;

/// Most rows of one commit.
const STEP: usize = 500;

/// A memory that was made from others, with the line on which it stands.
pub(super) struct Derivation {
    pub(super) row: Derived,
    pub(super) line: usize,
}

/// Rows of one commit.
#[derive(Default)]
pub(in super::super) struct Batch {
    pub(super) rows: usize,
    pub(super) ingest: Ingest,
    pub(super) derived: DerivedChange,
    pub(super) relationships: Vec<Relationship>,
    /// Its memories, each with the line on which it ends.
    pub(super) lines: Vec<(MemoryId, usize)>,
    participants: HashSet<(EntityId, RoomId)>,
}

impl Batch {
    /// Whether it holds as many rows as one commit takes.
    pub(super) fn is_full(&self) -> bool {
        self.rows >= STEP
    }

    /// Makes a person a participant of a Room, unless an earlier row of this batch did.
    pub(super) fn add_participant(&mut self, entity: EntityId, room: RoomId) {
        if self.participants.insert((entity, room)) {
            self.ingest.connections.participants.push((entity, room));
        }
    }

    /// Adds a memory that was made from others.
    pub(super) fn add_derivation(&mut self, Derivation { row, line }: Derivation) {
        self.rows += 1;
        self.lines.push((row.memory.id, line));
        self.derived.new.push(row);
    }

    /// How many of these stored memories have another text here. They stay as they are.
    fn differing(&self, stored: &[Derived]) -> usize {
        let derived = self.derived.new.iter().map(|row| &row.memory);
        let ours: HashMap<MemoryId, &str> = self
            .ingest
            .memories
            .iter()
            .chain(derived)
            .map(|memory| (memory.id, memory.content.text.as_str()))
            .collect();
        let differs = |row: &&Derived| {
            ours.get(&row.memory.id).is_some_and(|text| *text != row.memory.content.text)
        };
        stored.iter().filter(differs).count()
    }

    /// Stores the rows, and adds to `count` how many memories are new and which the store refused.
    /// Messages go first, because the store refuses what was derived from missing ones: such rows are
    /// given back, since the missing ones may come later.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) async fn store(
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
            "{missing}, from which it was made, is neither in this file nor stored here: export it too, without --kind, --person, --since, --until and --limit"
        ),
        None => format!("the store refused {id}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
