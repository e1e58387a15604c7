//! Development commands of the project. CI runs `test`, `lint` and `long`; the others run by their
//! own names, such as `fuzz`, `scaffold`, `soak` and `canaries`. Progress goes to stderr. The exit
//! code is 0 if everything passed.

mod advisories;
mod api;
mod benched;
mod binaries;
mod chaos;
mod ci;
mod clients;
mod cluster;
mod dist;
mod fuzz;
#[path = "gen/mod.rs"]
mod generate;
mod long;
mod scaffold;
mod schema;
mod seeds;
mod tidy;

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The project's own chores")]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// All tests but the long ones, and whether generated files are up to date.
    Test,
    /// Formatting, clippy, advisories, licences.
    Lint,
    /// Both checks of a change: `test` and `lint`.
    Ci,
    /// CI's checks after these: crash matrix, chaos, cluster.
    Long,
    /// 100,000 searches from every place for what other places hold.
    Canaries(long::Canaries),
    /// Two hijacked models that call whatever they can 10,000 times each.
    Hijacked,
    /// A crash at every kill point, on every platform and database.
    Matrix,
    /// Feeds every reader of strangers' bytes with mutated ones, guided by coverage.
    Fuzz(fuzz::Fuzz),
    /// Compares the lock file with known advisories.
    Advisories(advisories::Advisories),
    /// Imports, file heads, connector folders, machine paths, long files.
    Tidy,
    /// Writes the reference docs, the character schema and .env.example.
    Gen {
        /// Writes nothing; fails when a file differs from what would be written.
        #[arg(long)]
        check: bool,
    },
    /// Lists the public interface of the crates that other programs compile against.
    Api {
        /// Writes nothing; fails when the interface differs from the list.
        #[arg(long)]
        check: bool,
    },
    /// Checks that each statement of the seeds has a test, and writes their table.
    Seeds {
        /// Writes nothing; fails when the table differs from what would be written.
        #[arg(long)]
        check: bool,
    },
    /// Makes a new connector in a copy of the checkout, and sees that it builds, is tidy and passes
    /// the suite.
    Scaffold,
    /// Sends generated requests to every operation of the API, where Python has schemathesis.
    Schema(schema::Schema),
    /// Measures the release binary end to end against loopback servers.
    Bench(benched::Arguments),
    /// Kills the program at random instants under load: nothing may be lost, answered twice or out
    /// of order.
    Chaos(chaos::Chaos),
    /// Kills, pauses, adds and replaces processes that share a database, and measures how long
    /// rooms stay silent.
    Cluster(cluster::Cluster),
    /// Checks the clients: typed client, console, walks in a browser where one is found.
    Clients,
    /// Starts a Galatea with demo data to look around in.
    Demo(clients::Demo),
    /// Packs a release: the program, its documents and all licences, with a checksum beside it.
    Dist(dist::Dist),
    /// Answers at an even pace for an hour, and looks whether memory grows.
    Soak(benched::Arguments),
    /// Plays talks with a real model behind the program, and judges every answer.
    Persona(benched::Arguments),
}

fn main() -> ExitCode {
    match run(&Cli::parse().chore) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(chore: &Chore) -> Result<()> {
    let root = xtask::root()?;
    match chore {
        Chore::Test => ci::test(&root),
        Chore::Lint => ci::lint(&root),
        Chore::Ci => ci::run(&root),
        Chore::Long => long::run(&root),
        Chore::Hijacked => long::hijacked(&root),
        Chore::Matrix => long::matrix(&root),
        Chore::Canaries(canaries) => long::canaries(&root, canaries),
        Chore::Fuzz(fuzz) => fuzz::run(&root, fuzz),
        Chore::Advisories(advisories) => advisories::run(&root, advisories),
        Chore::Tidy => tidy::run(&root),
        Chore::Gen { check } => generate::run(&root, *check),
        Chore::Api { check } => api::run(&root, *check),
        Chore::Seeds { check } => seeds::run(&root, *check),
        Chore::Scaffold => scaffold::run(&root),
        Chore::Schema(schema) => schema::run(&root, schema),
        Chore::Bench(arguments) => benched::run(&root, "bench", arguments),
        Chore::Chaos(chaos) => chaos::run(&root, chaos),
        Chore::Cluster(cluster) => cluster::run(&root, cluster),
        Chore::Clients => clients::check(&root),
        Chore::Demo(demo) => clients::demo(&root, demo),
        Chore::Dist(dist) => dist::run(&root, dist),
        Chore::Soak(arguments) => benched::run(&root, "soak", arguments),
        Chore::Persona(arguments) => benched::run(&root, "persona", arguments),
    }
}
