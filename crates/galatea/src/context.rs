//! What every command gets: output, working folder, and the configuration, which is read on first
//! use.

use clap::Args;
use std::{
    io::IsTerminal,
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use crate::{
    process::logging,
    report::{
        failure::{Failure, Result},
        output::Output,
    },
};
use galatea_host::{
    config::{Configuration, Sources, check_database},
    ops::logs::LogRing,
};

/// Flags that every command takes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Common options")]
pub(crate) struct Globals {
    /// Only data and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// More detail; twice for even more
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Never ask; fail with the flag that answers the question
    #[arg(long, global = true)]
    pub(crate) no_input: bool,
    /// Read this file in place of ./.env
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) env_file: Option<PathBuf>,
    /// Read this file in place of ./galatea.toml
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Write log lines as JSON
    #[arg(long, global = true)]
    pub(crate) log_json: bool,
}

/// Passed to every command.
pub(crate) struct Context {
    pub(crate) output: Output,
    /// Folder the command runs in. Relative paths in flags and the environment start here.
    pub(crate) working_dir: PathBuf,
    sources: Sources,
    configuration: OnceLock<std::result::Result<Configuration, Vec<galatea_host::report::Report>>>,
    announced: OnceLock<()>,
    no_input: bool,
    /// Whether `--log-json` is given.
    pub(crate) log_json: bool,
    /// Newest lines of the log of a process that runs agents.
    pub(crate) logs: Arc<LogRing>,
}

impl Context {
    /// From the global flags. `json` says that the command prints JSON.
    pub(crate) fn new(globals: &Globals, json: bool) -> Self {
        let working_dir = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        Self {
            output: Output::new(globals.quiet, json),
            sources: Sources::new(
                working_dir.clone(),
                globals.env_file.clone(),
                globals.config.clone(),
            ),
            working_dir,
            configuration: OnceLock::new(),
            announced: OnceLock::new(),
            no_input: globals.no_input,
            log_json: globals.log_json,
            logs: Arc::default(),
        }
    }

    /// Whether questions may be asked: stdin and stderr are terminals, and `--no-input` is absent.
    pub(crate) fn may_ask(&self) -> bool {
        !self.no_input && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }

    /// The configuration, read once. Its warnings are shown on the first call.
    ///
    /// # Errors
    /// Exit 3 with every faulty place if a source cannot be read.
    pub(crate) fn configuration(&self) -> Result<&Configuration> {
        let configuration = self.quiet_configuration().map_err(|reports| {
            Failure::new(reports.to_vec(), crate::report::exit::Exit::Configuration)
        })?;
        check_database(&configuration.settings)?;
        self.announced.get_or_init(|| {
            for warning in &configuration.warnings {
                self.output.report(warning);
            }
        });
        Ok(configuration)
    }

    /// The configuration without its warnings, for commands that list them themselves.
    pub(crate) fn quiet_configuration(
        &self,
    ) -> std::result::Result<&Configuration, &[galatea_host::report::Report]> {
        self.configuration
            .get_or_init(|| Configuration::load(&self.sources, &self.output.redactor))
            .as_ref()
            .map_err(Vec::as_slice)
    }

    /// Whether a process that runs agents writes its log as JSON. It then logs the faults of models
    /// and connectors, instead of showing them as reports for people.
    pub(crate) fn logs_json(&self) -> bool {
        self.log_json
            || self
                .quiet_configuration()
                .is_ok_and(|c| logging::is_json(&c.settings, true).unwrap_or(false))
    }

    /// Path of the `.env` in use, as the user writes it.
    pub(crate) fn env_file(&self) -> &std::path::Path {
        self.sources.env_file()
    }
}
