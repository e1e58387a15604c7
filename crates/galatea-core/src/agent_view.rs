//! AgentView: the agent as plugin code sees it.

use std::sync::Arc;

use crate::{character::Character, ids::AgentIdentity, settings::Settings, zone::Zone};

/// The agent as plugin code sees it: a value, no behaviour.
#[derive(Clone)]
pub struct AgentView {
    /// Who it is.
    pub identity: AgentIdentity,
    /// Its persona.
    pub character: Arc<Character>,
    /// Its settings.
    pub settings: Settings,
    /// The agent's time zone, for times in prompts.
    pub zone: Arc<Zone>,
}
