//! The command line, with one file per command. Every command returns an exit code, or reports that
//! carry one.

mod agent;
mod audit;
mod block;
mod character;
mod chat;
mod cluster;
mod completions;
mod config;
mod connector;
mod db;
mod dev;
mod doctor;
mod explain;
pub(crate) mod flags;
mod grant;
mod init;
mod knowledge;
mod local_api;
mod login;
mod logs;
mod man;
mod mcp;
pub(crate) mod memory;
mod models;
mod openapi;
mod outbox;
mod pairing;
mod plugin;
mod reference;
mod repairs;
mod service;
mod start;
mod status;
mod task;
mod test;
mod trace;
mod usage;
mod user;
mod utc;
mod whole;

use clap::{CommandFactory, Parser, Subcommand};
use std::process::ExitCode;

use crate::{
    context::{Context, Globals},
    report::failure::Result,
};
use galatea_host::look::WIDTH;

/// Order of a help text: description, examples, usage, options.
const HELP: &str =
    "{about-with-newline}\n{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}";

/// Bring a persona to life on Telegram, in the terminal and elsewhere
#[derive(Debug, Parser)]
#[command(
    name = "galatea",
    version = crate::process::version::FULL,
    before_help = "Examples:\n  galatea                       start; the demo agent needs no keys\n  galatea init                  connect Telegram and a model, step by step\n  galatea chat                  talk to the agent here\n  galatea doctor                find out what does not work, and why",
    after_help = "Exit codes: 0 ok, 1 failure, 2 usage, 3 configuration, 4 authentication,\n5 network or provider, 6 conflict (port, data folder), 7 findings in doctor or\nvalidate, 101 a fault in Galatea itself, 130 interrupted.\n\nWithout a command, galatea does what `galatea start` does."
)]
pub(crate) struct Cli {
    /// Options of every command.
    #[command(flatten)]
    pub(crate) globals: Globals,
    /// What to do; `start` when absent.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(
        before_help = "Examples:\n  galatea start\n  galatea start --character characters/helper.json"
    )]
    Start(start::Start),
    #[command(
        before_help = "Examples:\n  galatea chat\n  galatea chat -m \"what do you know about tides?\"\n  echo hello | galatea chat --json"
    )]
    Chat(chat::Chat),
    #[command(before_help = "Examples:\n  galatea status\n  galatea status --json")]
    Status(status::Status),
    Init(init::Init),
    Doctor(doctor::Doctor),
    #[command(
        before_help = "Examples:\n  galatea explain GAL-TG-409\n  galatea explain https://t.me/c/1234567890/42"
    )]
    Explain(explain::Explain),
    #[command(before_help = "Examples:\n  galatea audit\n  galatea audit --json")]
    Audit(audit::Audit),
    Trace(trace::TraceCommand),
    #[command(
        before_help = "Examples:\n  galatea logs\n  galatea logs -f --level warn\n  galatea logs --json"
    )]
    Logs(logs::Logs),
    Agent(agent::AgentCommand),
    User(user::UserCommand),
    Token(user::TokenCommand),
    Openapi(openapi::Openapi),
    Dev(dev::Dev),
    Db(db::Db),
    Service(service::Service),
    Export(whole::Export),
    Import(whole::Import),
    Test(test::Test),
    Outbox(outbox::Outbox),
    Task(task::Tasks),
    Cluster(cluster::Cluster),
    Character(character::Character),
    #[command(
        before_help = "Examples:\n  galatea connector ls\n  galatea connector check telegram\n  galatea connector check telegram --fix"
    )]
    Connector(connector::Connector),
    Plugin(plugin::Plugin),
    Config(config::Config),
    Knowledge(knowledge::Knowledge),
    Mcp(mcp::Mcp),
    Models(models::Models),
    Pairing(pairing::Pairing),
    Block(block::Block),
    Grant(grant::GrantCommand),
    Usage(usage::Usage),
    Memory(memory::Memory),
    #[command(
        visible_alias = "dashboard",
        before_help = "Examples:\n  galatea login\n  galatea dashboard"
    )]
    Login(login::Login),
    Completions(completions::Completions),
    Man(man::Man),
    #[command(hide = true)]
    Reference(reference::Reference),
}

