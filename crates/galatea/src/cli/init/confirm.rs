//! Questions before something is replaced.

use galatea_core::Error;
use galatea_host::config::{ENV_FILE, looks_secret};
use std::{io, path::Path};

use crate::report::failure::{Failure, Result};

/// Asks whether to replace a value in `.env`.
///
/// # Errors
/// Exit 130 if the person leaves.
pub(super) fn may_replace(name: &str, env: &Path) -> Result<bool> {
    cliclack::confirm(format!("{} has another {} for {name}. Replace it?", shown(env), what(name)))
        .initial_value(false)
        .interact()
        .map_err(ended)
}

/// Asks whether to replace a character file.
///
/// # Errors
/// Exit 130 if the person leaves.
pub(super) fn may_replace_file(file: &Path) -> Result<bool> {
    cliclack::confirm(format!("{} exists. Replace it?", file.display()))
        .initial_value(false)
        .interact()
        .map_err(ended)
}

/// The failure for a question that was not answered.
pub(super) fn ended(error: io::Error) -> Failure {
    if error.kind() == io::ErrorKind::Interrupted {
        return Failure::interrupted();
    }
    Error::unexpected("the terminal could not be asked")
        .with("cause", &error)
        .with_fix("use --yes and give the answers as options")
        .with_source(error)
        .into()
}

/// The name of the `.env` in questions.
fn shown(env: &Path) -> String {
    if env == Path::new(ENV_FILE) { ENV_FILE.to_owned() } else { env.display().to_string() }
}

/// What a value is called in a question.
fn what(name: &str) -> &'static str {
    if looks_secret(name) { "secret" } else { "value" }
}
