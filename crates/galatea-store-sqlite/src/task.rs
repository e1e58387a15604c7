//! Tasks.

use async_trait::async_trait;
use galatea_core::{AgentId, EntityId, Result, Task, TaskId, Timestamp, WorldId, store::TaskStore};
use serde::Serialize;
use serde_json::{Map, Value};
use sqlx::FromRow;
use uuid::Uuid;

use crate::{
    SqliteStore,
    apply::Trigger,
    change::{Hex, hex},
    convert::{self, from_json},
    read::select,
};

pub(crate) const TRIGGERS: &[Trigger] = &[
    (
        "task",
        "INSERT OR REPLACE INTO tasks (id, agent_id, name, description, room_id, world_id, entity_id, tags, metadata, due) VALUES (
            unhex(NEW.body ->> 'id'), unhex(NEW.body ->> 'agent'), NEW.body ->> 'name', NEW.body ->> 'description', unhex(NEW.body ->> 'room'),
            unhex(NEW.body ->> 'world'), unhex(NEW.body ->> 'entity'), NEW.body -> 'tags', NEW.body -> 'metadata', NEW.body ->> 'due');",
    ),
    (
        "delete_task",
        "DELETE FROM tasks WHERE id = unhex(NEW.body ->> 'id') AND agent_id = unhex(NEW.body ->> 'agent');
         UPDATE answer SET hits = changes();",
    ),
];

pub(crate) const DUE_TASKS: &str = "SELECT id, agent_id, name, description, room_id, world_id, entity_id, tags, metadata, due FROM tasks \
     WHERE agent_id = ?1 AND due <= ?2 ORDER BY due, id";
/// Every wanted tag must be among the task's.
pub(crate) const TASKS: &str = "SELECT id, agent_id, name, description, room_id, world_id, entity_id, tags, metadata, due FROM tasks \
     WHERE agent_id = ?1 AND NOT EXISTS (SELECT 1 FROM json_each(?2) wanted WHERE wanted.value NOT IN (SELECT value FROM json_each(tasks.tags))) \
     ORDER BY due, id";

#[derive(Serialize)]
struct Saved<'a> {
    id: Hex,
    agent: Hex,
    name: &'a str,
    description: &'a str,
    room: Option<Hex>,
    world: Option<Hex>,
    entity: Option<Hex>,
    tags: &'a [String],
    metadata: &'a Map<String, Value>,
    due: i64,
}

#[derive(Serialize)]
struct Deleted {
    id: Hex,
    agent: Hex,
}

#[derive(FromRow)]
struct Stored {
    id: Uuid,
    agent_id: Uuid,
    name: String,
    description: String,
    room_id: Option<Uuid>,
    world_id: Option<Uuid>,
    entity_id: Option<Uuid>,
    tags: String,
    metadata: String,
    due: i64,
}

impl Stored {
    fn decode(self) -> Result<Task> {
        Ok(Task {
            id: TaskId(self.id),
            agent_id: AgentId(self.agent_id),
            name: self.name,
            description: self.description,
            room_id: convert::room(self.room_id),
            world_id: self.world_id.map(WorldId),
            entity_id: self.entity_id.map(EntityId),
            tags: from_json("task tags", &self.tags)?,
            metadata: from_json("task metadata", &self.metadata)?,
            due: Timestamp(self.due),
        })
    }
}

#[async_trait]
impl TaskStore for SqliteStore {
    async fn save_task(&self, task: &Task) -> Result<()> {
        let mut change = self.change();
        let row = Saved {
            id: hex(task.id),
            agent: hex(task.agent_id),
            name: &task.name,
            description: &task.description,
            room: task.room_id.map(hex),
            world: task.world_id.map(hex),
            entity: task.entity_id.map(hex),
            tags: &task.tags,
            metadata: &task.metadata,
            due: task.due.0,
        };
        change.push("task", &row)?;
        self.write(change).await.map(drop)
    }

    async fn due_tasks(&self, agent: AgentId, now: Timestamp) -> Result<Vec<Task>> {
        self.all(select::<Stored>(DUE_TASKS).bind(agent.0).bind(now.0)).await?.into_iter().map(Stored::decode).collect()
    }

    async fn tasks(&self, agent: AgentId, tags: &[String]) -> Result<Vec<Task>> {
        let tags = Value::from(tags).to_string();
        self.all(select::<Stored>(TASKS).bind(agent.0).bind(tags)).await?.into_iter().map(Stored::decode).collect()
    }

    async fn delete_task(&self, agent: AgentId, id: TaskId) -> Result<bool> {
        let mut change = self.change();
        change.push_answered("delete_task", &Deleted { id: hex(id), agent: hex(agent) })?;
        Ok(self.write(change).await?.first().is_some_and(|hits| *hits > 0))
    }
}
