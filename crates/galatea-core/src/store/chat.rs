//! Conversations with an end, as elizaOS's API has them: sessions, and jobs, whose answers are fetched
//! later. What is said is in a channel.

use async_trait::async_trait;
use serde_json::Value;
use uuid::Uuid;

use crate::{
    clock::Timestamp,
    error::Result,
    ids::{AgentId, MemoryId},
};

/// When a session ends.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionTimeout {
    /// Minutes after the last activity, or after its beginning if it is not renewed.
    pub timeout_minutes: f64,
    /// Activity renews it.
    pub auto_renew: bool,
    /// Minutes after its beginning at which it ends in any case.
    pub max_duration_minutes: f64,
    /// Minutes before its end from which it is near its end.
    pub warning_threshold_minutes: f64,
}

/// A conversation of a person with an agent in a channel of its own, which ends by itself.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatSession {
    /// Its id.
    pub id: Uuid,
    /// The agent.
    pub agent: AgentId,
    /// Its channel.
    pub channel: Uuid,
    /// The person.
    pub user: Uuid,
    /// Free keys.
    pub metadata: Value,
    /// When it ends.
    pub timeout: SessionTimeout,
    /// Time of its creation.
    pub created_at: Timestamp,
    /// Time of the last message or heartbeat.
    pub last_activity: Timestamp,
    /// Its end.
    pub expires_at: Timestamp,
    /// How often it was renewed.
    pub renewals: i64,
    /// Its program has been told that the end is near.
    pub warned: bool,
}

/// How far a job has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobState {
    /// The agent has its question.
    Processing,
    /// The agent answered.
    Completed,
    /// The agent stays silent, or could not answer.
    Failed,
    /// There was no answer in time.
    Timeout,
}

impl JobState {
    /// All states.
    pub const ALL: [Self; 4] = [Self::Processing, Self::Completed, Self::Failed, Self::Timeout];

    /// The spelling in the database and in elizaOS's API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Processing => "processing",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Timeout => "timeout",
        }
    }

    /// The state of a spelling.
    pub fn from_stored(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }
}

/// A question to an agent whose answer is fetched later. Its text is a message of its channel.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Its id.
    pub id: Uuid,
    /// The agent.
    pub agent: AgentId,
    /// Who asks.
    pub user: Uuid,
    /// Its channel.
    pub channel: Uuid,
    /// The message with the question.
    pub message: Uuid,
    /// How far it has come.
    pub state: JobState,
    /// Time of its creation.
    pub created_at: Timestamp,
    /// When it is given up.
    pub expires_at: Timestamp,
    /// Time of its end.
    pub ended_at: Option<Timestamp>,
    /// The answer.
    pub answer: Option<MemoryId>,
    /// Why there is none.
    pub error: Option<String>,
    /// Free keys.
    pub metadata: Value,
}

/// Jobs of a state, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobCount {
    /// The state.
    pub state: JobState,
    /// How many.
    pub jobs: u64,
    /// The time from their creation to their end together, in milliseconds.
    pub took: i64,
}

/// Keeps sessions and jobs. Called by the control plane only.
#[async_trait]
pub trait ChatStore: Send + Sync {
    /// A session.
    async fn chat_session(&self, id: Uuid) -> Result<Option<ChatSession>>;
    /// Sessions, newest first.
    async fn chat_sessions(&self, limit: u32) -> Result<Vec<ChatSession>>;
    /// Adds a session, and removes those that ended before its creation.
    async fn add_chat_session(&self, session: &ChatSession) -> Result<()>;
    /// Replaces timeout, activity, end, renewals and warning of a session, unless another call
    /// renewed it meanwhile: `renewals` is the number that was read.
    async fn change_chat_session(&self, session: &ChatSession, renewals: i64) -> Result<bool>;
    /// Removes a session. Its channel stays.
    async fn remove_chat_session(&self, id: Uuid) -> Result<bool>;

    /// A job.
    async fn job(&self, id: Uuid) -> Result<Option<Job>>;
    /// Jobs of a state, or of all, newest first.
    async fn jobs(&self, state: Option<JobState>, limit: u32) -> Result<Vec<Job>>;
    /// Jobs, counted by their states.
    async fn count_jobs(&self) -> Result<Vec<JobCount>>;
    /// Adds a job, and removes those that ended before `forget`.
    async fn add_job(&self, job: &Job, forget: Timestamp) -> Result<()>;
    /// Ends a job that is processed: stores state, end, answer and error. False if it ended before.
    async fn end_job(&self, job: &Job) -> Result<bool>;
}
