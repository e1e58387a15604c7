//! Galatea: brings personas to life on Telegram and other platforms. This file reads the command line and sets the exit code.

mod accounts;
mod activity;
mod allocator;
mod banner;
mod boot;
mod breakers;
mod catalogue;
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
mod trouble;

use clap::FromArgMatches;
use std::process::ExitCode;

use crate::{cli::Cli, context::Context, failure::Failure};

fn main() -> ExitCode {
    allocator::settle();
    match tokio::runtime::Builder::new_multi_thread().worker_threads(workers()).enable_all().build() {
        Ok(runtime) => runtime.block_on(run()),
        Err(error) => {
            eprintln!("error: no threads could be started: {error}\n  fix: look at the limits of processes and threads (`ulimit -u`)");
            ExitCode::FAILURE
        }
    }
}

/// Threads that run tasks. One processor is left to the threads of the database: as many of ours as processors take turns with them, wake each
/// other for every message and wait for each other's memory. Measured with two processors, a flood takes a fifth less processor time so.
fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, |processors| processors.get().saturating_sub(1).max(1))
}

async fn run() -> ExitCode {
    galatea_core::arm_kill_points();
    let cli = match Cli::from_arg_matches(&cli::command().get_matches()) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    let context = Context::new(&cli.globals);
    panic::install(&context.output);
    if let Err(error) = logging::start(&cli, &context) {
        return Failure::from(error).show(&context.output);
    }
    match cli::run(cli, &context).await {
        Ok(code) => code,
        Err(failure) => failure.show(&context.output),
    }
}
