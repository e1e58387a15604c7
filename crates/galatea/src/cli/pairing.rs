//! `galatea pairing`: approves strangers who wait for the owner, and invites friends
//! (DM_POLICY=pairing).

use clap::{Args, Subcommand};
use galatea_core::{Clock, Error, Store, SystemClock, visible::one_line};
use galatea_runtime::pairing;
use serde_json::json;
use std::{process::ExitCode, time::Duration};

use crate::{
    cli::{flags::Json, utc::utc},
    context::Context,
    report::failure::{Failure, Result},
};
use galatea_host::storage::{data_dir::DataDir, database};

/// Approve strangers who wait to talk to an agent, and invite friends
#[derive(Debug, Clone, Args)]
pub(crate) struct Pairing {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Clone, Subcommand)]
enum Verb {
    /// List who waits, with their codes, and open invitations
    #[command(before_help = "Examples:\n  galatea pairing ls")]
    Ls {
        #[command(flatten)]
        json: Json,
    },
    /// Make a code for a friend: who writes it to the agent first is admitted
    #[command(
        before_help = "Examples:\n  galatea pairing invite\n  galatea pairing invite --agent Ada --days 1"
    )]
    Invite {
        /// The agent's name; needed if several have run here
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
        /// Days until the code ends
        #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u8).range(1..=90))]
        days: u8,
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
    /// Works beside a running process.
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        let settings = &context.configuration()?.settings;
        let database =
            database::open_beside(settings, &DataDir::locate(settings, &context.working_dir))
                .await?;
        let store = database.store();
        let outcome = match &self.verb {
            Verb::Ls { json } => list(&*store, json.json, context).await,
            Verb::Invite { agent, days, json } => {
                invite(&*store, agent.as_deref(), *days, json.json, context).await
            }
            Verb::Approve { code } => approve(&*store, code, context).await,
        };
        database.close().await;
        outcome
    }
}

async fn list(store: &dyn Store, json: bool, context: &Context) -> Result<ExitCode> {
    let now = SystemClock.now();
    let (mut waiting, mut open) = (Vec::new(), Vec::new());
    for (agent, name) in &store.agents().await? {
        let people = pairing::pending(store, *agent, now).await?;
        waiting.extend(people.into_iter().map(|person| (name.clone(), person)));
        let invitations = pairing::invitations(store, *agent, now).await?;
        open.extend(invitations.into_iter().map(|invitation| (name.clone(), invitation)));
    }
    if json {
        let list: Vec<_> = waiting
            .iter()
            .map(|(agent, person)| json!({ "agent": agent, "code": person.code, "name": person.name, "until": person.until }))
            .collect();
        let open: Vec<_> = open
            .iter()
            .map(|(agent, open)| json!({ "agent": agent, "code": open.code, "until": open.until }))
            .collect();
        let body = json!({ "waiting": list, "invitations": open });
        context.output.json("galatea.pairing/1", body);
        return Ok(ExitCode::SUCCESS);
    }
    for (agent, person) in &waiting {
        let name = one_line(&person.name);
        let line = format!("{}  {name}  wants to talk to {agent}", person.code);
        context.output.row(10, &line);
    }
    for (agent, open) in &open {
        let until = utc(open.until);
        let line = format!("{}  an invitation to talk to {agent}, good until {until}", open.code);
        context.output.row(14, &line);
    }
    if waiting.is_empty() {
        context.output.say("no person waits for approval");
    }
    Ok(ExitCode::SUCCESS)
}

async fn invite(
    store: &dyn Store,
    wanted: Option<&str>,
    days: u8,
    json: bool,
    context: &Context,
) -> Result<ExitCode> {
    let mut agents = store.agents().await?;
    if let Some(wanted) = wanted {
        agents.retain(|(_, name)| name.eq_ignore_ascii_case(wanted));
    }
    let (agent, name) = match agents.as_slice() {
        [only] => only,
        [] => {
            return Err(Error::not_found("no such agent has run here")
                .with_code("GAL-PAIR-AGENT")
                .with_fix("start it once, or correct --agent")
                .into());
        }
        _ => {
            let names: Vec<_> = agents.iter().map(|(_, name)| one_line(name)).collect();
            return Err(Failure::usage(
                "several agents have run here, and an invitation is to one of them",
                format!("add --agent with one of: {}", names.join(", ")),
            ));
        }
    };
    let life = Duration::from_secs(u64::from(days) * 24 * 60 * 60);
    let made = pairing::invite(store, *agent, life, SystemClock.now()).await?;
    if json {
        let body = json!({ "agent": name, "code": made.code, "until": made.until });
        context.output.json("galatea.pairing.invitation/1", body);
    } else {
        context.output.data(&made.code);
        context.output.say(format!(
            "Give this code to one person: who writes it to {name} in a private message, before {}, is admitted. It works once.",
            utc(made.until)
        ));
    }
    Ok(ExitCode::SUCCESS)
}

async fn approve(store: &dyn Store, code: &str, context: &Context) -> Result<ExitCode> {
    for (agent, name) in &store.agents().await? {
        if let Some(person) = pairing::approve(store, *agent, code, SystemClock.now()).await? {
            context.output.say(format!("{} may talk to {name} now", one_line(&person)));
            return Ok(ExitCode::SUCCESS);
        }
    }
    Err(Error::not_found("no pairing request has this code")
        .with_code("GAL-PAIR-UNKNOWN")
        .with_fix("codes are good for one hour; `galatea pairing ls` shows those that wait, and a new message to the agent gives a new one")
        .into())
}
