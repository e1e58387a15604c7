//! `doctor --fix` for this machine: repairs that carry no risk.

use galatea_core::{Finding, Result, Severity};

use super::configuration::holds_secrets;
use crate::context::Context;
use galatea_host::{
    config::ENV_FILE,
    storage::{data_dir::DataDir, files},
};

/// Repairs, and returns what was done. Does nothing if the configuration cannot be read.
pub(super) fn repair(context: &Context) -> Vec<Finding> {
    let Ok(configuration) = context.quiet_configuration() else { return Vec::new() };
    let mut done = Vec::new();
    for file in
        configuration.files.iter().filter(|f| f.found && holds_secrets(configuration, &f.path))
    {
        let path = context.working_dir.join(&file.path);
        if files::is_open_to_others(&path) {
            done.push(finding_of(
                files::close_to_others(&path),
                "GAL-CFG-MODE",
                format!("{} is now readable by this user only", file.path.display()),
            ));
        }
        // Only `.env`, which consists of secrets. A galatea.toml may be meant to be shared.
        if file.path.ends_with(ENV_FILE) {
            match files::ignore_in_git(&path) {
                Ok(None) => {}
                Ok(Some(changed)) => done.push(finding_of(
                    Ok(()),
                    "GAL-CFG-MODE",
                    format!(
                        "{} added to {}",
                        file.path.display(),
                        DataDir::show(&changed, &context.working_dir)
                    ),
                )),
                Err(error) => done.push(finding_of(Err(error), "GAL-CFG-MODE", String::new())),
            }
        }
    }
    let data_dir = DataDir::locate(&configuration.settings, &context.working_dir);
    if !data_dir.path().exists() {
        done.push(finding_of(
            data_dir.create(),
            "GAL-DATA-DIR",
            format!("{} made", DataDir::show(data_dir.path(), &context.working_dir)),
        ));
    }
    done
}

fn finding_of(outcome: Result<()>, id: &str, what: String) -> Finding {
    match outcome {
        Ok(()) => Finding::new(Severity::Info, id, "file", format!("repaired: {what}")),
        Err(error) => Finding::failure("file", &error),
    }
}
