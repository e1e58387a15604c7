//! Connector and SendHandler: what a platform crate implements.

pub mod gateway;
pub(crate) mod known_account;
pub(crate) mod send_handler;
pub(crate) mod send_permit;
pub(crate) mod state_keeper;

use async_trait::async_trait;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

use crate::{
    character::Explanation,
    connector::known_account::KnownAccount,
    error::{Error, Result},
    gateway::Gateway,
    ids::Source,
};

pub use crate::{
    connector::send_handler::{
        Capabilities, ConnectorInfo, Priority, ReadBack, SendHandler, Speak, TextUnit,
    },
    error::finding::{Finding, Severity},
    settings::variable::Variable,
};

/// The inbound side of a platform, for one account. The [crate's guide](crate#a-connector) has a
/// whole one; this is the loop of one that polls:
///
/// ```
/// use galatea_core::{Batch, Cursor, Gateway, Health, Incoming, Result};
/// use tokio_util::sync::CancellationToken;
///
/// # async fn next_page(_: Option<&str>) -> Result<(Vec<Incoming>, String)> { Ok((vec![], "1".into())) }
/// async fn receive(gateway: Gateway, stop: CancellationToken) -> Result<()> {
///     let mut position = gateway.cursor("updates").await?.map(|cursor| cursor.position);
///     gateway.report(Health::Up { detail: "polling".to_owned() });
///     loop {
///         let (events, next) = tokio::select! {
///             () = stop.cancelled() => return Ok(()),
///             page = next_page(position.as_deref()) => page?,
///         };
///         let cursor = Cursor { stream: "updates".to_owned(), position: next.clone() };
///         // Only what is durable is acknowledged, here by asking for the page after it.
///         gateway.receive(Batch { events, cursor: Some(cursor), ..Batch::default() }).await?;
///         position = Some(next);
///     }
/// }
/// ```
#[async_trait]
pub trait Connector: Send + Sync {
    /// Source, account and capabilities. Called at any time, before and during [`Self::run`]. No
    /// I/O.
    fn info(&self) -> &ConnectorInfo;

    /// Asks the platform whether the configuration works, without starting anything. Called by
    /// `galatea doctor`, `galatea connector check` and `galatea init`, also while [`Self::run`]
    /// runs.
    async fn check(&self) -> Vec<Finding>;

    /// Cost of [`Self::check`], as a sentence: `This makes one paid read (about $0.01).` Called
    /// before a check, so that a person can agree first; none where it is free.
    fn check_cost(&self) -> Option<String> {
        None
    }

    /// Findings without a call to the platform, such as money that is spent. Called in place
    /// of a [`Self::check`] that costs money and was not agreed to.
    fn remarks(&self) -> Vec<Finding> {
        Vec::new()
    }

    /// Does what [`Finding::repair`] of one of its own findings announces. Called by
    /// `galatea connector check --fix`, only after a person agreed.
    ///
    /// # Errors
    /// `Invalid` for a finding that cannot be repaired from here; otherwise the platform's failure.
    async fn repair(&self, finding: &Finding) -> Result<()> {
        Err(Error::invalid("this cannot be repaired from here").with("finding", &finding.id))
    }

    /// The outbound side before and without [`Self::run`]. Called by a process that answers while
    /// another process holds the account: it encodes, shows typing and downloads with it. None for
    /// a platform of this machine alone, such as its terminal.
    fn send_handler(&self) -> Option<Arc<dyn SendHandler>> {
        None
    }

    /// True if its [`SendHandler::delivers_by_commit`] is. Processes that share a database take messages
    /// in side by side, and share the Rooms. Called at the start. No I/O.
    fn delivers_by_commit(&self) -> bool {
        false
    }

    /// Why this process cannot log in to the account, and so does not know which one it is: a
    /// browser login that is still to be made on this machine. None where the settings are all it
    /// takes. Called at the start. No I/O.
    fn login_needed(&self) -> Option<Error> {
        None
    }

    /// Receives until `stop` or a failure. Called once the process holds the account, and again
    /// after it returned an error, with backoff.
    ///
    /// # Behaviour
    /// - Registers its send handler on the gateway before the first event.
    /// - Advances the platform's offset only after [`Gateway::receive`] returned Ok.
    /// - Does not retry a failed start: it returns the error and is restarted with backoff.
    ///   `Retry::Never` parks it until the configuration changes.
    /// - Returns Ok soon after `stop` is cancelled.
    async fn run(&self, gateway: Gateway, stop: CancellationToken) -> Result<()>;
}

/// Builds a connector from its typed configuration. The program calls it once per agent and
/// account.
pub trait ConnectorConfig: Send + Sync {
    /// The platform's name, as in settings and in `galatea connector ls`.
    const SOURCE: Source;
    /// Every setting it reads, for docs, `.env.example` and "did you mean".
    const VARIABLES: &'static [Variable];
    /// Meaning of its error codes, for `galatea explain` and the reference.
    const PAGES: &'static [Explanation] = &[];

