//! Exit codes, the same for every command.

use galatea_core::{Error, ErrorKind};
use std::process::ExitCode;

/// Why a command ended. The numbers are part of the command line's contract and never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 1: it failed for a reason none of the others name.
    Failure = 1,
    /// 2: the command line itself is wrong (also what clap uses).
    Usage = 2,
    /// 3: a setting, `.env`, `galatea.toml` or character file is wrong.
    Configuration = 3,
    /// 4: credentials were refused or lack a right.
    Authentication = 4,
    /// 5: a network, platform or model provider did not answer properly.
    Network = 5,
    /// 6: somebody else holds the port, the data folder or the thing to be written.
    Conflict = 6,
    /// 7: `doctor` or `validate` found something that does not work.
    Findings = 7,
    /// 130: interrupted from the keyboard (128 + SIGINT, as shells count).
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl Exit {
    /// The exit of a failed command: by the code's area first, then by kind.
    pub(crate) fn of(error: &Error) -> Self {
        let area = error.code().unwrap_or_default();
        if ["GAL-CFG-", "GAL-CHAR-"].iter().any(|prefix| area.starts_with(prefix)) {
            return Self::Configuration;
        }
        match error.kind() {
            // A setting, since its place is known.
            ErrorKind::Invalid if error.context().iter().any(|(key, _)| *key == "where") => Self::Configuration,
            ErrorKind::Unauthorized | ErrorKind::Forbidden => Self::Authentication,
            ErrorKind::RateLimited | ErrorKind::Unavailable | ErrorKind::Timeout => Self::Network,
            ErrorKind::Conflict => Self::Conflict,
            ErrorKind::Invalid | ErrorKind::NotFound | ErrorKind::Unsupported | ErrorKind::Unexpected => Self::Failure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configuration_codes_beat_the_kind() {
        assert_eq!(Exit::of(&Error::new(ErrorKind::Unauthorized, "x")), Exit::Authentication);
        assert_eq!(Exit::of(&Error::new(ErrorKind::Conflict, "x").with_code("GAL-CFG-SECRET-FILE")), Exit::Configuration);
        assert_eq!(Exit::of(&Error::new(ErrorKind::Timeout, "x")), Exit::Network);
        assert_eq!(Exit::of(&Error::unexpected("x")), Exit::Failure);
        assert_eq!(Exit::of(&Error::invalid("x").with("where", ".env line 1")), Exit::Configuration);
    }
}
