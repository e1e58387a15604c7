//! Output for people and programs: reports of faults, findings, exit codes, and the streams that
//! they go to.

pub(crate) mod breakers;
pub(crate) mod clean;
pub(crate) mod exit;
pub(crate) mod failure;
pub(crate) mod findings;
pub(crate) mod output;
pub(crate) mod panic;
pub(crate) mod printable;

pub(crate) use galatea_host::report::Report;
