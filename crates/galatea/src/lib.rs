//! Galatea runs personas on Telegram and other platforms. [`run`] reads the command line, runs the
//! command and returns its exit code; `main.rs` only calls it. This library exists so that the
//! fuzzer can reach the file readers. No other crate may import it.

mod cli;
mod context;
mod process;
mod report;

use clap::FromArgMatches;
use std::process::ExitCode;

use crate::{
    cli::{Cli, Command},
    context::Context,
    process::{
        allocator,
        logging::{self, Logging},
    },
    report::{failure::Failure, output, panic},
};

/// Entry points of the fuzzer (`fuzz/`).
#[cfg(feature = "fuzz")]
pub mod fuzz {
    pub use galatea_host::config::fuzz::dotenv;
}

/// Runs the command that the process was started with. Sets up the threads first, so call it once,
/// at the beginning of `main`.
pub fn run() -> ExitCode {
    // The child that reads a document: no threads, no settings, no secrets.
    if let Some(code) = galatea_knowledge::sandbox::requested(std::env::args_os()) {
        return code;
    }
    // The keeper of an MCP server's process, likewise.
    if let Some(code) = galatea_mcp::child::requested(std::env::args_os()) {
        return code;
    }
    let mut threads = tokio::runtime::Builder::new_multi_thread();
    match threads.enable_all().on_thread_park(allocator::collect_before_park).build() {
        Ok(runtime) => runtime.block_on(command()),
        Err(error) => {
            eprintln!(
                "error: no threads could be started: {error}\n  fix: look at the limits of processes and threads (`ulimit -u`)"
            );
            ExitCode::FAILURE
        }
    }
}

async fn command() -> ExitCode {
    galatea_core::arm_kill_points();
    let parsed = cli::command().try_get_matches().and_then(|matches| {
        Cli::from_arg_matches(&matches).map(|cli| (cli, asks_for_json(&matches)))
    });
    let (cli, json) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return report_usage_error(&error),
    };
    let context = Context::new(&cli.globals, json);
    panic::install(&context.output);
    let settings = context.quiet_configuration().map(|c| c.settings.clone()).unwrap_or_default();
    let wanted = Logging {
        settings: &settings,
        runs: matches!(cli.command, None | Some(Command::Start(_) | Command::Dev(_))),
        verbose: cli.globals.verbose,
        json: context.log_json,
        output: &context.output,
        ring: &context.logs,
    };
    if let Err(error) = logging::start(&wanted) {
        return Failure::from(error).show(&context.output);
    }
    let code = match cli::run(cli, &context).await {
        Ok(code) => code,
        Err(failure) => return failure.show(&context.output),
    };
    // Output that could not be written is a failure, even if the command itself succeeded.
    context
        .output
        .finish()
        .map_or_else(|error| Failure::from(error).show(&context.output), |()| code)
}

/// Whether the command has a `--json`, and it is given.
fn asks_for_json(matches: &clap::ArgMatches) -> bool {
    matches!(matches.try_get_one::<bool>("json"), Ok(Some(true)))
        || matches.subcommand().is_some_and(|(_, matches)| asks_for_json(matches))
}

/// Prints a help text, or the error in the command line: as JSON if the command line has `--json`.
fn report_usage_error(error: &clap::Error) -> ExitCode {
    if error.use_stderr() && std::env::args_os().any(|argument| argument == "--json") {
        let text = error.render().to_string();
        let message = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
        return Failure::usage(message, "look at the command's --help")
            .show(&output::Output::new(false, true));
    }
    match error.print() {
        Err(cause) if cause.kind() != std::io::ErrorKind::BrokenPipe => {
            eprintln!("error[GAL-FILE-WRITE]: the output could not be written: {cause}");
            ExitCode::FAILURE
        }
        // Exit codes of clap: 0 after help, 2 after an invalid command line.
        _ => u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from),
    }
}
