//! Runs tasks at their time: once for each run, in whichever process claims it. A run's effect and
//! its end are one commit, so a crash in between leaves the run to the next process.
//!
//! [`poller`] asks the store once for all agents of the process; [`run`] makes one run of one agent.

mod claim;
mod commit;
mod hold;
mod poller;
mod run;

pub(crate) use poller::TaskPoller;
pub(crate) use run::TaskRunner;
