//! Reads the terminal connector's config from the agent's settings.

use galatea_core::{
    Connector, ConnectorConfig, Host, Result, Settings, Source, Variable, character::Explanation,
};
use std::{path::PathBuf, sync::Arc};

use crate::{
    connector::{SOCKET_FILE, Terminal},
    error,
};

const ENABLED: Variable = Variable::new(
    "TERMINAL_ENABLED",
    "Lets `galatea chat` talk to this agent over a local socket.",
)
.or("true");
const SOCKET: Variable = Variable::new(
    "TERMINAL_SOCKET",
    "Path of this agent's terminal socket; a relative one is taken from the data folder.",
)
.or(SOCKET_FILE);

/// Where the terminal connector listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Path of the socket; a relative one is taken from the connector's data folder.
    pub socket: PathBuf,
}

impl ConnectorConfig for Config {
    const SOURCE: Source = crate::SOURCE;
    const VARIABLES: &'static [Variable] = &[ENABLED, SOCKET];
    const PAGES: &'static [Explanation] = error::PAGES;

    fn from_settings(settings: &Settings) -> Result<Option<Self>> {
        if !settings.flag(&ENABLED)? {
            return Ok(None);
        }
        let socket = settings.text(&SOCKET).unwrap_or_else(|| SOCKET_FILE.to_owned());
        if socket.contains('\0') {
            return Err(settings.invalid_setting(&SOCKET, "holds a zero byte"));
        }
        Ok(Some(Self { socket: socket.into() }))
    }

    fn build(self, host: &Host) -> Result<Arc<dyn Connector>> {
        Ok(Arc::new(Terminal::new(host, host.data_dir.join(self.socket))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_by_default_and_switched_off_by_the_flag() {
        let on = Config::from_settings(&Settings::default()).unwrap().unwrap();
        assert_eq!(on.socket, PathBuf::from(SOCKET_FILE));
        assert_eq!(
            Config::from_settings(&Settings::from_pairs([("TERMINAL_ENABLED", "no")])).unwrap(),
            None
        );
        let moved =
            Config::from_settings(&Settings::from_pairs([("TERMINAL_SOCKET", "/run/t.sock")]))
                .unwrap()
                .unwrap();
        assert_eq!(moved.socket, PathBuf::from("/run/t.sock"));
    }

    #[test]
    fn nonsense_is_refused_with_its_place() {
        let error = Config::from_settings(&Settings::from_pairs([("TERMINAL_ENABLED", "maybe")]))
            .unwrap_err();
        assert!(error.to_string().contains("environment"), "{error}");
    }
}
