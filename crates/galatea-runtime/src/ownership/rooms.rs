//! Claims partitions of an agent's Rooms that no other process holds, and releases more than a fair
//! share.

use galatea_core::{
    Result,
    store::{Partition, ROOM_PARTITIONS, fair_share},
};
use std::sync::Arc;

use super::{
    RoomPartition, SharedAgent,
    keeper::Keeper,
    known::{Alive, answering_with},
};
use crate::backlog::Backlog;

impl Keeper {
    pub(super) async fn share_rooms(
        &mut self,
        agent: &Arc<dyn SharedAgent>,
        alive: &Alive,
    ) -> Result<()> {
        let (id, ownership) = (agent.id(), agent.ownership());
        let mine = ownership.partitions();
        let share = match answering_with(id, &agent.unserved(), alive) {
            0 => 0,
            processes => fair_share(usize::from(ROOM_PARTITIONS), processes),
        };
        let mut surplus = mine.len().saturating_sub(share);
        if surplus > 0 {
            for given in ownership.drop_partitions(|_| {
                surplus.checked_sub(1).inspect(|left| surplus = *left).is_some()
            }) {
                given.lease.close();
            }
            return Ok(());
        }
        if mine.len() == share {
            return Ok(());
        }
        let held = self
            .store
            .claim(self.options.member, &Partition::all_rooms(id), share, self.options.ttl)
            .await?;
        let mut fresh = Vec::new();
        for number in 0..ROOM_PARTITIONS {
            let name = Partition::rooms(id, number);
            let Some(lease) = held.iter().find(|lease| lease.part == name) else { continue };
            if mine.iter().any(|partition| partition.number == number) || self.is_going_on(&name) {
                continue;
            }
            let lease = self.begin(lease);
            fresh.push(Arc::new(RoomPartition { number, lease, backlog: Backlog::default() }));
        }
        if !fresh.is_empty() {
            tracing::info!(agent = agent.name(), count = fresh.len(), "acquired room partitions");
            fresh.iter().for_each(|partition| ownership.take_partition(Arc::clone(partition)));
            Arc::clone(agent).answer(fresh);
        }
        Ok(())
    }
}
