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

/// Where the cause of an error lies, as far as its code says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// In the configuration, whatever the kind: a restart does not help.
    Configuration,
    /// In another program that holds what is needed.
    Taken,
    /// On this machine: its disk, folders, sockets or processes. Neither credentials nor the
    /// network are the cause, and a restart may help.
    Machine,
    /// In the command line.
    Arguments,
    /// Where the error's kind says.
    Kind,
}

/// The cause of an error by its code. `None` for a code that is not listed; a test finds codes of
/// the program's own pages that are not.
fn cause(code: &str) -> Option<Cause> {
    Some(match code {
        "GAL-ROLE" | "GAL-DB-EARLIER" | "GAL-DB-NEWER" | "GAL-DB-OLD" | "GAL-DB-POOLER" => {
            Cause::Configuration
        }
        "GAL-DB-LOCKED" => Cause::Taken,
        "GAL-DATA-DIR" | "GAL-DB-FULL" | "GAL-DB-IO" | "GAL-DB-OPEN" | "GAL-DB-GONE"
        | "GAL-DB-SYNC" | "GAL-DB-CORRUPT" | "GAL-DB-STATEMENT" | "GAL-FILE-EXISTS"
        | "GAL-FILE-READ" | "GAL-FILE-WRITE" | "GAL-MEMORY-WRITE" | "GAL-KNOW-CHILD"
        | "GAL-BIND" | "GAL-TERM-LISTEN" | "GAL-LOCAL-LIMIT" => Cause::Machine,
        "GAL-MEMORY-DAY" | "GAL-USAGE-SINCE" | "GAL-CLI-USAGE" => Cause::Arguments,
        "GAL-DATA-NONE"
        | "GAL-DB-BACKUP"
        | "GAL-DB-OK"
        | "GAL-DB-URL"
        | "GAL-DB-HOST"
        | "GAL-DB-PASSWORD"
        | "GAL-DB-MISSING"
        | "GAL-DB-RIGHTS"
        | "GAL-DB-TLS"
        | "GAL-DB-BUSY"
        | "GAL-MEMORY-AGENT"
        | "GAL-MEMORY-ROOM"
        | "GAL-MEMORY-PERSON"
        | "GAL-MEMORY-UNKNOWN"
        | "GAL-MEMORY-IMPORT"
        | "GAL-MEMORY-OWN"
        | "GAL-MEMORY-SKIPPED"
        | "GAL-KNOW-READ"
        | "GAL-KNOW-SIZE"
        | "GAL-KNOW-UNKNOWN"
        | "GAL-KNOW-NAMED"
        | "GAL-KNOW-WHOSE"
        | "GAL-LOCK"
        | "GAL-PORT"
        | "GAL-HOST"
        | "GAL-GAP"
        | "GAL-BUG"
        | "GAL-UNEXPECTED"
        | "GAL-BREAKER"
        | "GAL-LIMIT"
        | "GAL-AGENT-LIMIT"
        | "GAL-AGENT-UNKNOWN"
        | "GAL-AGENT-TWICE"
        | "GAL-CLOCK"
        | "GAL-CLOCK-SKEW"
        | "GAL-DOCTOR-CLOCK"
        | "GAL-DOCTOR-KEY"
        | "GAL-DOCTOR-UNASKED"
        | "GAL-FIX-ASK"
        | "GAL-OFFLINE-SCRIPT"
        | "GAL-AGENT-FILE"
        | "GAL-KNOW-SOURCE"
        | "GAL-PAIR-AGENT"
        | "GAL-PAIR-INVITATIONS"
        | "GAL-PAIR-UNKNOWN" => Cause::Kind,
        _ => by_area(code.split('-').nth(1)?)?,
    })
}

/// The cause by the second part of a code, in areas whose codes are all alike.
fn by_area(area: &str) -> Option<Cause> {
    Some(match area {
        "CFG" | "CHAR" | "EXPORT" | "TEST" => Cause::Configuration,
        "API" | "APPROVAL" | "AUTH" | "BLOCK" | "CHAT" | "CLUSTER" | "CONNECTOR" | "EMBED"
        | "EXPLAIN" | "GRANT" | "HTTP" | "MCP" | "MODEL" | "ORIGIN" | "OUTBOX" | "PLUGIN"
        | "SEAL" | "SEND" | "SERVICE" | "SESSION" | "STATUS" | "TASK" | "TERM" | "TRACE"
        | "TURN" | "UPLOAD" => Cause::Kind,
        _ => return None,
    })
}

impl Exit {
    /// The exit code of an error: by the cause that its code names first, then by its kind.
    pub(crate) fn of(error: &Error) -> Self {
        match error.code().and_then(cause) {
            Some(Cause::Configuration) => return Self::Configuration,
            Some(Cause::Taken) => return Self::Conflict,
            Some(Cause::Arguments) => return Self::Usage,
            Some(Cause::Machine)
                if matches!(
                    error.kind(),
                    ErrorKind::Unauthorized
                        | ErrorKind::Forbidden
                        | ErrorKind::RateLimited
                        | ErrorKind::Unavailable
                        | ErrorKind::Timeout
                ) =>
            {
                return Self::Failure;
            }
            Some(Cause::Machine | Cause::Kind) | None => {}
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
    use galatea_host::{catalogue, platforms::PLATFORMS};

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
            (ErrorKind::Unavailable, "GAL-DB-GONE"),
            (ErrorKind::Unavailable, "GAL-MEMORY-WRITE"),
            (ErrorKind::Forbidden, "GAL-MEMORY-WRITE"),
            (ErrorKind::Forbidden, "GAL-TERM-LISTEN"),
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
        for code in ["GAL-ROLE", "GAL-DB-EARLIER", "GAL-DB-NEWER", "GAL-DB-OLD", "GAL-DB-POOLER"] {
            assert_eq!(
                Exit::of(&Error::new(ErrorKind::Unsupported, "x").with_code(code)),
                Exit::Configuration,
                "{code}"
            );
        }
    }

    /// A new code of the program needs a decision about its exit code. Codes of platforms go by
    /// their kinds.
    #[test]
    fn the_cause_of_every_error_is_known() {
        let platforms: Vec<_> =
            PLATFORMS.iter().flat_map(|platform| platform.pages).map(|page| page.code).collect();
        let unknown: Vec<_> = catalogue::all()
            .map(catalogue::Entry::code)
            .filter(|code| !platforms.contains(code) && cause(code).is_none())
            .collect();
        assert!(unknown.is_empty(), "list them in `cause`: {unknown:?}");
        for code in platforms {
            let known = matches!(cause(code), None | Some(Cause::Kind));
            assert!(known || code == "GAL-TERM-LISTEN", "{code}");
        }
    }

    /// What is listed is a code of the program, so the list does not outlive its codes.
    #[test]
    fn every_listed_code_exists() {
        let source = include_str!("exit.rs");
        let (listed, _) = source.split_once("_ => by_area").unwrap();
        let codes: Vec<_> = listed.split('"').filter(|part| part.starts_with("GAL-")).collect();
        assert!(codes.len() > 50, "{codes:?}");
        for code in codes {
            assert!(catalogue::find(code).is_some(), "{code} has no page");
        }
    }

    #[test]
    fn the_manual_and_the_help_list_every_code() {
        let manual = include_str!("../../../../docs/operating.md");
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