/// Runs a command.
///
/// # Errors
/// Any error that prevents the command from finishing, with its exit code.
pub(crate) async fn run(cli: Cli, context: &Context) -> Result<ExitCode> {
    match cli.command.unwrap_or_else(|| Command::Start(start::Start::default())) {
        Command::Start(start) => start.run(context).await,
        Command::Chat(chat) => chat.run(context).await,
        Command::Status(status) => status.run(context).await,
        Command::Init(init) => init.run(context).await,
        Command::Doctor(doctor) => doctor.run(context).await,
        Command::Explain(explain) => explain.run(context).await,
        Command::Audit(audit) => audit.run(context).await,
        Command::Trace(trace) => trace.run(context).await,
        Command::Logs(logs) => logs.run(context).await,
        Command::Agent(agent) => agent.run(context).await,
        Command::User(user) => user.run(context).await,
        Command::Token(token) => token.run(context).await,
        Command::Openapi(openapi) => openapi.run(context),
        Command::Dev(dev) => dev.run(context).await,
        Command::Db(db) => db.run(context).await,
        Command::Service(service) => service.run(context),
        Command::Export(export) => export.run(context).await,
        Command::Import(import) => import.run(context).await,
        Command::Test(test) => test.run(context).await,
        Command::Outbox(outbox) => outbox.run(context).await,
        Command::Task(tasks) => tasks.run(context).await,
        Command::Cluster(cluster) => cluster.run(context).await,
        Command::Character(character) => character.run(context).await,
        Command::Connector(connector) => connector.run(context).await,
        Command::Plugin(plugin) => plugin.run(context).await,
        Command::Config(config) => config.run(context),
        Command::Knowledge(knowledge) => knowledge.run(context).await,
        Command::Mcp(mcp) => mcp.run(context).await,
        Command::Models(models) => models.run(context).await,
        Command::Pairing(pairing) => pairing.run(context).await,
        Command::Block(block) => block.run(context).await,
        Command::Grant(grant) => grant.run(context).await,
        Command::Usage(usage) => usage.run(context).await,
        Command::Memory(memory) => memory.run(context).await,
        Command::Login(login) => login.run(context).await,
        Command::Completions(completions) => Ok(completions.run(command(), context)),
        Command::Man(man) => man.run(command(), context),
        Command::Reference(reference) => Ok(reference.run(command(), context)),
    }
}

/// The command tree, with uniform help texts.
pub(crate) fn command() -> clap::Command {
    uniform(Cli::command())
}

fn uniform(command: clap::Command) -> clap::Command {
    let names: Vec<String> = command.get_subcommands().map(|c| c.get_name().to_owned()).collect();
    let before = command.get_before_help().map(|text| format!("{text}\n\n"));
    let mut command = command.help_template(HELP).max_term_width(WIDTH);
    if let Some(before) = before {
        command = command.before_help(before);
    }
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, uniform))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_sound() {
        command().debug_assert();
    }

    /// `e2e/start/json.rs` has each of them fail.
    #[test]
    fn every_command_with_json_is_in_the_list_of_the_test() {
        fn walk(command: &clap::Command, path: &str, found: &mut Vec<String>) {
            let has = command.get_arguments().any(|argument| argument.get_id() == "json");
            found.extend(has.then(|| path.trim().to_owned()));
            for sub in command.get_subcommands() {
                walk(sub, &format!("{path} {}", sub.get_name()), found);
            }
        }
        let mut commands = Vec::new();
        walk(&command(), "", &mut commands);
        let listed = include_str!("../../../../tests/tests/e2e/start/json_commands.txt");
        for command in &commands {
            let is_of = |line: &&str| *line == command || line.starts_with(&format!("{command} "));
            assert!(listed.lines().any(|line| is_of(&line)), "{command} is not listed");
        }
        assert_eq!(listed.lines().count(), commands.len(), "{commands:?}");
    }

    #[test]
    fn every_help_shows_examples_and_fits_the_width() {
        fn walk(mut command: clap::Command, path: &str) {
            let path = format!("{path} {}", command.get_name());
            for text in [command.render_help().to_string(), command.render_long_help().to_string()]
            {
                for line in text.lines() {
                    assert!(line.chars().count() <= WIDTH, "{path}: {line}");
                }
                let leaf = command.get_subcommands().next().is_none();
                assert!(
                    !leaf
                        || command.get_name() == "help"
                        || text.contains("Examples:")
                        || command.is_hide_set()
                        || path.matches(' ').count() > 2,
                    "{path} has no examples:\n{text}"
                );
            }
            for sub in command.get_subcommands() {
                walk(sub.clone(), &path);
            }
        }
        walk(command(), "");
    }
}
