//! Reads the terminal connector's config from the agent's settings.

use galatea_core::{Result, Settings, Variable};
use std::path::PathBuf;

/// Name of the socket's file in the connector's data folder.
pub const SOCKET_FILE: &str = "terminal.sock";

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

/// Place where the terminal connector listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Path of the socket; a relative one is taken from the connector's data folder.
    pub socket: PathBuf,
}

/// Every setting of the connector.
pub(crate) const VARIABLES: &[Variable] = &[ENABLED, SOCKET];

impl Config {
    /// Reads the settings; none when the terminal is switched off.
    pub(crate) fn read(settings: &Settings) -> Result<Option<Self>> {
        if !settings.flag(&ENABLED)? {
            return Ok(None);
        }
        let socket = settings.text(&SOCKET).unwrap_or_else(|| SOCKET_FILE.to_owned());
        if socket.contains('\0') {
            return Err(settings.invalid_setting(&SOCKET, "holds a zero byte"));
        }
        Ok(Some(Self { socket: socket.into() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_by_default_and_switched_off_by_the_flag() {
        let on = Config::read(&Settings::default()).unwrap().unwrap();
        assert_eq!(on.socket, PathBuf::from(SOCKET_FILE));
        assert_eq!(
            Config::read(&Settings::from_pairs([("TERMINAL_ENABLED", "no")])).unwrap(),
            None
        );
        let moved = Config::read(&Settings::from_pairs([("TERMINAL_SOCKET", "/run/t.sock")]))
            .unwrap()
            .unwrap();
        assert_eq!(moved.socket, PathBuf::from("/run/t.sock"));
    }

    #[test]
    fn nonsense_is_refused_with_its_place() {
        let error =
            Config::read(&Settings::from_pairs([("TERMINAL_ENABLED", "maybe")])).unwrap_err();
        assert!(error.to_string().contains("environment"), "{error}");
    }
}
