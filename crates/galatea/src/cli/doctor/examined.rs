//! The state that the checks of one run share.

use galatea_core::Finding;

use crate::{
    context::Context,
    report::{failure::Failure, findings},
};
use galatea_host::{
    config::Configuration,
    storage::{data_dir::DataDir, lock::Holder},
};

/// Shared by the checks of one run.
pub(super) struct Examined<'a> {
    pub(super) context: &'a Context,
    pub(super) configuration: &'a Configuration,
    pub(super) data_dir: DataDir,
    /// The process that uses this data folder, if one runs.
    pub(super) running: Option<Holder>,
}

/// Converts the reports of a failure into findings.
pub(super) fn failed(subject: &str, failure: &Failure) -> Vec<Finding> {
    failure.reports.iter().map(|report| findings::from_report(subject, report)).collect()
}
