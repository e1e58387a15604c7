//! Sessions of elizaOS's API: conversations in a channel of their own, which end by themselves.

use galatea_core::{
    AgentId, Error, ErrorKind, Result, Timestamp,
    store::{CHANNELS_LISTED, ChatSession, OperatorRole, SessionTimeout},
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    Operator, Ops,
    channels::{DEFAULT_SERVER, NewChannel, object},
    session_time::{self, SessionRules},
};

/// Code of a session that has ended.
pub const SESSION_ENDED: &str = "GAL-SESSION-ENDED";

/// How often a change of a session is tried against others of the same moment.
const TRIES: usize = 8;

/// What happens to a session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Activity {
    /// A message. Renews the session if it is renewed by activity.
    Message,
    /// A sign of life. As a message.
    Heartbeat,
    /// A renewal that a program asks for, whatever the session's own rule.
    Renewal,
    /// Another timeout.
    Timeout(SessionTimeout),
}

impl Ops {
    /// Begins a session of a person with an agent, in a channel of its own.
    ///
    /// # Errors
    /// `NotFound` for an unknown agent, `TooLong` for metadata beyond the limit.
    pub async fn begin_session(
        &self,
        by: &Operator,
        agent: AgentId,
        user: Uuid,
        metadata: Value,
        timeout: SessionTimeout,
    ) -> Result<ChatSession> {
        by.need(OperatorRole::Operator)?;
        self.agent(by, agent).await?;
        let (id, metadata) = (Uuid::new_v4(), object(metadata)?);
        let mut kept =
            json!({ "sessionId": id, "agentId": agent, "userId": user, "timeoutConfig": timeout });
        if let (Some(kept), Value::Object(own)) = (kept.as_object_mut(), metadata.clone()) {
            kept.extend(own);
        }
        let new = NewChannel {
            server: DEFAULT_SERVER,
            name: format!("session-{id}"),
            kind: "DM".to_owned(),
            metadata: kept,
            people: vec![user, agent.0],
            ..NewChannel::default()
        };
        let channel = self.make_channel(by, new).await?;
        let now = self.clock.now();
        let mut session = ChatSession {
            id,
            agent,
            channel: channel.id,
            user,
            metadata,
            timeout,
            created_at: now,
            last_activity: now,
            expires_at: now,
            renewals: 0,
            warned: false,
        };
        session.expires_at = session_time::end(&session);
        self.store.add_chat_session(&session).await?;
        Ok(session)
    }

    /// A session that has not ended.
    ///
    /// # Errors
    /// `NotFound` for an unknown one, and for one that has ended ([`SESSION_ENDED`]), which is removed.
    pub async fn chat_session(&self, by: &Operator, id: Uuid) -> Result<ChatSession> {
        by.need(OperatorRole::Viewer)?;
        let session = self.store.chat_session(id).await?;
        let session = session.ok_or_else(|| Error::not_found("there is no such session"))?;
        if session.expires_at <= self.clock.now() {
            self.store.remove_chat_session(id).await?;
            return Err(Error::not_found("the session has ended")
                .with_code(SESSION_ENDED)
                .with("ended", session.expires_at.0));
        }
        Ok(session)
    }

    /// Sessions that have not ended, newest first, and how many have and are still there.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn chat_sessions(&self, by: &Operator) -> Result<(Vec<ChatSession>, usize)> {
        by.need(OperatorRole::Viewer)?;
        let mut sessions = self.store.chat_sessions(CHANNELS_LISTED).await?;
        let (all, now) = (sessions.len(), self.clock.now());
        sessions.retain(|session| session.expires_at > now);
        let ended = all - sessions.len();
        Ok((sessions, ended))
    }

    /// Notes what happens to a session. Says whether it was renewed.
    ///
    /// # Errors
    /// As [`Ops::chat_session`]; `Conflict` if it cannot be renewed any more.
    pub async fn touch_session(
        &self,
        by: &Operator,
        id: Uuid,
        activity: Activity,
    ) -> Result<(ChatSession, bool)> {
        by.need(OperatorRole::Operator)?;
        for _ in 0..TRIES {
            let mut session = self.chat_session(by, id).await?;
            let (read, now) = (session.renewals, self.clock.now());
            let renewed = apply(&mut session, activity, now)?;
            if self.store.change_chat_session(&session, read).await? {
                return Ok((session, renewed));
            }
        }
        Err(Error::new(ErrorKind::Unavailable, "the session changes too often at this moment"))
    }

    /// Ends a session. Its channel and messages stay.
    ///
    /// # Errors
    /// `NotFound` for an unknown one.
    pub async fn end_chat_session(&self, by: &Operator, id: Uuid) -> Result<()> {
        by.need(OperatorRole::Operator)?;
        if self.store.remove_chat_session(id).await? {
            return Ok(());
        }
        Err(Error::not_found("there is no such session"))
    }
}

/// The session after what happened; true if it was renewed.
fn apply(session: &mut ChatSession, activity: Activity, now: Timestamp) -> Result<bool> {
    let renewed = match activity {
        Activity::Renewal => {
            let own = std::mem::replace(&mut session.timeout.auto_renew, true);
            let renewed = session_time::renew(session, now);
            session.timeout.auto_renew = own;
            if !renewed {
                return Err(Error::new(ErrorKind::Conflict, "Maximum duration reached"));
            }
            true
        }
        Activity::Timeout(timeout) => {
            session.timeout = timeout;
            session.expires_at = session_time::end(session);
            false
        }
        Activity::Message | Activity::Heartbeat if session.timeout.auto_renew => {
            session_time::renew(session, now)
        }
        Activity::Message | Activity::Heartbeat => {
            session.last_activity = now;
            false
        }
    };
    session.warned |= session_time::is_near_end(session, now);
    Ok(renewed)
}

/// The rules of this installation.
impl Ops {
    /// Bounds and defaults of sessions.
    pub fn session_rules(&self) -> SessionRules {
        SessionRules::default()
    }
}
