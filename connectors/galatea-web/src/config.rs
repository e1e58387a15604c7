//! Reads the web connector's config from the agent's settings.

use galatea_core::{Result, Settings, Variable};

const ENABLED: Variable = Variable::new(
    "WEB_ENABLED",
    "Lets people and programs talk to this agent over the program's own server.",
)
.or("true");

/// Pages of other servers that may show the chat script. The server reads it for the whole process.
pub const ORIGINS: Variable = Variable::new(
    "WEB_ORIGINS",
    "Pages of other servers that may show this program's chat, separated by commas: https://example.org. Nobody else's page can.",
);

/// Every setting of the connector.
pub(crate) const VARIABLES: &[Variable] = &[ENABLED, ORIGINS];

/// The web connector is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config;

impl Config {
    /// Reads the settings; none when it is switched off.
    pub(crate) fn read(settings: &Settings) -> Result<Option<Self>> {
        Ok(settings.flag(&ENABLED)?.then_some(Self))
    }
}
