//! Connector and SendHandler: what a platform crate implements.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

use crate::{
    character::Explanation,
    content::Media,
    error::{Error, Result},
    gateway::Gateway,
    ids::{Account, RemoteId, Source},
    leave::Leave,
    message::{Address, Delivery, Encoded, Found, Outgoing, Receipt, Trail},
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

/// The outbound side of a platform, for one account.
#[async_trait]
pub trait SendHandler: Send + Sync {
    /// Splits and renders for the platform. Pure: no I/O, same answer for the same input; each result fits one call.
    /// Typing encodes to nothing when the platform cannot show it.
    fn encode(&self, outgoing: &Outgoing) -> Result<Vec<Encoded>>;

    /// What goes before what when calls compete. Pure; by what [`Self::encode`] wrote.
    fn priority(&self, _: &Encoded) -> Priority {
        Priority::Answer
    }

    /// One attempt. No retry in here; flood waits come back as `RateLimited` with `Retry::After`.
    /// An error says by [`crate::error::Sent`] whether the platform may have done it.
    async fn send(&self, delivery: &Delivery) -> Result<Receipt>;

    /// The same, for a platform that shows what is sent twice: looks at `leave` when the bytes go out, and lets nothing out without it.
    async fn send_with(&self, delivery: &Delivery, _leave: &Leave) -> Result<Receipt> {
        self.send(delivery).await
    }

    /// Read-back of a delivery whose outcome is unknown.
    async fn find(&self, delivery: &Delivery, trail: &Trail) -> Result<Found>;

    /// Shows that an answer is being prepared; called again every few seconds while it is.
    async fn typing(&self, address: &Address) -> Result<()>;

    /// Whether the platform shows people that an answer to this message is coming (`is thinking…`). Its answer is then given as a reply
    /// to it, or [`Self::unanswered`] is called. Pure.
    fn awaits(&self, _: &RemoteId) -> bool {
        false
    }

    /// A message that [`Self::awaits`] an answer gets none, for this reason: ends what shows that one is coming, and may tell whoever
    /// asked. Tried once; nothing is lost when it fails.
    async fn unanswered(&self, _: &Address, _: &RemoteId, _why: &str) -> Result<()> {
        Ok(())
    }

    /// Downloads a file of a received message whose address only this connector can open. At most `limit` bytes: a larger one is `Invalid`.
    async fn fetch(&self, media: &Media, limit: usize) -> Result<Vec<u8>> {
        Err(Error::invalid("this platform's files cannot be downloaded").with("attachment", &media.id).with("limit", limit))
    }
}

/// What goes before what when calls compete for a platform's allowance, the most important first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Something is said.
    Answer,
    /// Whoever pressed a button or called a command is told; a file is fetched to be looked at.
    Callback,
    /// A message is changed or removed, a reaction set.
    Change,
    /// It is shown that an answer is coming. Worth nothing a moment later: dropped rather than waited for.
    Typing,
}

/// What a connector is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorInfo {
    /// Platform.
    pub source: Source,
    /// Login on it.
    pub account: Account,
    /// Abilities.
    pub capabilities: Capabilities,
}

/// What a platform can do. Shared tests choose their cases by it; prompts state the limits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    /// Longest text of one message, in `text_unit`s.
    pub max_text: usize,
    /// What `max_text` counts.
    pub text_unit: TextUnit,
    /// A message can be changed afterwards.
    pub edit: bool,
    /// A message can be removed.
    pub delete: bool,
    /// Reactions can be set.
    pub react: bool,
    /// Typing can be shown.
    pub typing: bool,
    /// Buttons can be shown.
    pub buttons: bool,
    /// Files can be sent.
    pub files: bool,
    /// Rooms can have threads or topics.
    pub threads: bool,
    /// An ambiguous send can be resolved.
    pub read_back: ReadBack,
    /// Strangers see what is said here: the offline script is off unless opted in.
    pub public: bool,
}

/// Unit of a length limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextUnit {
    /// UTF-16 code units.
    Utf16,
    /// Unicode code points.
    CodePoints,
    /// X's weighted length.
    Weighted,
}

/// How an ambiguous send is resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadBack {
    /// The platform accepts a key and never sends twice.
    Key,
    /// `find` can look.
    Find,
    /// Neither.
    None,
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

/// One environment variable or setting, declared once by the crate that reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Variable {
    /// Its name, elizaOS's where elizaOS has one.
    pub name: &'static str,
    /// Other names that are accepted.
    pub aliases: &'static [&'static str],
    /// One sentence: what it is for.
    pub help: &'static str,
    /// Shown as the value when unset.
    pub default: Option<&'static str>,
    /// A secret: masked everywhere, `<NAME>_FILE` is read too.
    pub secret: bool,
    /// Without it the feature stays off.
    pub required: bool,
}

impl Variable {
    /// An optional, public variable.
    pub const fn new(name: &'static str, help: &'static str) -> Self {
        Self { name, aliases: &[], help, default: None, secret: false, required: false }
    }
    /// With a default.
    #[must_use]
    pub const fn or(mut self, default: &'static str) -> Self {
        self.default = Some(default);
        self
    }
    /// As a secret.
    #[must_use]
    pub const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }
    /// As required.
    #[must_use]
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }
    /// With other accepted names.
    #[must_use]
    pub const fn alias(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }
}

/// One thing `doctor` or `connector check` found out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// Stable code, such as `GAL-TG-PRIVACY`.
    pub id: String,
    /// How bad.
    pub severity: Severity,
    /// What it is about: `connector`, `model`, `storage`, `character`, `file`, `variable`.
    pub subject: String,
    /// One sentence.
    pub message: String,
    /// What was seen, such as `getMe answered 401`.
    pub cause: Option<String>,
    /// Where the setting comes from.
    pub origin: Option<String>,
    /// The next action.
    pub fix: Option<String>,
    /// What `--fix` would do about it, as a question: `Remove the webhook to example.com?`. None: only a person can.
    pub repair: Option<String>,
}

impl Finding {
    /// A good result.
    pub fn ok(id: impl Into<String>, subject: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Severity::Ok, id, subject, message)
    }
    /// Any result.
    pub fn new(severity: Severity, id: impl Into<String>, subject: impl Into<String>, message: impl Into<String>) -> Self {
        Self { id: id.into(), severity, subject: subject.into(), message: message.into(), cause: None, origin: None, fix: None, repair: None }
    }
    /// A failure, from an error's own code, message and fix; its context `cause` and `where` are the cause and the origin.
    pub fn failure(subject: impl Into<String>, error: &Error) -> Self {
        let told = |key: &str| error.context().iter().find(|(k, _)| *k == key).map(|(_, v)| v.clone());
        Self {
            fix: error.fix().map(str::to_owned),
            cause: told("cause"),
            origin: told("where"),
            ..Self::new(Severity::Error, error.code().unwrap_or("GAL-UNEXPECTED"), subject, error.message())
        }
    }
    /// With the next action.
    #[must_use]
    pub fn with_fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }
    /// With what `--fix` would do, as a question.
    #[must_use]
    pub fn with_repair(mut self, repair: impl Into<String>) -> Self {
        self.repair = Some(repair.into());
        self
    }
    /// With what was seen.
    #[must_use]
    pub fn with_cause(mut self, cause: impl Into<String>) -> Self {
        self.cause = Some(cause.into());
        self
    }
}

/// How bad a [`Finding`] is, from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Works.
    Ok,
    /// Works, with something to know.
    Info,
    /// Works in part.
    Warning,
    /// Does not work.
    Error,
}
