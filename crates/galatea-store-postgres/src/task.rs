//! Tasks.

use async_trait::async_trait;
use galatea_core::{AgentId, EntityId, Result, Task, TaskId, Timestamp, WorldId, store::TaskStore};
use serde::Serialize;
use serde_json::{Map, Value};
use sqlx::FromRow;
use uuid::Uuid;

use crate::{
    PostgresStore,
    apply::Step,
    change::{self, Text, uuid},
    convert::{self, from_json},
    read::select,
};

pub(crate) const STEPS: &[Step] = &[
    (
        "task",
        "INSERT INTO tasks (id, agent_id, name, description, room_id, world_id, entity_id, tags, metadata, due) VALUES (
            (b ->> 'id')::uuid, (b ->> 'agent')::uuid, b ->> 'name', b ->> 'description', (b ->> 'room')::uuid,
            (b ->> 'world')::uuid, (b ->> 'entity')::uuid, b -> 'tags', (b ->> 'metadata')::json, (b ->> 'due')::bigint)
         ON CONFLICT (id) DO UPDATE SET agent_id = excluded.agent_id, name = excluded.name, description = excluded.description,
            room_id = excluded.room_id, world_id = excluded.world_id, entity_id = excluded.entity_id, tags = excluded.tags,
            metadata = excluded.metadata, due = excluded.due;",
    ),
    (
        "delete_task",
        "DELETE FROM tasks WHERE id = (b ->> 'id')::uuid AND agent_id = (b ->> 'agent')::uuid;
         GET DIAGNOSTICS touched = ROW_COUNT;",
    ),
];

pub(crate) const DUE_TASKS: &str = "SELECT id, agent_id, name, description, room_id, world_id, entity_id, tags::text, metadata::text, due FROM tasks \
     WHERE agent_id = $1 AND due <= $2 ORDER BY due, id";
/// Every wanted tag must be among the task's.
pub(crate) const TASKS: &str = "SELECT id, agent_id, name, description, room_id, world_id, entity_id, tags::text, metadata::text, due FROM tasks \
     WHERE agent_id = $1 AND tags @> $2::jsonb ORDER BY due, id";

#[derive(Serialize)]
struct Saved<'a> {
    id: Uuid,
    agent: Uuid,
    name: &'a str,
    description: &'a str,
    room: Option<Uuid>,
    world: Option<Uuid>,
    entity: Option<Uuid>,
    tags: &'a [String],
    metadata: Text<'a, Map<String, Value>>,
    due: i64,
}

#[derive(Serialize)]
struct Deleted {
    id: Uuid,
    agent: Uuid,
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
impl TaskStore for PostgresStore {
    async fn save_task(&self, task: &Task) -> Result<()> {
        let mut change = self.change();
        let row = Saved {
            id: uuid(task.id),
            agent: uuid(task.agent_id),
            name: &task.name,
            description: &task.description,
            room: task.room_id.map(uuid),
            world: task.world_id.map(uuid),
            entity: task.entity_id.map(uuid),
            tags: &task.tags,
            metadata: Text(&task.metadata),
            due: task.due.0,
        };
        change.push("task", &row)?;
        self.write(change).await.map(drop)
    }

    async fn due_tasks(&self, agent: AgentId, now: Timestamp) -> Result<Vec<Task>> {
        self.all(select::<Stored>(DUE_TASKS).bind(agent.0).bind(now.0)).await?.into_iter().map(Stored::decode).collect()
    }

    async fn tasks(&self, agent: AgentId, tags: &[String]) -> Result<Vec<Task>> {
        let tags = change::storable(Value::from(tags).to_string());
        self.all(select::<Stored>(TASKS).bind(agent.0).bind(tags)).await?.into_iter().map(Stored::decode).collect()
    }

    async fn delete_task(&self, agent: AgentId, id: TaskId) -> Result<bool> {
        let mut change = self.change();
        change.push_answered("delete_task", uuid(id), &Deleted { id: uuid(id), agent: uuid(agent) })?;
        Ok(self.write(change).await?.first().is_some_and(|hits| *hits > 0))
    }
}
