//! `galatea mcp`: the MCP servers of the agents, and this agent as a server.

mod approve;
mod edit;
mod found;
mod look;
mod serve;

use clap::{Args, Subcommand};
use galatea_core::{Error, ErrorKind};
use galatea_mcp::{Probed, Server, Surroundings, config::ServerConfig, login, probe};
use serde_json::{Value, json};
use std::{process::ExitCode, time::Duration};

use crate::{
    cli::flags::{Characters, Json},
    context::Context,
    report::{
        exit::Exit,
        failure::{Failure, Result},
    },
};
use found::{Named, find};

/// Longest wait for a server that is tried.
const PATIENCE: Duration = Duration::from_secs(75);

/// Connect MCP servers, whose tools the agents may use, and be one
///
/// Servers stand in the file mcp.json of this folder, or under settings.mcp of a character. Nothing of a
/// server runs before its owner approved its command or address, and each of its tools as it is.
#[derive(Debug, Clone, Args)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Clone, Subcommand)]
enum Command {
    /// List the servers, and what of them is approved
    #[command(before_help = "Examples:\n  galatea mcp ls\n  galatea mcp ls --json")]
    Ls(Ls),
    /// Add a server: show its command and its tools, and ask
    #[command(
        before_help = "Examples:\n  galatea mcp add time -- uvx mcp-server-time\n  galatea mcp add docs --url https://example.com/mcp"
    )]
    Add(edit::Add),
    /// Approve a server and its tools as they are now
    #[command(
        before_help = "Examples:\n  galatea mcp approve time\n  galatea mcp approve time --tool get_current_time"
    )]
    Approve(approve::Approve),
    /// Connect a server once, and show what it offers; or call one of its tools
    #[command(
        before_help = "Examples:\n  galatea mcp test time\n  galatea mcp test time --call convert --arguments '{\"to\": \"UTC\"}'"
    )]
    Test(Test),
    /// Sign in at a server with a browser
    #[command(before_help = "Examples:\n  galatea mcp login docs")]
    Login(Login),
    /// Remove a server, its approval and its login
    #[command(before_help = "Examples:\n  galatea mcp rm time")]
    Rm(edit::Rm),
    /// Be an MCP server on standard input and output, for other programs of this machine
    #[command(before_help = "Examples:\n  galatea mcp serve")]
    Serve(serve::Serve),
}

#[derive(Debug, Clone, Args)]
struct Ls {
    #[command(flatten)]
    characters: Characters,
    #[command(flatten)]
    json: Json,
}

#[derive(Debug, Clone, Args)]
struct Login {
    #[command(flatten)]
    named: Named,
}

#[derive(Debug, Clone, Args)]
struct Test {
    #[command(flatten)]
    named: Named,
    /// Call this tool, which has to be approved
    #[arg(long, value_name = "TOOL")]
    call: Option<String>,
    /// Arguments of the call, a JSON object
    #[arg(long, value_name = "JSON", default_value = "{}")]
    arguments: String,
    #[command(flatten)]
    json: Json,
}

impl Mcp {
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        match &self.command {
            Command::Ls(ls) => ls.run(context),
            Command::Add(add) => add.run(context).await,
            Command::Approve(approve) => approve.run(context).await,
            Command::Test(test) => test.run(context).await,
            Command::Login(login) => login.run(context).await,
            Command::Rm(rm) => rm.run(context),
            Command::Serve(serve) => serve.run(context).await,
        }
    }
}

