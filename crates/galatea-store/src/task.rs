//! Tasks.

use async_trait::async_trait;
use galatea_core::{
    AgentId, EntityId, Result, Task, TaskId, Timestamp, WorldId,
    store::{TaskQuery, TaskRun, TaskStore},
};
use sqlx::FromRow;
use uuid::Uuid;

use crate::{
    Database,
    change::{Change, Write},
    convert::{self, from_json, to_json},
    dialect::{Dialects, Value, values},
};

/// Whoever runs the task as it was has no claim on it any more.
pub(crate) const SAVE: Dialects = Dialects::same(
    "INSERT INTO tasks (id, agent_id, name, description, room_id, world_id, entity_id, tags, metadata, due, run, state) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
     ON CONFLICT (id) DO UPDATE SET agent_id = excluded.agent_id, name = excluded.name, description = excluded.description, \
        room_id = excluded.room_id, world_id = excluded.world_id, entity_id = excluded.entity_id, tags = excluded.tags, \
        metadata = excluded.metadata, due = excluded.due, run = excluded.run, state = excluded.state, claim = NULL, leased_until = NULL",
);
pub(crate) const DELETE: Dialects =
    Dialects::same("DELETE FROM tasks WHERE id = $1 AND agent_id = $2");
/// Ends a claimed task.
pub(crate) const END: Dialects =
    Dialects::same("DELETE FROM tasks WHERE id = $1 AND agent_id = $2 AND claim = $3");
/// Leaves a claimed task to its next run.
pub(crate) const CONTINUE: Dialects = Dialects::same(
    "UPDATE tasks SET due = $4, run = $5, state = $6, metadata = $7, claim = NULL, leased_until = NULL \
     WHERE id = $1 AND agent_id = $2 AND claim = $3",
);
pub(crate) const CLAIM: Dialects = Dialects::same(
    "UPDATE tasks SET claim = $2, leased_until = $4 \
     WHERE id = $1 AND state = 'waiting' AND due <= $3 AND (leased_until IS NULL OR leased_until <= $3)",
);

pub(crate) const RENEW: Dialects =
    Dialects::same("UPDATE tasks SET leased_until = $3 WHERE id = $1 AND claim = $2");
pub(crate) const RELEASE: Dialects = Dialects {
    sqlite: "UPDATE tasks SET claim = NULL, leased_until = NULL \
             WHERE state = 'waiting' AND leased_until IS NOT NULL AND agent_id IN (SELECT unhex(value) FROM json_each($1))",
    postgres: "UPDATE tasks SET claim = NULL, leased_until = NULL \
               WHERE state = 'waiting' AND leased_until IS NOT NULL AND agent_id = ANY ($1)",
};

macro_rules! task {
    ($condition:expr) => {
        concat!(
            "SELECT id, agent_id, name, description, room_id, world_id, entity_id, CAST(tags AS text) AS tags, CAST(metadata AS text) AS metadata, due, \
             CAST(run AS text) AS run, leased_until FROM tasks WHERE ",
            $condition
        )
    };
}

/// Every wanted tag must be among the task's.
pub(crate) const TASKS: Dialects = Dialects {
    sqlite: task!(
        "agent_id = $1 AND NOT EXISTS (SELECT 1 FROM json_each($2) wanted WHERE wanted.value NOT IN (SELECT value FROM json_each(tasks.tags))) ORDER BY due, id"
    ),
    postgres: task!("agent_id = $1 AND tags @> $2 ORDER BY due, id"),
};
pub(crate) const BY_ID: Dialects = Dialects::same(task!("id = $1 AND agent_id = $2"));

macro_rules! scheduled {
    ($condition:literal) => {
        Dialects {
            sqlite: task!(concat!(
                "agent_id = $1 AND state IS NOT NULL",
                $condition,
                " ORDER BY due, id LIMIT +$2"
            )),
            postgres: task!(concat!(
                "agent_id = $1 AND state IS NOT NULL",
                $condition,
                " ORDER BY due, id LIMIT $2"
            )),
        }
    };
}
pub(crate) const SCHEDULED: Dialects = scheduled!("");
pub(crate) const OF_PERSON: Dialects = scheduled!(" AND entity_id = $3");
pub(crate) const OF_ROOM: Dialects = scheduled!(" AND room_id = $3");

/// In the order of the index, in which a process of many agents finds the first ones at once.
pub(crate) const NEXT: Dialects = Dialects {
    sqlite: task!(
        "state = 'waiting' AND (leased_until IS NULL OR leased_until <= $2) AND +agent_id IN (SELECT unhex(value) FROM json_each($1)) ORDER BY due LIMIT +$3"
    ),
    postgres: task!(
        "state = 'waiting' AND (leased_until IS NULL OR leased_until <= $2) AND agent_id = ANY ($1) ORDER BY due LIMIT $3"
    ),
};

/// A row of the table.
#[derive(FromRow)]
pub(crate) struct Stored {
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
    run: Option<String>,
    leased_until: Option<i64>,
}

impl Stored {
    pub(crate) fn decode(self) -> Result<Task> {
        let run =
            self.run.as_deref().map(|run| from_json::<TaskRun>("task run", run)).transpose()?;
        let leased_until = self.leased_until.map(Timestamp);
        Ok(Task {
            run: run.map(|run| Box::new(TaskRun { leased_until, ..run })),
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
        run_of(task)?,
        state_of(task).into(),
    ];
    change.push(Write::statement(SAVE.with(values))).map(drop)
}

/// The rule and the state of its runs.
pub(crate) fn run_of(task: &Task) -> Result<Value> {
    Ok(Value::Json(task.run.as_deref().map(to_json).transpose()?))
}

/// The state of its runs, for the index.
pub(crate) fn state_of(task: &Task) -> Option<String> {
    task.run.as_ref().map(|run| run.state.as_str().to_owned())
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

    async fn task(&self, agent: AgentId, id: TaskId) -> Result<Option<Task>> {
        self.fetch_one(BY_ID.with(values![id.0, agent.0])).await?.map(Stored::decode).transpose()
    }

    async fn scheduled(&self, agent: AgentId, query: TaskQuery, limit: u32) -> Result<Vec<Task>> {
        let rows: Vec<Stored> = match query {
            TaskQuery::All => self.all(SCHEDULED.with(values![agent.0, limit])).await?,
            TaskQuery::Person(id) => {
                self.all(OF_PERSON.with(values![agent.0, limit, id.0])).await?
            }
            TaskQuery::Room(id) => self.all(OF_ROOM.with(values![agent.0, limit, id.0])).await?,
        };
        rows.into_iter().map(Stored::decode).collect()
    }

    async fn delete_task(&self, agent: AgentId, id: TaskId) -> Result<bool> {
        let mut change = Change::default();
        push_delete(&mut change, agent, id)?;
        Ok(self.write(change).await?.first().is_some_and(|hits| *hits > 0))
    }
}
