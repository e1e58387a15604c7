//! The process of an MCP server: our keeper, and below it the server's own program.
//!
//! The keeper is the program itself, started again with [`COMMAND`]. It passes standard input on to the
//! server. When its own input ends, because we closed it or because we were killed, it closes the
//! server's input, asks it to end, and then ends it and every process that came of it.

pub(crate) mod confine;
mod keep;
pub(crate) mod line;
mod plan;
mod run;
pub(crate) mod spawn;

use std::{ffi::OsString, process::ExitCode};

pub use plan::COMMAND;
pub(crate) use plan::{ENFORCED, Plan};

/// Runs the keeper, or the step below it, if the command line asks for it, and returns its exit code.
/// Call it first in the program, before threads start. `None` for every other command line.
pub fn requested(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut arguments = arguments.into_iter().skip(1);
    if arguments.next()? != COMMAND {
        return None;
    }
    let (stage, plan) = (arguments.next(), arguments.next());
    let words: Vec<OsString> = arguments.collect();
    let plan_text = plan.as_ref().and_then(|plan| plan.to_str()).unwrap_or_default();
    let plan = serde_json::from_str::<Plan>(plan_text);
    Some(match (stage.as_ref().and_then(|stage| stage.to_str()), plan, words.split_first()) {
        (Some("keep"), Ok(_), Some(_)) => keep::keep(plan_text, &words),
        (Some("run"), Ok(plan), Some((program, arguments))) => run::run(&plan, program, arguments),
        _ => ExitCode::FAILURE,
    })
}
