//! Claims of due tasks, and the commit that ends a run.

use async_trait::async_trait;
use galatea_core::{
    AgentId, Result, Task, TaskId, Timestamp,
    store::{TaskCommit, TaskQueue},
};
use uuid::Uuid;

use crate::{
    Database,
    change::{Change, Write},
    convert::to_json,
    dialect::{Value, values},
    effect, live, outbox, relationship, task, usage,
};

#[async_trait]
impl TaskQueue for Database {
    async fn next_tasks(
        &self,
        agents: &[AgentId],
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<Task>> {
        let ids = Value::Ids(agents.iter().map(|agent| agent.0).collect());
        let values = vec![ids, now.0.into(), limit.into()];
        self.all(task::NEXT.with(values)).await?.into_iter().map(task::Stored::decode).collect()
    }

    async fn claim_task(
        &self,
        id: TaskId,
        claim: Uuid,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<bool> {
        let mut change = Change::default();
        change.push(Write::statement(task::CLAIM.with(values![id.0, claim, now.0, until.0])))?;
        Ok(self.write(change).await?.first().is_some_and(|hits| *hits > 0))
    }

    async fn renew_task(&self, id: TaskId, claim: Uuid, until: Timestamp) -> Result<bool> {
        let mut change = Change::default();
        change.push(Write::statement(task::RENEW.with(values![id.0, claim, until.0])))?;
        Ok(self.write(change).await?.first().is_some_and(|hits| *hits > 0))
    }

    async fn release_tasks(&self, agents: &[AgentId]) -> Result<()> {
        let ids = Value::Ids(agents.iter().map(|agent| agent.0).collect());
        let mut change = Change::default();
        change.push(Write::statement(task::RELEASE.with(vec![ids])))?;
        self.write(change).await.map(drop)
    }

    async fn finish_task(&self, commit: TaskCommit) -> Result<()> {
        let mut change = Change::default();
        if commit.effects.iter().any(effect::changes_links) {
            relationship::push_lock(&mut change, commit.agent)?;
        }
        let (id, agent, claim) = (commit.task.0, commit.agent.0, commit.claim);
        let ends = match &commit.next {
            None => task::END.with(values![id, agent, claim]),
            Some(next) => task::CONTINUE.with(vec![
                id.into(),
                agent.into(),
                claim.into(),
                next.due.0.into(),
                task::run_of(next)?,
                task::state_of(next).into(),
                Value::Json(Some(to_json(&next.metadata)?)),
            ]),
        };
        change.push(Write::Required { statements: vec![ends] })?;
        self.push_memories(&mut change, commit.memories)?;
        outbox::push(&mut change, &commit.deliveries)?;
        usage::push(&mut change, &commit.usage)?;
        for effect in &commit.effects {
            effect::push(&mut change, commit.agent, commit.turn, effect, commit.at)?;
        }
        live::push_told(&mut change, &commit.deliveries, &[])?;
        self.write(change).await.map(drop)
    }
}
