//! The benchmark, the soak and the talks with real models: run by `cargo xtask bench`, `soak` and
//! `persona`.

mod bench;
mod persona;

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
    /// Plays talks with a real model and judges every answer
    Persona(persona::Persona),
}

fn main() -> ExitCode {
    let ran = xtask::root().and_then(|root| match Cli::parse().chore {
        Chore::Bench(bench) => bench::run(&root, &bench),
        Chore::Soak(soak) => bench::soak::run(&root, &soak),
        Chore::Persona(persona) => persona::run(&root, &persona),
    });
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_options_of_each_chore_agree_with_one_another() {
        Cli::command().debug_assert();
    }
}
