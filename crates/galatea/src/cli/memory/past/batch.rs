//! Imported rows that are stored together.

use galatea_core::{
    AgentId, EntityId, MemoryId, Relationship, RoomId, Store, kill_point,
    store::{DerivedChange, Ingest},
};
use std::collections::HashSet;

use super::super::import::Count;
use crate::failure::Result;

/// Most rows of one commit.
const STEP: usize = 500;

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

    /// Stores the rows, and adds to `count` how many memories are new and which the store refused.
    /// Messages go first, because the store refuses what was derived from missing ones.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) async fn store(
        self,
        store: &dyn Store,
        agent: AgentId,
        count: &mut Count,
    ) -> Result<()> {
        let ids: Vec<MemoryId> = self.lines.iter().map(|(id, _)| *id).collect();
        let known = store.derived(agent, &ids).await?.len();
        kill_point("import.before");
        store.ingest(self.ingest).await?;
        kill_point("import.derived");
        store.change_derived(agent, &self.derived).await?;
        kill_point("import.after");
        for tie in &self.relationships {
            store.save_relationship(tie).await?;
        }
        if known == ids.len() {
            return Ok(());
        }
        let stored: HashSet<MemoryId> =
            store.derived(agent, &ids).await?.into_iter().map(|row| row.memory.id).collect();
        count.new += stored.len().saturating_sub(known);
        for (id, line) in self.lines.iter().filter(|(id, _)| !stored.contains(id)) {
            // Refused is not what was there already.
            count.read = count.read.saturating_sub(1);
            let sources = self.derived.new.iter().find(|row| row.memory.id == *id);
            let sources = sources.map_or(&[][..], |row| &row.sources);
            count.skipped.line(*line, &refusal(store, agent, *id, sources).await?);
        }
        Ok(())
    }
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
