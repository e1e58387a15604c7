//! Imported rows that are stored together.

use galatea_core::{
    AgentId, EntityId, Relationship, RoomId, Store, kill_point,
    store::{DerivedChange, Ingest},
};
use std::collections::HashSet;

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

    /// Stores the rows and returns the number of memories that are new. Messages go first, because
    /// the store refuses what was derived from missing ones.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) async fn store(self, store: &dyn Store, agent: AgentId) -> Result<usize> {
        let ids: Vec<_> = self.ingest.memories.iter().map(|memory| memory.id).collect();
        let known = store.derived(agent, &ids).await?.len();
        kill_point("import.before");
        store.ingest(self.ingest).await?;
        kill_point("import.derived");
        let derived = store.change_derived(agent, &self.derived).await?;
        kill_point("import.after");
        for tie in &self.relationships {
            store.save_relationship(tie).await?;
        }
        Ok(ids.len().saturating_sub(known) + usize::try_from(derived).unwrap_or(usize::MAX))
    }
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
