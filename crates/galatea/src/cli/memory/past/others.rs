//! Rows of other agents, which an import passes over.

use galatea_core::AgentId;
use std::{collections::BTreeMap, path::Path};

use super::super::{format::unreadable, import::Count};
use crate::failure::Result;

/// How many rows each of the other agents has.
#[derive(Default)]
pub(super) struct Others(BTreeMap<String, usize>);

impl Others {
    /// Counts a row of another agent.
    pub(super) fn add(&mut self, agent: AgentId) {
        *self.0.entry(agent.to_string()).or_default() += 1;
    }

    /// Ids of Rooms and people are made from the agent's, so those of another agent are no ids of this
    /// agent's people.
    ///
    /// # Errors
    /// If the file has no memories of this agent, but rows of another.
    pub(super) fn check(
        &self,
        path: impl AsRef<Path>,
        agent: AgentId,
        count: &Count,
    ) -> Result<()> {
        let most = self.0.iter().max_by_key(|(_, rows)| **rows);
        let Some((other, _)) = most.filter(|_| count.read == 0) else { return Ok(()) };
        let cause = format!("it has no memories of the agent {agent}, but of {other}");
        let fix = "Ids are kept, so the agent has to have the same: write `\"id\": \"…\"` with the one above into the character file, start it once, and import again";
        Err(unreadable(path, &cause).with_fix(fix).into())
    }
}
