//! The error type of commands: reports for people, and the exit code.

use galatea_core::Error;
use galatea_host::report::{Faults, Report};
use serde_json::json;
use std::process::ExitCode;

use crate::report::{exit::Exit, output::Output};

/// Result of commands.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// One or more reports, and the exit code they lead to.
#[derive(Debug)]
pub(crate) struct Failure {
    /// In the order shown.
    pub(crate) reports: Vec<Report>,
    pub(crate) exit: Exit,
}

impl Failure {
    /// Several reports that lead to one exit code.
    pub(crate) fn new(reports: Vec<Report>, exit: Exit) -> Self {
        Self { reports, exit }
    }

    /// For a command line that clap accepted but that is invalid.
    pub(crate) fn usage(message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(vec![Report::error(message).code("GAL-CLI-USAGE").fix(fix)], Exit::Usage)
    }

    /// For Ctrl-C, and for Escape in a prompt.
    pub(crate) fn interrupted() -> Self {
        Self::new(Vec::new(), Exit::Interrupted)
    }

    /// Prints every report to stderr, or with `--json` all as one document, and returns the exit
    /// code.
    pub(crate) fn show(&self, output: &Output) -> ExitCode {
        let code = self.exit as u8;
        if output.json && !self.reports.is_empty() {
            let errors: Vec<_> = self.reports.iter().map(Report::to_json).collect();
            output.json_errors(json!({ "exit": code, "errors": errors }));
            return self.exit.into();
        }
        for report in &self.reports {
            output.report(report);
        }
        self.exit.into()
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let exit = Exit::of(&error);
        Self::new(Report::all_of(&error), exit)
    }
}

impl From<Faults> for Failure {
    fn from(faults: Faults) -> Self {
        match faults {
            Faults::Settings(reports) => Self::new(reports, Exit::Configuration),
            Faults::Error(error) => error.into(),
        }
    }
}

impl From<Report> for Failure {
    fn from(report: Report) -> Self {
        Self::new(vec![report], Exit::Failure)
    }
}
