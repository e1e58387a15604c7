//! Exit codes, the same for every command.

use galatea_core::{Error, ErrorKind};
use std::process::ExitCode;

/// Why a command ended. The numbers are part of the command line's contract and never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 1: a reason that no other code covers, such as a full disk or a folder that cannot be
    /// written.
    Failure = 1,
    /// 2: the command line is invalid (the code clap uses, too).
    Usage = 2,
    /// 3: a setting, `.env`, `galatea.toml`, a character file or the database they name is invalid.
    /// A restart does not help.
    Configuration = 3,
    /// 4: credentials were refused or lack a right.
    Authentication = 4,
    /// 5: a network, platform or model provider did not answer properly.
    Network = 5,
    /// 6: the port or the data folder is in use, or the file to be written exists.
    Conflict = 6,
    /// 7: `doctor` or `validate` found a problem.
    Findings = 7,
    /// 130: interrupted from the keyboard (128 + SIGINT, as shells count).
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Codes of errors that a restart does not fix, whatever their kind. A supervisor must not restart
/// the program for these.
const LASTING: &[&str] = &["GAL-ROLE", "GAL-DB-NEWER", "GAL-DB-OLD", "GAL-DB-POOLER"];

impl Exit {
    /// The exit code of an error: by the area of its code first, then by its kind.
    pub(crate) fn of(error: &Error) -> Self {
        let area = error.code().unwrap_or_default();
        if ["GAL-CFG-", "GAL-CHAR-"].iter().any(|prefix| area.starts_with(prefix)) {
            return Self::Configuration;
        }
        if LASTING.contains(&area) {
            return Self::Configuration;
        }
        // Errors of this machine's disk and folders. Neither credentials nor the network are the
        // cause, and a retry may succeed. With the kind `Conflict` they are conflicts (6).
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
            // An error with a place is about a setting.
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
