//! Sessions and jobs of elizaOS's API.

use async_trait::async_trait;
use galatea_core::{
    AgentId, MemoryId, Result, Timestamp,
    store::{ChatSession, ChatStore, Job, JobCount, JobState},
};
use sqlx::FromRow;
use uuid::Uuid;

use crate::{
    Database,
    channel::json,
    convert::from_json,
    dialect::{Dialects, values},
};

macro_rules! sessions {
    ($which:literal) => {
        Dialects::same(concat!(
            "SELECT id, agent_id, channel_id, person, CAST(metadata AS text) AS metadata, CAST(timeout AS text) AS timeout, created_at, last_activity, \
             expires_at, renewals, warned FROM chat_sessions ",
            $which
        ))
    };
}
pub(crate) const SESSION: Dialects = sessions!("WHERE id = $1");
pub(crate) const SESSIONS: Dialects = sessions!("ORDER BY created_at DESC, id LIMIT +$1");
pub(crate) const EXPIRE_SESSIONS: Dialects =
    Dialects::same("DELETE FROM chat_sessions WHERE expires_at <= $1");
pub(crate) const ADD_SESSION: Dialects = Dialects::same(
    "INSERT INTO chat_sessions (id, agent_id, channel_id, person, metadata, timeout, created_at, last_activity, expires_at, renewals, warned) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING",
);
pub(crate) const CHANGE_SESSION: Dialects = Dialects::same(
    "UPDATE chat_sessions SET timeout = $2, last_activity = $3, expires_at = $4, renewals = $5, warned = $6 WHERE id = $1 AND renewals = $7",
);
pub(crate) const REMOVE_SESSION: Dialects =
    Dialects::same("DELETE FROM chat_sessions WHERE id = $1");

macro_rules! jobs {
    ($which:literal) => {
        Dialects::same(concat!(
            "SELECT id, agent_id, person, channel_id, message_id, state, created_at, expires_at, ended_at, answer_id, error, \
             CAST(metadata AS text) AS metadata FROM jobs ",
            $which
        ))
    };
}
pub(crate) const JOB: Dialects = jobs!("WHERE id = $1");
pub(crate) const JOBS: Dialects = jobs!("ORDER BY created_at DESC, id LIMIT +$1");
pub(crate) const JOBS_IN_STATE: Dialects =
    jobs!("WHERE state = $1 ORDER BY created_at DESC, id LIMIT +$2");
pub(crate) const COUNT_JOBS: Dialects = Dialects::same(
    "SELECT state, count(*) AS jobs, CAST(coalesce(sum(ended_at - created_at), 0) AS bigint) AS took FROM jobs GROUP BY state",
);
pub(crate) const FORGET_JOBS: Dialects = Dialects::same("DELETE FROM jobs WHERE expires_at < $1");
pub(crate) const ADD_JOB: Dialects = Dialects::same(
    "INSERT INTO jobs (id, agent_id, person, channel_id, message_id, state, created_at, expires_at, metadata) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING",
);
pub(crate) const END_JOB: Dialects = Dialects::same(
    "UPDATE jobs SET state = $2, ended_at = $3, answer_id = $4, error = $5 WHERE id = $1 AND state = 'processing'",
);

#[derive(FromRow)]
struct SessionRow {
    id: Uuid,
    agent_id: Uuid,
    channel_id: Uuid,
    person: Uuid,
    metadata: String,
    timeout: String,
    created_at: i64,
    last_activity: i64,
    expires_at: i64,
    renewals: i64,
    warned: bool,
}

impl SessionRow {
    fn decode(self) -> Result<ChatSession> {
        Ok(ChatSession {
            id: self.id,
            agent: AgentId(self.agent_id),
            channel: self.channel_id,
            user: self.person,
            metadata: from_json("session", &self.metadata)?,
            timeout: from_json("session", &self.timeout)?,
            created_at: Timestamp(self.created_at),
            last_activity: Timestamp(self.last_activity),
            expires_at: Timestamp(self.expires_at),
            renewals: self.renewals,
            warned: self.warned,
        })
    }
}

#[derive(FromRow)]
struct JobRow {
    id: Uuid,
    agent_id: Uuid,
    person: Uuid,
    channel_id: Uuid,
    message_id: Uuid,
    state: String,
    created_at: i64,
    expires_at: i64,
    ended_at: Option<i64>,
    answer_id: Option<Uuid>,
    error: Option<String>,
    metadata: String,
}

