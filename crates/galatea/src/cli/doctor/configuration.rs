//! Checks configuration files: readable, valid, and not accessible to other users.

use galatea_core::{Finding, Severity};

use crate::{context::Context, process::logging, report::findings};
use galatea_host::{
    config::{Configuration, ELIZAOS_ONLY, check_database},
    storage::files,
};

/// The configuration, if it can be read, and the findings about it.
pub(super) fn check(context: &Context) -> (Option<&Configuration>, Vec<Finding>) {
    let configuration = match context.quiet_configuration() {
        Ok(configuration) => configuration,
        Err(reports) => {
            return (None, reports.iter().map(|r| findings::from_report("file", r)).collect());
        }
    };
    let settings = &configuration.settings;
    let mut found: Vec<_> =
        configuration.warnings.iter().map(|w| findings::from_report("variable", w)).collect();
    found.extend(
        [check_database(settings), logging::check(settings)]
            .into_iter()
            .filter_map(Result::err)
            .map(|error| Finding::failure("variable", &error)),
    );
    let read: Vec<_> = configuration
        .files
        .iter()
        .filter(|f| f.found)
        .map(|f| f.path.display().to_string())
        .collect();
    if read.is_empty() {
        found.push(
            Finding::new(
                Severity::Info,
                "GAL-CFG-FOUND",
                "file",
                "no .env and no galatea.toml here: the environment and defaults apply",
            )
            .with_fix("`galatea init` writes a .env"),
        );
    } else {
        found.push(Finding::ok("GAL-CFG-FOUND", "file", format!("{} read", read.join(" and "))));
    }
    for file in
        configuration.files.iter().filter(|f| f.found && holds_secrets(configuration, &f.path))
    {
        if files::is_open_to_others(&context.working_dir.join(&file.path)) {
            let shown = file.path.display();
            found.push(
                Finding::new(
                    Severity::Warning,
                    "GAL-CFG-MODE",
                    "file",
                    format!("others on this machine can read the secrets in {shown}"),
                )
                .with_fix(format!("chmod 600 {shown}, or galatea doctor --fix")),
            );
        }
    }
    let unused: Vec<_> =
        ELIZAOS_ONLY.iter().copied().filter(|name| settings.raw(name).is_some()).collect();
    if !unused.is_empty() {
        found.push(Finding::new(
            Severity::Info,
            "GAL-CFG-UNUSED",
            "variable",
            format!("this build has no use for {}", unused.join(", ")),
        ));
    }
    (Some(configuration), found)
}

/// Whether this file sets a value under the name of a secret.
pub(super) fn holds_secrets(configuration: &Configuration, path: &std::path::Path) -> bool {
    configuration.settings.layers().iter().flatten().any(|(name, setting)| {
        galatea_host::config::looks_secret(name)
            && !setting.text().is_empty()
            && matches!(&setting.origin, galatea_core::settings::Origin::File { path: from, .. } if from == path)
    })
}
