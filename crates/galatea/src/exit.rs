//! Exit codes, the same for every command.

use galatea_core::{Error, ErrorKind};
use std::process::ExitCode;

/// Why a command ended. The numbers are part of the command line's contract and never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 1: it failed for a reason none of the others name, such as a disk that is full or a folder
    /// that cannot be written.
    Failure = 1,
    /// 2: the command line itself is wrong (also what clap uses).
    Usage = 2,
    /// 3: a setting, `.env`, `galatea.toml`, character file or the database they name is wrong:
    /// starting again does not help.
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

/// Codes of what no restart mends, whatever their kind: who supervises the program must not start
/// it for ever.
const LASTING: &[&str] = &["GAL-ROLE", "GAL-DB-NEWER", "GAL-DB-OLD", "GAL-DB-POOLER"];

impl Exit {
    /// The exit of a failed command: by the code's area first, then by kind.
    pub(crate) fn of(error: &Error) -> Self {
        let area = error.code().unwrap_or_default();
        if ["GAL-CFG-", "GAL-CHAR-"].iter().any(|prefix| area.starts_with(prefix)) {
            return Self::Configuration;
        }
        if LASTING.contains(&area) {
            return Self::Configuration;
        }
        // This machine's own disk and folders: no credential and no network is at fault, and
        // another try may do. A port is another's.
        let local = [
            "GAL-DATA-DIR",
            "GAL-DB-FULL",
            "GAL-DB-IO",
            "GAL-DB-OPEN",
            "GAL-DB-SYNC",
            "GAL-DB-CORRUPT",
        ];
        if area.starts_with("GAL-FILE-") && error.kind() != ErrorKind::Conflict
            || local.contains(&area) && error.kind() != ErrorKind::Conflict
        {
            return Self::Failure;
        }
        if area == "GAL-DB-LOCKED" {
            return Self::Conflict;
        }
        match error.kind() {
            // A setting, since its place is known.
            ErrorKind::Invalid if error.context().iter().any(|(key, _)| *key == "where") => {
                Self::Configuration
            }
            ErrorKind::Unauthorized | ErrorKind::Forbidden => Self::Authentication,
            ErrorKind::RateLimited | ErrorKind::Unavailable | ErrorKind::Timeout => Self::Network,
            ErrorKind::Exhausted => Self::Failure,
            ErrorKind::Conflict => Self::Conflict,
            ErrorKind::Invalid
            | ErrorKind::TooLong
            | ErrorKind::NotFound
            | ErrorKind::Unsupported
            | ErrorKind::Unexpected => Self::Failure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configuration_codes_beat_the_kind() {
        assert_eq!(Exit::of(&Error::new(ErrorKind::Unauthorized, "x")), Exit::Authentication);
        assert_eq!(
            Exit::of(&Error::new(ErrorKind::Conflict, "x").with_code("GAL-CFG-SECRET-FILE")),
            Exit::Configuration
        );
        assert_eq!(Exit::of(&Error::new(ErrorKind::Timeout, "x")), Exit::Network);
        assert_eq!(Exit::of(&Error::unexpected("x")), Exit::Failure);
    }

    #[test]
    fn a_disk_is_no_network_and_a_folder_no_credential() {
        let of = |kind, code| Exit::of(&Error::new(kind, "x").with_code(code));
        for (kind, code) in [
            (ErrorKind::Forbidden, "GAL-DATA-DIR"),
            (ErrorKind::Unavailable, "GAL-DATA-DIR"),
            (ErrorKind::Unavailable, "GAL-DB-FULL"),
            (ErrorKind::Unavailable, "GAL-DB-OPEN"),
            (ErrorKind::Unavailable, "GAL-DB-IO"),
            (ErrorKind::Unavailable, "GAL-FILE-WRITE"),
            (ErrorKind::Forbidden, "GAL-FILE-READ"),
        ] {
            assert_eq!(of(kind, code), Exit::Failure, "{code}");
        }
        assert_eq!(of(ErrorKind::Unavailable, "GAL-DB-LOCKED"), Exit::Conflict);
        assert_eq!(of(ErrorKind::Conflict, "GAL-FILE-EXISTS"), Exit::Conflict);
        assert_eq!(of(ErrorKind::Unavailable, "GAL-DB-HOST"), Exit::Network);
        assert_eq!(
            Exit::of(&Error::invalid("x").with("where", ".env line 1")),
            Exit::Configuration
        );
        for code in LASTING {
            assert_eq!(
                Exit::of(&Error::new(ErrorKind::Unsupported, "x").with_code(code)),
                Exit::Configuration,
                "{code}"
            );
        }
    }

    #[test]
    fn the_manual_and_the_help_list_every_code() {
        let manual = include_str!("../../../docs/operating.md");
        let codes = [
            Exit::Failure,
            Exit::Usage,
            Exit::Configuration,
            Exit::Authentication,
            Exit::Network,
            Exit::Conflict,
            Exit::Findings,
            Exit::Interrupted,
        ];
        for code in codes.map(|exit| exit as u8).into_iter().chain([0, 101]) {
            assert!(manual.contains(&format!("\n| {code} | ")), "{code}");
        }
        let help = crate::cli::command().render_help().to_string();
        assert!(
            ["1 failure", "7 findings", "101 ", "130 "].iter().all(|part| help.contains(part)),
            "{help}"
        );
    }
}