/// A state of a job, as it is stored.
fn job_state(text: &str) -> Result<JobState> {
    JobState::from_stored(text)
        .ok_or_else(|| galatea_core::Error::unexpected("a job is in an unknown state"))
}

impl JobRow {
    fn decode(self) -> Result<Job> {
        Ok(Job {
            id: self.id,
            agent: AgentId(self.agent_id),
            user: self.person,
            channel: self.channel_id,
            message: self.message_id,
            state: job_state(&self.state)?,
            created_at: Timestamp(self.created_at),
            expires_at: Timestamp(self.expires_at),
            ended_at: self.ended_at.map(Timestamp),
            answer: self.answer_id.map(MemoryId),
            error: self.error,
            metadata: from_json("job", &self.metadata)?,
        })
    }
}

#[async_trait]
impl ChatStore for Database {
    async fn chat_session(&self, id: Uuid) -> Result<Option<ChatSession>> {
        let row = self.fetch_one::<SessionRow>(SESSION.with(values![id])).await?;
        row.map(SessionRow::decode).transpose()
    }

    async fn chat_sessions(&self, limit: u32) -> Result<Vec<ChatSession>> {
        let rows = self.all::<SessionRow>(SESSIONS.with(values![limit])).await?;
        rows.into_iter().map(SessionRow::decode).collect()
    }

    async fn add_chat_session(&self, session: &ChatSession) -> Result<()> {
        let mut values = values![session.id, session.agent.0, session.channel, session.user];
        values.extend([json(&session.metadata)?, json(&session.timeout)?]);
        values.extend(values![
            session.created_at.0,
            session.last_activity.0,
            session.expires_at.0,
            session.renewals,
            session.warned
        ]);
        let expire = EXPIRE_SESSIONS.with(values![session.created_at.0]);
        self.together(vec![expire, ADD_SESSION.with(values)], 1).await.map(drop)
    }

    async fn change_chat_session(&self, session: &ChatSession, renewals: i64) -> Result<bool> {
        let mut values = vec![session.id.into(), json(&session.timeout)?];
        values.extend(values![
            session.last_activity.0,
            session.expires_at.0,
            session.renewals,
            session.warned,
            renewals
        ]);
        Ok(self.write_one(CHANGE_SESSION.with(values)).await? > 0)
    }

    async fn remove_chat_session(&self, id: Uuid) -> Result<bool> {
        Ok(self.write_one(REMOVE_SESSION.with(values![id])).await? > 0)
    }

    async fn job(&self, id: Uuid) -> Result<Option<Job>> {
        let row = self.fetch_one::<JobRow>(JOB.with(values![id])).await?;
        row.map(JobRow::decode).transpose()
    }

    async fn jobs(&self, state: Option<JobState>, limit: u32) -> Result<Vec<Job>> {
        let statement = match state {
            Some(state) => JOBS_IN_STATE.with(values![state.as_str(), limit]),
            None => JOBS.with(values![limit]),
        };
        self.all::<JobRow>(statement).await?.into_iter().map(JobRow::decode).collect()
    }

    async fn count_jobs(&self) -> Result<Vec<JobCount>> {
        let rows: Vec<(String, i64, i64)> = self.all(COUNT_JOBS.with(values![])).await?;
        rows.into_iter()
            .map(|(state, jobs, took)| {
                let jobs = u64::try_from(jobs).unwrap_or(0);
                Ok(JobCount { state: job_state(&state)?, jobs, took })
            })
            .collect()
    }

    async fn add_job(&self, job: &Job, forget: Timestamp) -> Result<()> {
        let mut values = values![job.id, job.agent.0, job.user, job.channel, job.message];
        values.extend(values![job.state.as_str(), job.created_at.0, job.expires_at.0]);
        values.push(json(&job.metadata)?);
        let statements = vec![FORGET_JOBS.with(values![forget.0]), ADD_JOB.with(values)];
        self.together(statements, 1).await.map(drop)
    }

    async fn end_job(&self, job: &Job) -> Result<bool> {
        let values = values![
            job.id,
            job.state.as_str(),
            job.ended_at.map(|at| at.0),
            job.answer.map(|id| id.0),
            job.error.clone()
        ];
        Ok(self.write_one(END_JOB.with(values)).await? > 0)
    }
}
