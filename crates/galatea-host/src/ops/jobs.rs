//! Jobs of elizaOS's API: a question whose answer is fetched later. How far one has come is read from
//! what the agent has stored, so that a job outlives the process that took it.

use galatea_core::{
    AgentId, Decision, Error, Memory, Result, Timestamp, TurnId,
    store::{InboxItem, InboxState, Job, JobCount, JobState, OperatorRole},
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    Operator, Ops,
    channel_history::{NewChannelMessage, ids},
    channels::{DEFAULT_SERVER, NewChannel, object},
    chat::Chat,
};

/// For how long a job is kept after its end, in milliseconds.
const KEPT: i64 = 24 * 60 * 60 * 1000;
/// Most jobs of a list.
pub const JOBS: u32 = 1_000;

/// What became of a message in an agent's inbox.
#[derive(Debug, Clone, PartialEq)]
pub enum Fate {
    /// It waits, or is being answered.
    Open,
    /// It is answered. The messages of the answer, in order; none where a command was carried out without
    /// one.
    Answered(Vec<Memory>),
    /// It is not answered, for this reason.
    Silent(String),
    /// It could not be answered, for this reason.
    Failed(String),
}

/// The reason of a decision in words.
fn reason(item: &InboxItem) -> String {
    let step = item.verdict.as_ref().and_then(|verdict| verdict.steps.last());
    step.map_or_else(|| "no reason was stored".to_owned(), |step| step.reason.to_string())
}

impl Ops {
    /// What became of a message of a channel with an agent of it.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn fate(
        &self,
        by: &Operator,
        agent: AgentId,
        channel: Uuid,
        message: Uuid,
    ) -> Result<Fate> {
        by.need(OperatorRole::Viewer)?;
        let id = ids::memory_of(agent, channel, message);
        let Some(item) = self.store.inbox_item(id).await? else { return Ok(Fate::Open) };
        let decision = item.verdict.as_ref().map(|verdict| verdict.decision);
        Ok(match (item.state, decision, item.turn) {
            (InboxState::New, ..) => Fate::Open,
            (
                InboxState::Done,
                Some(Decision::Answer | Decision::Command | Decision::Merged),
                Some(turn),
            ) => Fate::Answered(self.answers_of(turn).await?),
            (InboxState::Dead | InboxState::Expired, ..) => Fate::Failed(reason(&item)),
            _ => Fate::Silent(reason(&item)),
        })
    }

    /// The messages of a turn's answer, in order.
    pub(crate) async fn answers_of(&self, turn: TurnId) -> Result<Vec<Memory>> {
        let mut memories: Vec<Memory> = Vec::new();
        for part in self.store.deliveries_of(turn).await? {
            let Some(id) = part.memory else { continue };
            if memories.iter().any(|memory| memory.id == id) {
                continue;
            }
            memories.extend(self.store.memory(id).await?);
        }
        Ok(memories)
    }

    /// Asks an agent in a channel of its own. The answer is fetched later.
    ///
    /// # Errors
    /// `NotFound` for an unknown agent, and as [`Ops::say`].
    #[allow(clippy::too_many_arguments, reason = "each is a part of elizaOS's request")]
    pub async fn ask_job(
        &self,
        by: &Operator,
        chat: &Chat,
        agent: AgentId,
        user: Uuid,
        text: String,
        metadata: Value,
        millis: i64,
    ) -> Result<Job> {
        by.need(OperatorRole::Operator)?;
        self.agent(by, agent).await?;
        let (id, metadata) = (Uuid::new_v4(), object(metadata)?);
        let with = |more: Value| {
            let mut all = metadata.clone();
            if let (Some(all), Value::Object(more)) = (all.as_object_mut(), more) {
                all.extend(more);
            }
            all
        };
        let new = NewChannel {
            server: DEFAULT_SERVER,
            name: format!("job-{id}"),
            kind: "DM".to_owned(),
            metadata: with(
                json!({ "jobId": id, "agentId": agent, "userId": user, "isJobChannel": true }),
            ),
            people: vec![user, agent.0],
            ..NewChannel::default()
        };
        let channel = self.make_channel(by, new).await?.id;
        let message = NewChannelMessage {
            channel,
            author: user,
            raw: json!({ "content": text }),
            text,
            source_type: Some("job_request".to_owned()),
            metadata: with(json!({ "jobId": id, "isJobMessage": true })),
            ..NewChannelMessage::default()
        };
        let now = self.clock.now();
        let said = self.say(by, chat, message, None, Some(agent)).await?;
        let job = Job {
            id,
            agent,
            user,
            channel,
            message: said.message.id,
            state: JobState::Processing,
            created_at: now,
            expires_at: Timestamp(now.0.saturating_add(millis)),
            ended_at: None,
            answer: None,
            error: None,
            metadata,
        };
        self.store.add_job(&job, Timestamp(now.0.saturating_sub(KEPT))).await?;
        Ok(job)
    }

    /// A job as far as it has come.
    ///
    /// # Errors
    /// `NotFound` for an unknown one.
    pub async fn job(&self, by: &Operator, id: Uuid) -> Result<Job> {
        by.need(OperatorRole::Viewer)?;
        let job = self.store.job(id).await?;
        self.looked_at(by, job.ok_or_else(|| Error::not_found("Job not found"))?).await
    }

    /// Jobs of a state, or of all, newest first.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn jobs(
        &self,
        by: &Operator,
        state: Option<JobState>,
        limit: u32,
    ) -> Result<Vec<Job>> {
        by.need(OperatorRole::Viewer)?;
        let mut jobs = Vec::new();
        for job in self.store.jobs(state, limit.clamp(1, JOBS)).await? {
            let job = self.looked_at(by, job).await?;
            if state.is_none_or(|state| state == job.state) {
                jobs.push(job);
            }
        }
        Ok(jobs)
    }

    /// Jobs, counted by their states.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn count_jobs(&self, by: &Operator) -> Result<Vec<JobCount>> {
        by.need(OperatorRole::Viewer)?;
        self.store.count_jobs().await
    }

    /// Ends a job that has an answer, or a reason for none. Another process may have done so.
    async fn looked_at(&self, by: &Operator, job: Job) -> Result<Job> {
        if job.state != JobState::Processing {
            return Ok(job);
        }
        let now = self.clock.now();
        let late = job.expires_at < now;
        let (state, answer, error) =
            match self.fate(by, job.agent, job.channel, job.message).await? {
                Fate::Answered(said) => match said.last() {
                    Some(last) => (JobState::Completed, Some(last.id), None),
                    None => (JobState::Completed, None, None),
                },
                Fate::Silent(reason) => {
                    let words = format!("The agent does not answer: {reason}");
                    (JobState::Failed, None, Some(words))
                }
                Fate::Failed(reason) => {
                    let words = format!("The agent could not answer: {reason}");
                    (JobState::Failed, None, Some(words))
                }
                Fate::Open if late => {
                    let words = "Job timed out waiting for agent response".to_owned();
                    (JobState::Timeout, None, Some(words))
                }
                Fate::Open => return Ok(job),
            };
        let ended = Job { state, answer, error, ended_at: Some(now), ..job };
        if self.store.end_job(&ended).await? {
            return Ok(ended);
        }
        self.store.job(ended.id).await?.ok_or_else(|| Error::not_found("Job not found"))
    }
}
