//! `galatea agent`: the agents of the running process; one is stopped or started while the others go on.

use clap::{Args, Subcommand};
use galatea_core::Error;
use serde_json::{Value, json};
use std::process::ExitCode;

use crate::{
    cli::{flags::Json, local_api::LocalApi},
    context::Context,
    report::failure::Result,
};

/// See the agents of the running process; start, stop or restart one
#[derive(Debug, Clone, Args)]
pub(crate) struct AgentCommand {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Clone, Subcommand)]
enum Verb {
    /// List the agents and how they do
    #[command(before_help = "Examples:\n  galatea agent ls\n  galatea agent ls --json")]
    Ls {
        #[command(flatten)]
        json: Json,
    },
    /// Show an agent with its character, by its name or id
    #[command(before_help = "Examples:\n  galatea agent show Eliza")]
    Show {
        /// Name or id
        agent: String,
    },
    /// Start an agent that was stopped
    #[command(before_help = "Examples:\n  galatea agent start Eliza")]
    Start {
        /// Name or id
        agent: String,
    },
    /// Stop an agent; its messages wait for the next start
    #[command(before_help = "Examples:\n  galatea agent stop Eliza")]
    Stop {
        /// Name or id
        agent: String,
    },
    /// Make an agent's models and connectors anew, with its files as they are now
    #[command(before_help = "Examples:\n  galatea agent restart Eliza")]
    Restart {
        /// Name or id
        agent: String,
    },
}

impl AgentCommand {
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        let api = LocalApi::open(context, "galatea agent").await?;
        let outcome = self.with(&api, context).await;
        api.close().await;
        outcome
    }

    async fn with(&self, api: &LocalApi, context: &Context) -> Result<ExitCode> {
        let page = api.get("/api/v1/agents").await?;
        let agents = page.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
        let (agent, verb, done) = match &self.verb {
            Verb::Ls { json } => {
                if json.json {
                    context.output.json("galatea.agents/1", json!({ "agents": agents }));
                } else {
                    agents.iter().for_each(|agent| context.output.data(line(agent)));
                }
                return Ok(ExitCode::SUCCESS);
            }
            Verb::Show { agent } => {
                let id = find(&agents, agent)?;
                let whole = api.get(&format!("/api/v1/agents/{id}")).await?;
                context.output.data(format_args!("{whole:#}"));
                return Ok(ExitCode::SUCCESS);
            }
            Verb::Start { agent } => (agent, "start", "runs"),
            Verb::Stop { agent } => (agent, "stop", "is stopped"),
            Verb::Restart { agent } => (agent, "restart", "runs anew"),
        };
        let id = find(&agents, agent)?;
        let after = api.post(&format!("/api/v1/agents/{id}/{verb}")).await?;
        let name = after.get("name").and_then(Value::as_str).unwrap_or(agent);
        context.output.say(format_args!("{name} {done}."));
        Ok(ExitCode::SUCCESS)
    }
}

/// The id of an agent by its name or id.
fn find(agents: &[Value], wanted: &str) -> Result<String> {
    let text = |agent: &Value, name: &str| {
        agent.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let named = agents.iter().filter(|agent| {
        text(agent, "id") == wanted || text(agent, "name").eq_ignore_ascii_case(wanted)
    });
    let ids: Vec<String> = named.map(|agent| text(agent, "id")).collect();
    match ids.as_slice() {
        [id] => Ok(id.clone()),
        [] => Err(unknown("no agent of this name runs here", wanted)),
        _ => Err(unknown("several agents have this name; give the id", wanted)),
    }
}

fn unknown(what: &'static str, wanted: &str) -> crate::report::failure::Failure {
    Error::not_found(what)
        .with_code("GAL-AGENT-UNKNOWN")
        .with("asked for", wanted)
        .with_fix("`galatea agent ls` lists them with their ids")
        .into()
}

fn line(agent: &Value) -> String {
    let text = |name: &str| agent.get(name).and_then(Value::as_str).unwrap_or_default();
    let failure = text("failure");
    let failure = if failure.is_empty() { String::new() } else { format!("  {failure}") };
    format!("{}  {}  {}{failure}", text("id"), text("state"), text("name"))
}
