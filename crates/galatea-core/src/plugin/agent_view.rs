//! AgentView: the agent as plugin code sees it.

use std::sync::Arc;

use crate::{character::Character, ids::AgentIdentity, settings::Settings, zone::Zone};

/// The agent as plugin code sees it: a value, no behaviour. It stays the same during a turn; a later
/// turn may see a changed character and changed settings.
#[derive(Clone)]
pub struct AgentView {
    /// Derives the ids of the agent, and of people and places as it knows them.
    pub identity: AgentIdentity,
    /// The persona, as its file was read last.
    pub character: Arc<Character>,
    /// The agent's settings, each with the layer that it comes from.
    pub settings: Settings,
    /// The agent's time zone, for times in prompts.
    pub zone: Arc<Zone>,
}
