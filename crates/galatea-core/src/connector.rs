//! Connector and SendHandler: what a platform crate implements.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

use crate::{
    character::Explanation,
    error::{Error, Result},
    gateway::Gateway,
    ids::Source,
};

pub use crate::{
    finding::{Finding, Severity},
    send_handler::{Capabilities, ConnectorInfo, Priority, ReadBack, SendHandler, Speak, TextUnit},
    variable::Variable,
};

/// The inbound side of a platform, for one account.
#[async_trait]
pub trait Connector: Send + Sync {
    /// Source, account and abilities. No I/O.
    fn info(&self) -> &ConnectorInfo;

    /// Asks the platform whether the configuration works, without starting anything. Safe to call while running.
    async fn check(&self) -> Vec<Finding>;

    /// What [`Self::check`] costs, as a sentence: `This makes one paid read (about $0.01).` Asked before a check; none where it is free.
    fn check_cost(&self) -> Option<String> {
        None
    }

    /// What is known without asking the platform, such as money that is spent. Free; told where a check that costs is not made.
    fn remarks(&self) -> Vec<Finding> {
        Vec::new()
    }

    /// Does what [`Finding::repair`] of one of its own findings announces. Called only after a person agreed.
    async fn repair(&self, finding: &Finding) -> Result<()> {
        Err(Error::invalid("this cannot be repaired from here").with("finding", &finding.id))
    }

    /// The outbound side as it is before and without [`Self::run`], for a process that answers while another one is connected: it encodes,
    /// shows typing and downloads there. None for a platform that is this machine's own, such as its terminal: it is never another's.
    fn send_handler(&self) -> Option<Arc<dyn SendHandler>> {
        None
    }

    /// Runs until `stop` or a failure.
    ///
    /// # Behaviour
    /// - Registers its send handler on the gateway before the first event.
    /// - Advances the platform's offset only after [`Gateway::receive`] returned Ok.
    /// - Does not retry a failed start: it returns the error and is restarted with backoff. `Retry::Never` parks it until the configuration changes.
    /// - Returns Ok soon after `stop` is cancelled.
    async fn run(&self, gateway: Gateway, stop: CancellationToken) -> Result<()>;
}

/// Builds a connector from its typed configuration.
pub trait ConnectorConfig: DeserializeOwned + JsonSchema + Send + Sync {
    /// Its platform.
    const SOURCE: Source;
    /// Every setting it reads, for docs, `.env.example` and "did you mean".
    const VARIABLES: &'static [Variable];
    /// What its error codes mean, for `galatea explain` and the reference.
    const PAGES: &'static [Explanation] = &[];

    /// Reads the agent's settings. `Ok(None)` when nothing of this platform is configured; the reason is in [`Variable::required`].
    fn from_settings(settings: &crate::settings::Settings) -> Result<Option<Self>>
    where
        Self: Sized;

    /// Settings of other programs for the same platform, in the words of the runtime's gate (`<SOURCE>_ALLOWED_CHATS`, …), which applies
    /// and explains them; a setting of the gate's own name is stronger. Empty unless the platform has such.
    fn policy(_: &crate::settings::Settings) -> Result<Vec<(&'static str, String)>>
    where
        Self: Sized,
    {
        Ok(Vec::new())
    }

    /// Whether a person of this platform can have this id: tells a handle written without `@` in a list of people from an id. Unless a
    /// platform says how its ids look, any text may be one.
    fn is_person_id(_: &str) -> bool
    where
        Self: Sized,
    {
        true
    }

    /// Assembles the connector. No network calls.
    fn build(self, host: &Host) -> Result<Arc<dyn Connector>>;

    /// Begins a login with a browser; none where the settings are all it takes. No network calls.
    fn login(self, _: &Host) -> Result<Option<Box<dyn BrowserLogin>>>
    where
        Self: Sized,
    {
        Ok(None)
    }
}

/// A login in the making, on platforms that want a person to agree in a browser.
#[async_trait]
pub trait BrowserLogin: Send + Sync {
    /// Address of the page the person opens.
    fn page(&self) -> &str;

    /// Where the platform sends the browser afterwards. One on this machine can be listened on.
    fn redirect(&self) -> &str;

    /// Takes the address the browser was sent to, or the code in it, and keeps what it is worth. Returns who is logged in, for people.
    async fn finish(&self, answer: &str) -> Result<String>;
}

/// What a connector may need to be built.
#[derive(Clone)]
pub struct Host {
    /// Whose connector it is.
    pub agent: crate::ids::AgentIdentity,
    /// The character's name, for help texts.
    pub agent_name: String,
    /// Folder for this connector's own files (a socket, a download cache); exists.
    pub data_dir: std::path::PathBuf,
    /// The clock.
    pub clock: Arc<dyn crate::clock::Clock>,
}
