//! The surroundings that all agents of a process share.

use galatea_core::{Clock, Plugin, Result};
use galatea_http::HttpClient;
use galatea_models::{Configured, Dependencies};
use galatea_runtime::Orchestrator;
use parking_lot::{Mutex, MutexGuard};
use std::{
    path::PathBuf,
    sync::{Arc, Weak},
};

use super::{library, mcp::Hub};
use crate::{characters::personas::Persona, models::choosing::Choosers, platforms::Taken};

/// Which platforms to connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platforms {
    /// Every configured platform.
    All,
    /// Only the terminal.
    Terminal,
    /// None: this process alone talks to its agents.
    None,
}

/// The surroundings that all agents of a process share.
pub(crate) struct Surroundings {
    pub(crate) data_dir: PathBuf,
    pub(super) platforms: Platforms,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) http: HttpClient,
    pub(super) dependencies: Dependencies,
    pub(crate) documents: library::Shared,
    /// Plugins of every agent, beside the standard ones.
    pub(super) plugins: Vec<Plugin>,
    /// Choosers that replace a model of an agent which its provider no longer has.
    pub(super) choosers: Arc<Choosers>,
    /// The MCP servers of all agents.
    pub(crate) mcp: Arc<Hub>,
    /// The engine, once it is made.
    pub(super) orchestrator: Weak<Orchestrator>,
    pub(super) taken: Mutex<Taken>,
}

impl Surroundings {
    /// The models that the settings of a persona name, to check them.
    ///
    /// # Errors
    /// `Invalid` with the place of an invalid setting.
    pub(crate) fn configured(&self, persona: &Persona) -> Result<Configured> {
        galatea_models::build(
            &persona.settings,
            &self.http,
            Arc::clone(&self.clock),
            &self.dependencies,
        )
    }

    /// The logins that agents have.
    pub(super) fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock()
    }
}
