//! Galatea: brings personas to life on Telegram and other platforms. [`run`] reads the command line
//! and returns the exit code; the program (`main.rs`) does nothing else. A library besides, so that
//! the fuzzer reaches the readers of files; nothing else may import it.

mod accounts;
mod activity;
mod allocator;
mod banner;
mod boot;
mod breakers;
mod catalogue;
mod choosing;
mod cli;
mod config;
mod connectors;
mod context;
mod data_dir;
mod database;
mod exit;
mod failure;
mod files;
mod findings;
mod health;
mod lock;
mod logging;
mod machine_clock;
mod member;
mod models;
mod output;
mod panic;
mod personas;
mod plugins;
mod readiness;
mod redact;
mod report;
mod silent;
mod trouble;
mod wants;
mod whole;

use clap::FromArgMatches;
use std::process::ExitCode;

use crate::{cli::Cli, context::Context, failure::Failure};

#[cfg(feature = "fuzz")]
pub use config::fuzz;

/// Runs the command that the process was started with. Sets up the allocator and the threads first,
/// so call it once, at the beginning of `main`.
pub fn run() -> ExitCode {
    allocator::settle();
    match tokio::runtime::Builder::new_multi_thread().worker_threads(workers()).enable_all().build()
    {
        Ok(runtime) => runtime.block_on(command()),
        Err(error) => {
            eprintln!(
                "error: no threads could be started: {error}\n  fix: look at the limits of processes and threads (`ulimit -u`)"
            );
            ExitCode::FAILURE
        }
    }
}

/// Threads that run tasks. One processor is left to the threads of the database: as many of ours as
/// processors take turns with them, wake each other for every message and wait for each other's
/// memory. Measured with two processors, a flood takes a fifth less processor time so.
fn workers() -> usize {
    std::thread::available_parallelism()
        .map_or(1, |processors| processors.get().saturating_sub(1).max(1))
}

async fn command() -> ExitCode {
    galatea_core::arm_kill_points();
    let cli = match cli::command()
        .try_get_matches()
        .and_then(|matches| Cli::from_arg_matches(&matches))
    {
        Ok(cli) => cli,
        Err(error) => return told(&error),
    };
    let context = Context::new(&cli.globals);
    panic::install(&context.output);
    if let Err(error) = logging::start(&cli, &context) {
        return Failure::from(error).show(&context.output);
    }
    let code = match cli::run(cli, &context).await {
        Ok(code) => code,
        Err(failure) => return failure.show(&context.output),
    };
    // A command's result is useless to a person who never received it.
    context
        .output
        .finish()
        .map_or_else(|error| Failure::from(error).show(&context.output), |()| code)
}

/// Prints a help text or what is wrong with the command line.
fn told(error: &clap::Error) -> ExitCode {
    match error.print() {
        Err(cause) if cause.kind() != std::io::ErrorKind::BrokenPipe => {
            eprintln!("error[GAL-FILE-WRITE]: the output could not be written: {cause}");
            ExitCode::FAILURE
        }
        // clap's own codes: 0 for help, 2 for what it does not understand.
        _ => u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from),
    }
}
