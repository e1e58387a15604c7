//! Deletes old messages of Worlds whose owners said so, with what was made from them.

use galatea_core::{
    AgentId, Clock, MemoryId, MemoryKind, Result, RoomId, Store, Timestamp,
    store::{Day, MemoryQuery, TraceBounds},
};
use std::{collections::HashSet, sync::Arc, time::Duration};
use tokio::sync::Notify;

use crate::config::TraceLimits;

const EVERY: Duration = Duration::from_secs(3_600);
/// Messages of one commit: other writers wait no longer than for that.
const STEP: u32 = 100;
/// Messages of one pass. What is left waits for [`REST`].
const MOST: u64 = 20_000;
/// Messages of one Room that wait for their turn, the oldest.
const WAITING: u32 = 1_000;
const REST: Duration = Duration::from_secs(60);

/// Deletes what is too old of the agents that this process answers for: `first` after one of them
/// started, then every hour. Several processes may do the same at once. Waits by the machine's clock;
/// what is too old follows `clock`. One statement tells which agents have such Worlds.
pub(crate) async fn run(
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    agents: impl Fn() -> Option<Vec<(AgentId, TraceLimits)>>,
    first: Duration,
    started: Arc<Notify>,
) {
    let mut pause = first;
    loop {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = started.notified() => tokio::time::sleep(first).await,
        }
        let Some(agents) = agents() else { return };
        prune_traces(&*store, &*clock, &agents).await;
        let agents: Vec<AgentId> = agents.into_iter().map(|(agent, _)| agent).collect();
        pause = pass(&*store, &*clock, &agents).await;
    }
}

/// Deletes traces that are too old, and the oldest texts of those that are too many. What fails is tried
/// again by the next pass.
async fn prune_traces(store: &dyn Store, clock: &dyn Clock, agents: &[(AgentId, TraceLimits)]) {
    for (agent, limits) in agents {
        let before = clock.now().0.saturating_sub(i64::from(limits.days) * Day::MILLIS);
        let bounds = TraceBounds { before: Timestamp(before), bytes: limits.bytes };
        match store.prune_traces(*agent, &bounds).await {
            Ok(0) => {}
            Ok(deleted) => {
                tracing::info!(agent = %agent, deleted, "deleted traces that are no longer kept");
            }
            Err(error) => {
                tracing::warn!(agent = %agent, error = %error.report(), "failed to delete traces that are no longer kept; the next pass tries again");
            }
        }
    }
}

/// Makes one pass. Returns the pause before the next one.
async fn pass(store: &dyn Store, clock: &dyn Clock, agents: &[AgentId]) -> Duration {
    let mut pause = EVERY;
    let with_retention = match store.agents_with_retention().await {
        Ok(found) => found,
        Err(error) => {
            tracing::warn!(error = %error.report(), retry_in = ?REST, "failed to look for Worlds that do not keep their messages; retrying");
            return REST;
        }
    };
    for agent in with_retention.into_iter().filter(|agent| agents.contains(agent)) {
        match delete(store, agent, clock.now()).await {
            Ok(deleted) => {
                if deleted > 0 {
                    tracing::info!(agent = %agent, deleted, "deleted messages that their Worlds no longer keep");
                }
                if deleted >= MOST {
                    pause = REST;
                }
            }
            Err(error) => {
                tracing::warn!(agent = %agent, error = %error.report(), retry_in = ?REST, "failed to delete messages that their Worlds no longer keep; retrying");
                pause = REST;
            }
        }
    }
    pause
}

/// Makes one pass, and returns the number of deleted messages.
async fn delete(store: &dyn Store, agent: AgentId, now: Timestamp) -> Result<u64> {
    let mut deleted = 0;
    for world in store.worlds(agent).await? {
        let Some(days) = world.retention_days() else { continue };
        let before = Timestamp(now.0.saturating_sub(i64::from(days) * Day::MILLIS));
        for room in store.rooms(world.id).await? {
            // Its person alone says what is deleted there.
            if room.kind.is_direct() {
                continue;
            }
            deleted += of_room(store, agent, room.id, before, MOST - deleted).await?;
            if deleted >= MOST {
                return Ok(deleted);
            }
        }
    }
    Ok(deleted)
}

/// Deletes what is too old in one Room, about `most`. What waits for its turn stays until that is
/// done.
async fn of_room(
    store: &dyn Store,
    agent: AgentId,
    room: RoomId,
    mut before: Timestamp,
    most: u64,
) -> Result<u64> {
    let mut deleted = 0;
    while deleted < most {
        let query = MemoryQuery {
            before: Some(before),
            ..MemoryQuery::new(agent, STEP)
                .room(room)
                .kind(MemoryKind::Messages)
                .kind(MemoryKind::ActionResult)
        };
        let found = store.memories(&query).await?;
        let Some(oldest) = found.iter().map(|memory| memory.created_at).min() else { break };
        let waiting: HashSet<MemoryId> = store
            .unfinished_in_room(room, WAITING)
            .await?
            .into_iter()
            .map(|item| item.entry.memory.id)
            .collect();
        let old: Vec<MemoryId> =
            found.iter().map(|memory| memory.id).filter(|id| !waiting.contains(id)).collect();
        let gone = if old.is_empty() { 0 } else { store.expire_memories(agent, &old).await? };
        deleted += gone;
        // No memory of these can be deleted now: on to those before them.
        if gone == 0 {
            if oldest == before || found.len() < STEP as usize {
                break;
            }
            before = oldest;
        }
    }
    Ok(deleted)
}
