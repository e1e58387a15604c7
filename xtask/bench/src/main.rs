//! The benchmark and the soak: run by `cargo xtask bench` and `cargo xtask soak`.

mod bench;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Measures the release binary against loopback servers")]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Measures the release binary end to end against loopback servers
    Bench(bench::Bench),
    /// Answers at an even pace for an hour, and checks whether memory grows
    Soak(bench::soak::Soak),
}

fn main() -> ExitCode {
    let ran = xtask::root().and_then(|root| match Cli::parse().chore {
        Chore::Bench(bench) => bench::run(&root, &bench),
        Chore::Soak(soak) => bench::soak::run(&root, &soak),
    });
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