impl Ls {
    fn run(&self, context: &Context) -> Result<ExitCode> {
        let found = find(&self.characters, context)?;
        let mut rows = Vec::new();
        for server in &found.servers {
            let known = found.around.places.read(&server.key())?;
            let approved = known.approval.identity == server.identity();
            let state = if server.disabled {
                "disabled".to_owned()
            } else if !approved {
                format!("not approved: `galatea mcp approve {}`", server.name)
            } else {
                format!("{} tools approved", known.approval.tools.len())
            };
            rows.push((server, approved, state, known));
        }
        if self.json.json {
            let servers: Vec<Value> = rows
                .iter()
                .map(|(server, approved, state, known)| {
                    json!({
                        "name": server.name, "command": server.shown(), "origin": server.origin,
                        "approved": approved, "disabled": server.disabled, "state": state,
                        "tools": known.approval.tools.keys().collect::<Vec<_>>(), "protocol": known.version,
                    })
                })
                .collect();
            context.output.json("galatea.mcp/1", json!({ "servers": servers }));
            return Ok(ExitCode::SUCCESS);
        }
        if rows.is_empty() {
            context.output.say("There is no MCP server. `galatea mcp add` adds one.");
        }
        for (server, _, state, known) in rows {
            context.output.data(format_args!("{}  {state}", server.name));
            context.output.row(2, &server.shown());
            context.output.row(2, &format!("from {}", server.origin));
            for tool in known.approval.tools.keys() {
                context.output.row(4, tool);
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Test {
    async fn run(&self, context: &Context) -> Result<ExitCode> {
        let found = find(&self.named.characters, context)?;
        let server = found.named(&self.named.name)?;
        if let Some(tool) = &self.call {
            return self.call(server, &found.around, tool, context).await;
        }
        let known = found.around.places.read(&server.key())?;
        if known.approval.identity != server.identity() {
            return Err(Error::new(ErrorKind::Forbidden, "the MCP server is not approved")
                .with_code("GAL-MCP-APPROVAL")
                .with("server", &server.name)
                .with_fix(format!("run `galatea mcp approve {}`", server.name))
                .into());
        }
        let probed: Probed = look::waiting(probe(server, &found.around), context).await?;
        if self.json.json {
            let states = probed.compared(server, &found.around.places)?;
            let tools: Vec<Value> = probed
                .listing
                .tools
                .iter()
                .zip(states)
                .map(|(tool, state)| json!({ "name": tool.name, "description": tool.description, "state": state }))
                .collect();
            let body = json!({
                "name": server.name, "protocol": probed.version, "tools": tools, "tokens": probed.tokens,
                "resources": probed.listing.resources.len(), "prompts": probed.listing.prompts.len(),
                "notEnforced": probed.not_enforced,
            });
            context.output.json("galatea.mcp/1", body);
        } else {
            look::tools(server, &probed, &found.around.places, context)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn call(
        &self,
        server: &ServerConfig,
        around: &Surroundings,
        tool: &str,
        context: &Context,
    ) -> Result<ExitCode> {
        let arguments = match serde_json::from_str(&self.arguments) {
            Ok(Value::Object(arguments)) => arguments,
            _ => {
                return Err(Failure::usage(
                    "--arguments is not a JSON object",
                    "write '{\"name\": \"value\"}'",
                ));
            }
        };
        let running = Server::start(server.clone(), around.clone());
        let ready = async {
            while !running.is_ready() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        if tokio::time::timeout(PATIENCE, ready).await.is_err() {
            let view = running.view();
            running.stop().await;
            return Err(Error::new(ErrorKind::Unavailable, "the MCP server is not connected")
                .with_code("GAL-MCP-DOWN")
                .with("server", &server.name)
                .with("state", format!("{} {}", view.phase.as_str(), view.detail))
                .with_fix("repair what the state says")
                .into());
        }
        let outcome = running.try_tool(tool, arguments).await;
        running.stop().await;
        if self.json.json {
            let files: Vec<&str> = outcome.files.iter().map(|file| file.title.as_str()).collect();
            context.output.json(
                "galatea.mcp/1",
                json!({ "success": outcome.success, "text": outcome.text, "files": files }),
            );
        } else {
            context.output.data(&outcome.text);
        }
        Ok(if outcome.success { ExitCode::SUCCESS } else { Exit::Failure.into() })
    }
}

impl Login {
    async fn run(&self, context: &Context) -> Result<ExitCode> {
        let found = find(&self.named.characters, context)?;
        let server = found.named(&self.named.name)?;
        let begun = look::waiting(login::begin(server, &found.around.places), context).await?;
        context.output.say("Open this page in a browser of this machine, and sign in:\n");
        context.output.data(&begun.address);
        context.output.say("\nWaiting for the browser to come back.");
        tokio::select! {
            finished = begun.finish() => finished?,
            _ = tokio::signal::ctrl_c() => return Err(Failure::interrupted()),
        }
        context.output.say(format_args!(
            "✓ Signed in at {}. A running galatea takes it over within some seconds.",
            server.name
        ));
        Ok(ExitCode::SUCCESS)
    }
}
