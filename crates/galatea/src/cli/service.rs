//! `galatea service`: starts galatea with the user's session, by systemd or launchd.

use clap::{Args, Subcommand};
use galatea_core::{Error, ErrorKind};
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use crate::{cli::flags::Consent, context::Context, process::executable, report::failure::Result};
use galatea_host::storage::files::{self, Access};

/// Name of the unit and of the launch agent.
const NAME: &str = "galatea";
/// Name of the launch agent in reverse order, as launchd has them.
const LABEL: &str = "local.galatea";

/// Start galatea with your session
#[derive(Debug, Clone, Args)]
pub(crate) struct Service {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Clone, Subcommand)]
enum Verb {
    /// Write the unit of systemd, or the launch agent of macOS, for this folder
    #[command(
        before_help = "Examples:\n  galatea service install\n  galatea service install --dry-run"
    )]
    Install {
        #[command(flatten)]
        consent: Consent,
    },
    /// Remove it
    #[command(before_help = "Examples:\n  galatea service uninstall")]
    Uninstall,
}

/// What starts programs on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manager {
    Systemd,
    Launchd,
}

impl Manager {
    fn here() -> Self {
        if cfg!(target_os = "macos") { Self::Launchd } else { Self::Systemd }
    }

    fn file(self, home: &Path) -> PathBuf {
        match self {
            Self::Systemd => home.join(".config/systemd/user").join(format!("{NAME}.service")),
            Self::Launchd => home.join("Library/LaunchAgents").join(format!("{LABEL}.plist")),
        }
    }

    fn text(self, program: &str, folder: &str) -> String {
        match self {
            Self::Systemd => unit(program, folder),
            Self::Launchd => plist(program, folder),
        }
    }

    fn next(self) -> &'static str {
        match self {
            Self::Systemd => {
                "systemctl --user daemon-reload && systemctl --user enable --now galatea"
            }
            Self::Launchd => {
                "launchctl bootstrap gui/$(id -u) ~/Library/LaunchAgents/local.galatea.plist"
            }
        }
    }
}

impl Service {
    pub(crate) fn run(&self, context: &Context) -> Result<ExitCode> {
        let manager = Manager::here();
        let home = std::env::var_os("HOME").map(PathBuf::from).ok_or_else(|| {
            Error::new(ErrorKind::Unsupported, "HOME is not set, so there is no place for the unit")
                .with_fix("set HOME")
        })?;
        let file = manager.file(&home);
        match &self.verb {
            Verb::Install { consent } => {
                let program = executable::path();
                let text = manager.text(
                    &program.display().to_string(),
                    &context.working_dir.display().to_string(),
                );
                if consent.dry_run {
                    context.output.say(format_args!("{} would have:", file.display()));
                    context.output.data(text.trim_end());
                    return Ok(ExitCode::SUCCESS);
                }
                if let Some(folder) = file.parent() {
                    std::fs::create_dir_all(folder).map_err(|cause| files::cannot(&file, cause))?;
                }
                files::replace(&file, &text, Access::Usual)?;
                context.output.say(format_args!("{} is written. Start it with:", file.display()));
                context.output.data(manager.next());
            }
            Verb::Uninstall => {
                if !file.exists() {
                    context.output.say("It is not installed.");
                    return Ok(ExitCode::SUCCESS);
                }
                std::fs::remove_file(&file).map_err(|cause| files::cannot(&file, cause))?;
                context.output.say(format_args!(
                    "{} is removed. What runs goes on until it is stopped.",
                    file.display()
                ));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A unit of the user's systemd. A configuration that cannot be read is not tried again.
fn unit(program: &str, folder: &str) -> String {
    format!(
        "[Unit]\nDescription=Galatea, platform connector bot gateway\nWants=network-online.target\nAfter=network-online.target\n\n\
         [Service]\nExecStart={} start\nWorkingDirectory={}\nRestart=on-failure\nRestartSec=5\n\
         RestartPreventExitStatus=2 3 4\nTimeoutStopSec=30\nUMask=0077\nNoNewPrivileges=yes\n\n\
         [Install]\nWantedBy=default.target\n",
        quoted(program),
        folder.replace('%', "%%")
    )
}

/// A word of a command line of systemd (systemd.service(5), "Command lines").
fn quoted(word: &str) -> String {
    let word = word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    format!("\"{}\"", word.replace('$', "$$"))
}

/// A launch agent.
fn plist(program: &str, folder: &str) -> String {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<plist version=\"1.0\">\n<dict>\n  <key>Label</key><string>{LABEL}</string>\n  \
         <key>ProgramArguments</key><array><string>{}</string><string>start</string></array>\n  \
         <key>WorkingDirectory</key><string>{}</string>\n  <key>RunAtLoad</key><true/>\n  \
         <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>\n</dict>\n</plist>\n",
        escaped(program),
        escaped(folder)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_as_each_manager_reads_them() {
        let unit = unit("/opt/a b/100%/galatea", "/srv/ada/my bot");
        assert!(unit.contains("ExecStart=\"/opt/a b/100%%/galatea\" start\n"), "{unit}");
        assert!(unit.contains("WorkingDirectory=/srv/ada/my bot\n"), "{unit}");
        let plist = plist("/opt/a&b/galatea", "/srv/<ada>");
        assert!(plist.contains("<string>/opt/a&amp;b/galatea</string>"), "{plist}");
        assert!(plist.contains("<string>/srv/&lt;ada&gt;</string>"), "{plist}");
    }
}
