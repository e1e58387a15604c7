//! Rooms: taking parts of an agent's Rooms, and finding what others have stored for them.

use galatea_core::{
    Result,
    store::{Group, Part, ROOM_PARTS, fair_share},
};
use std::sync::Arc;

use super::{
    RoomShare,
    keeper::{Alive, Keeper},
};
use crate::{agent::Agent, delivery::Admission, supervise, turn};

impl Keeper {
    pub(super) async fn share_rooms(&mut self, agent: &Arc<Agent>, alive: &Alive) -> Result<()> {
        let id = agent.view.identity.id();
        let mine = agent.shares.rooms();
        let share = fair_share(usize::from(ROOM_PARTS), alive.get(&Group::rooms(id)).copied().unwrap_or(1));
        let mut surplus = mine.len().saturating_sub(share);
        if surplus > 0 {
            for given in agent.shares.drop_rooms(|_| surplus.checked_sub(1).inspect(|left| surplus = *left).is_some()) {
                given.tenure.close();
            }
            return Ok(());
        }
        if mine.len() == share {
            return Ok(());
        }
        let held = self.store.claim(self.options.member, &Part::all_rooms(id), share, self.options.ttl).await?;
        let mut fresh = Vec::new();
        for part in 0..ROOM_PARTS {
            let name = Part::rooms(id, part);
            let Some(lease) = held.iter().find(|lease| lease.part == name) else { continue };
            if mine.iter().any(|share| share.part == part) || self.is_going_on(&name) {
                continue;
            }
            let tenure = self.begin(lease);
            fresh.push(Arc::new(RoomShare { part, tenure, intake: Admission::default() }));
        }
        if !fresh.is_empty() {
            tracing::info!(agent = %agent.view.character.name, parts = fresh.len(), "answers in more rooms");
            fresh.iter().for_each(|share| agent.shares.take_room(Arc::clone(share)));
            // Services are one piece of work: they go with the first part.
            fresh.iter().filter(|share| share.part == 0).for_each(|share| supervise::services(agent, &share.tenure));
            let (agent, halt) = (Arc::clone(agent), agent.halt.clone());
            agent.tasks.clone().spawn(async move { halt.run_until_cancelled(turn::take_up_rooms(&agent, &fresh)).await });
        }
        Ok(())
    }
}
