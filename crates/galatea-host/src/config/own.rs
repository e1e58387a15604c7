//! The settings of a process, which no connector, model or plugin reads.

use galatea_core::{Result, Settings, Variable, redact::Redactor};

pub use crate::storage::seal::GALATEA_SECRET_KEY;

/// Character files to run if the command line names none.
pub const CHARACTER_FILES: Variable = Variable::new(
    "CHARACTER_FILES",
    "Character files to run, separated by commas; the built-in Eliza when there is none.",
)
.alias(&["CHARACTER_FILE"]);
/// Where Galatea stores its data.
pub const GALATEA_DATA_DIR: Variable =
    Variable::new("GALATEA_DATA_DIR", "Folder for the database, the terminal's socket and the lock; a relative one is taken from the working folder.")
        .or(".galatea");
/// Address the health server listens on.
pub const SERVER_HOST: Variable = Variable::new(
    "SERVER_HOST",
    "Address of the server; another than the loopback interface needs PUBLIC_URL.",
)
.or("127.0.0.1");
/// Port of the health server. The default 3000 is elizaOS's.
pub const SERVER_PORT: Variable =
    Variable::new("SERVER_PORT", "Port of the health server; 0 takes any free one.").or("3000");

/// Address of a PostgreSQL server.
pub const DATABASE_URL: Variable =
    Variable::new("DATABASE_URL", "PostgreSQL in place of the SQLite file in GALATEA_DATA_DIR: postgres://user:password@host:5432/database; a sign like @ or / in a password is written %40 or %2F.")
        .alias(&["POSTGRES_URL"])
        .secret();
/// Role of this process in a cluster.
pub const GALATEA_ROLE: Variable = Variable::new(
    "GALATEA_ROLE",
    "What this process does where several share a PostgreSQL: all; ingress (connects and sends), worker (answers), api (only reports the state).",
)
.or("all");
/// Salt under which elizaOS encrypted secrets of characters.
pub const SECRET_SALT: Variable = Variable::new(
    "SECRET_SALT",
    "The salt under which elizaOS encrypted secrets of a character; with it they are read from the character file. elizaOS's own default is tried without it.",
)
.secret();
/// Log level or filter.
pub const LOG_LEVEL: Variable =
    Variable::new("LOG_LEVEL", "Log lines from this level on: trace, debug, info, warn, error; or filters such as warn,galatea_telegram=debug.").or("info");
/// Format of log lines.
pub const LOG_JSON_FORMAT: Variable = Variable::new(
    "LOG_JSON_FORMAT",
    "Write log lines as JSON: true or false; unset writes text on a terminal and JSON elsewhere.",
);

/// Every setting this module declares.
pub(super) const VARIABLES: &[Variable] = &[
    CHARACTER_FILES,
    GALATEA_DATA_DIR,
    SERVER_HOST,
    SERVER_PORT,
    DATABASE_URL,
    GALATEA_ROLE,
    GALATEA_SECRET_KEY,
    SECRET_SALT,
    LOG_LEVEL,
    LOG_JSON_FORMAT,
];

/// Rejects an unsupported `DATABASE_URL`, instead of silently storing in SQLite.
///
/// # Errors
/// `Invalid` (`GAL-CFG-VALUE`) for anything but PostgreSQL.
pub fn check_database(settings: &Settings) -> Result<()> {
    let Some(url) = settings.text(&DATABASE_URL) else { return Ok(()) };
    let url = url.trim().trim_matches(['"', '\'']).trim().to_ascii_lowercase();
    if !["postgres:", "postgresql:"].iter().any(|scheme| url.starts_with(scheme)) {
        return Err(settings.invalid_setting(
            &DATABASE_URL,
            "is not the URL of a PostgreSQL server, the only kind that this build supports",
        ));
    }
    Ok(())
}

/// Registers the password inside a database URL as a secret.
pub(super) fn learn_password(text: &str, redactor: &Redactor) {
    if let Some(password) = url::Url::parse(text).ok().as_ref().and_then(url::Url::password) {
        redactor.learn(password);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_database_is_refused_and_its_password_never_shown() {
        assert!(check_database(&Settings::default()).is_ok());
        for (name, url) in [
            ("POSTGRES_URL", "postgres://u:canary@h/d"),
            ("DATABASE_URL", " 'PostgreSQL://u:canary@h/d'"),
        ] {
            assert!(check_database(&Settings::from_pairs([(name, url)])).is_ok());
        }
        let error =
            check_database(&Settings::from_pairs([("DATABASE_URL", "mysql://u:canary@h/d")]))
                .unwrap_err();
        assert_eq!(error.code(), Some("GAL-CFG-VALUE"));
        assert!(!error.report().contains("canary"));
    }

    #[test]
    fn a_password_in_an_address_is_learnt() {
        let redactor = Redactor::default();
        learn_password("postgres://u:canary1@h/d", &redactor);
        assert_eq!(redactor.clean("canary1"), "[secret]");
    }
}
