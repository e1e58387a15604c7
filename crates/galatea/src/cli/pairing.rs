//! `galatea pairing`: approves strangers who wait for the owner (DM_POLICY=pairing).

use clap::{Args, Subcommand};
use galatea_core::{Clock, Error, SystemClock};
use galatea_runtime::pairing;
use serde_json::json;
use std::process::ExitCode;

use crate::{cli::flags::Json, context::Context, data_dir::DataDir, database, failure::Result};

/// Approve strangers who wait to talk to an agent
#[derive(Debug, Clone, Args)]
pub(crate) struct Pairing {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Clone, Subcommand)]
enum Verb {
    /// List who waits, with their codes
    #[command(before_help = "Examples:\n  galatea pairing ls")]
    Ls {
        #[command(flatten)]
        json: Json,
    },
    /// Approve the person who shows this code
    #[command(before_help = "Examples:\n  galatea pairing approve K7WQ2MPX")]
    Approve {
        /// The eight characters the agent sent them
        code: String,
    },
}

impl Pairing {
    /// Lists or approves. Works beside a running process.
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        let settings = &context.configuration()?.settings;
        let database =
            database::open_beside(settings, &DataDir::locate(settings, &context.working_dir))
                .await?;
        let store = database.store();
        let now = SystemClock.now();
        let agents = store.agents().await?;
        let outcome = match &self.verb {
            Verb::Ls { json } => {
                let mut waiting = Vec::new();
                for (agent, name) in &agents {
                    waiting.extend(
                        pairing::pending(&*store, *agent, now)
                            .await?
                            .into_iter()
                            .map(|person| (name.clone(), person)),
                    );
                }
                if json.json {
                    let list: Vec<_> = waiting
                        .iter()
                        .map(|(agent, person)| json!({ "agent": agent, "code": person.code, "name": person.name, "until": person.until }))
                        .collect();
                    context.output.json("galatea.pairing/1", json!({ "waiting": list }));
                } else if waiting.is_empty() {
                    context.output.say("no person waits for approval");
                } else {
                    for (agent, person) in waiting {
                        let line =
                            format!("{}  {}  wants to talk to {agent}", person.code, person.name);
                        context.output.row(10, &line);
                    }
                }
                Ok(ExitCode::SUCCESS)
            }
            Verb::Approve { code } => {
                let mut approved = None;
                for (agent, name) in &agents {
                    if let Some(person) = pairing::approve(&*store, *agent, code, now).await? {
                        approved = Some((person, name.clone()));
                        break;
                    }
                }
                match approved {
                    Some((person, agent)) => {
                        context.output.say(format!("{person} may talk to {agent} now"));
                        Ok(ExitCode::SUCCESS)
                    }
                    None => Err(Error::not_found("no pairing request has this code")
                        .with_code("GAL-PAIR-UNKNOWN")
                        .with_fix("codes are good for one hour; `galatea pairing ls` shows those that wait, and a new message to the agent gives a new one")
                        .into()),
                }
            }
        };
        database.close().await;
        outcome
    }
}