    /// Reads the agent's settings. Called at each start and by `galatea doctor`. `Ok(None)` when
    /// nothing of this platform is configured; the reason is in [`Variable::required`].
    ///
    /// # Errors
    /// `Invalid` with the setting's place, without its value.
    fn from_settings(settings: &crate::settings::Settings) -> Result<Option<Self>>
    where
        Self: Sized;

    /// Settings of other programs for the same platform, in the words of the runtime's gate
    /// (`<SOURCE>_ALLOWED_CHATS`, …), which applies and explains them; a setting of the gate's own
    /// name is stronger. Empty unless the platform has such. Called at each start, after
    /// [`Self::from_settings`].
    fn policy(_: &crate::settings::Settings) -> Result<Vec<(&'static str, String)>>
    where
        Self: Sized,
    {
        Ok(Vec::new())
    }

    /// True if a person of this platform can have this id: distinguishes an id in a list of people
    /// from a handle written without `@`. Unless a platform says how its ids look, any text may be
    /// one. Called for each entry of a list of people, when the settings are read.
    fn is_person_id(_: &str) -> bool
    where
        Self: Sized,
    {
        true
    }

    /// The outbound side of an account whose login another process has. `settings` are the account's,
    /// as far as this process has them. Called in a process that answers for an account without
    /// its login; none where accounts of the platform cannot be shared. No network calls.
    ///
    /// # Errors
    /// `Invalid` with the setting's place, without its value.
    fn encoder(
        _: &crate::settings::Settings,
        _: &KnownAccount,
    ) -> Result<Option<Arc<dyn SendHandler>>>
    where
        Self: Sized,
    {
        Ok(None)
    }

    /// Assembles the connector. Called after [`Self::from_settings`], before any other method. No
    /// network calls.
    fn build(self, host: &Host) -> Result<Arc<dyn Connector>>;

    /// Begins a login with a browser. Called by `galatea connector login`; none where the settings
    /// are all it takes. No network calls.
    fn login(self, _: &Host) -> Result<Option<Box<dyn BrowserLogin>>>
    where
        Self: Sized,
    {
        Ok(None)
    }
}

/// A login that a person confirms in a browser, begun by [`ConnectorConfig::login`].
#[async_trait]
pub trait BrowserLogin: Send + Sync {
    /// Address of the page the person opens. Called once, before the person is asked to open it.
    fn page(&self) -> &str;

    /// Address to which the platform sends the browser afterwards. One on this machine can be
    /// listened on. Called once, before the page is shown.
    fn redirect(&self) -> &str;

    /// Exchanges the address that the browser was sent to, or the code in it, for a login and
    /// stores that. Called once, after the person agreed. Returns the name of the account, for
    /// people.
    async fn finish(&self, answer: &str) -> Result<String>;
}

/// The parts that a connector is built from; passed to [`ConnectorConfig::build`].
#[derive(Clone)]
pub struct Host {
    /// The agent that the connector belongs to.
    pub agent: crate::ids::AgentIdentity,
    /// The character's name, for help texts.
    pub agent_name: String,
    /// The process's data folder; it exists. All connectors of the process share it. Files of one
    /// account, such as a login, belong into [`Self::account_dir`].
    pub data_dir: std::path::PathBuf,
    /// The runtime's clock, which tests set by hand.
    pub clock: Arc<dyn crate::clock::Clock>,
}

impl Host {
    /// Path of the folder with the files of one account: `telegram-7000000001`. `name` is the
    /// account, or another name that is unique among the platform's accounts. Characters other than
    /// ASCII letters, digits and `-` become `_`, and 60 of them are used, so that the name is valid
    /// on every file system. [`crate::private_file`] creates the folder with its first file.
    pub fn account_dir(&self, source: &Source, name: &str) -> std::path::PathBuf {
        let name: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
            .take(60)
            .collect();
        self.data_dir.join(format!("{source}-{name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AgentIdentity, SystemClock};

    #[test]
    fn an_account_has_a_folder_of_its_own_inside_the_data_folder() {
        let host = Host {
            agent: AgentIdentity::new(None, "Galatea"),
            agent_name: "Galatea".into(),
            data_dir: "/data".into(),
            clock: Arc::new(SystemClock),
        };
        let dir = |name: &str| host.account_dir(&Source::new("x"), name);
        assert_eq!(dir("12"), std::path::Path::new("/data/x-12"));
        assert_eq!(dir("12/../3"), std::path::Path::new("/data/x-12____3"));
        assert_eq!(dir(&"a".repeat(500)).as_os_str().len(), "/data/x-".len() + 60);
    }
}
