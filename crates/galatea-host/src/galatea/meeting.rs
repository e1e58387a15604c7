//! A Room without a platform, in which agents meet each other and people.

use galatea_core::Result;
use std::sync::Arc;

use super::{agent::Agent, running::Galatea};
use crate::platforms::{MeetingRoom, Person};

/// A Room without a platform. What one member says, person or agent, all others hear; each decides
/// whether to answer. `BOT_HOP_LIMIT` (3) ends a conversation among agents until a person speaks.
/// The room is lost with the process, what was said in it is in each agent's memory.
#[derive(Clone)]
pub struct Meeting(Arc<MeetingRoom>);

impl Galatea {
    /// The Room of this name, which is made if it is new.
    pub fn meeting(&self, name: &str) -> Meeting {
        let mut meetings = self.0.meetings.lock();
        let room = meetings.entry(name.to_owned()).or_insert_with(|| MeetingRoom::new(name));
        Meeting(Arc::clone(room))
    }
}

impl Meeting {
    /// The agent hears what is said from now on.
    ///
    /// # Errors
    /// `NotFound` for an agent that was removed.
    pub fn join(&self, agent: &Agent) -> Result<()> {
        let (direct, name) = agent.way()?;
        self.0.join(agent.id(), &name, &direct);
        Ok(())
    }

    /// The agent hears nothing of the room any more.
    pub fn leave(&self, agent: &Agent) {
        self.0.leave(agent.id());
    }

    /// A person says something to all members. Returns once the inbox of each member that runs has
    /// it; answers come afterwards.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn say(&self, person: impl Into<Person>, text: &str) -> Result<()> {
        self.0.say(&person.into(), text).await
    }

    /// What was said, by whom, the oldest first: the last 256 messages.
    pub fn transcript(&self) -> Vec<(String, String)> {
        let said = self.0.said();
        said.iter().map(|said| (said.name().to_owned(), said.text().to_owned())).collect()
    }
}
