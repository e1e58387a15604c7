//! Tasks.

use async_trait::async_trait;
use galatea_core::{AgentId, EntityId, Result, Task, TaskId, Timestamp, WorldId, store::TaskStore};
use sqlx::FromRow;
use uuid::Uuid;

use crate::{
    Database,
    change::{Change, Write},
    convert::{self, from_json, to_json},
    dialect::{Dialects, Value, values},
};

pub(crate) const SAVE: Dialects = Dialects::same(
    "INSERT INTO tasks (id, agent_id, name, description, room_id, world_id, entity_id, tags, metadata, due) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
     ON CONFLICT (id) DO UPDATE SET agent_id = excluded.agent_id, name = excluded.name, description = excluded.description, \
        room_id = excluded.room_id, world_id = excluded.world_id, entity_id = excluded.entity_id, tags = excluded.tags, \
        metadata = excluded.metadata, due = excluded.due",
);
pub(crate) const DELETE: Dialects =
    Dialects::same("DELETE FROM tasks WHERE id = $1 AND agent_id = $2");

macro_rules! task {
    ($condition:literal) => {
        concat!(
            "SELECT id, agent_id, name, description, room_id, world_id, entity_id, CAST(tags AS text) AS tags, CAST(metadata AS text) AS metadata, due \
             FROM tasks WHERE agent_id = $1 AND ",
            $condition
        )
    };
}

/// Every wanted tag must be among the task's.
pub(crate) const TASKS: Dialects = Dialects {
    sqlite: task!(
        "NOT EXISTS (SELECT 1 FROM json_each($2) wanted WHERE wanted.value NOT IN (SELECT value FROM json_each(tasks.tags))) ORDER BY due, id"
    ),
    postgres: task!("tags @> $2 ORDER BY due, id"),
};

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

/// Adds a task of this agent.
pub(crate) fn push(change: &mut Change, agent: AgentId, task: &Task) -> Result<()> {
    let values = vec![
        task.id.0.into(),
        agent.0.into(),
        task.name.as_str().into(),
        task.description.as_str().into(),
        task.room_id.map(|id| id.0).into(),
        task.world_id.map(|id| id.0).into(),
        task.entity_id.map(|id| id.0).into(),
        Value::Jsonb(to_json(&task.tags)?),
        Value::Json(Some(to_json(&task.metadata)?)),
        task.due.0.into(),
    ];
    change.push(Write::statement(SAVE.with(values))).map(drop)
}

/// Adds the removal of a task of this agent.
pub(crate) fn push_delete(change: &mut Change, agent: AgentId, task: TaskId) -> Result<()> {
    change.push(Write::statement(DELETE.with(values![task.0, agent.0]))).map(drop)
}

#[async_trait]
impl TaskStore for Database {
    async fn save_task(&self, task: &Task) -> Result<()> {
        let mut change = Change::default();
        push(&mut change, task.agent_id, task)?;
        self.write(change).await.map(drop)
    }

    async fn tasks(&self, agent: AgentId, tags: &[String]) -> Result<Vec<Task>> {
        let values = vec![agent.0.into(), Value::Jsonb(to_json(tags)?)];
        self.all(TASKS.with(values)).await?.into_iter().map(Stored::decode).collect()
    }

    async fn delete_task(&self, agent: AgentId, id: TaskId) -> Result<bool> {
        let mut change = Change::default();
        push_delete(&mut change, agent, id)?;
        Ok(self.write(change).await?.first().is_some_and(|hits| *hits > 0))
    }
}
