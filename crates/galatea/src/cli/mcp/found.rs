//! The servers that commands are about.

use clap::Args;
use galatea_core::{AgentId, Error, SystemClock};
use galatea_host::{
    agents::mcp::{configured, file},
    characters::personas::{self, Persona},
    storage::data_dir::DataDir,
};
use galatea_http::{HttpClient, HttpOptions};
use galatea_mcp::{Surroundings, config::ServerConfig, places::Places};
use std::sync::Arc;

use crate::{
    cli::flags::Characters,
    context::Context,
    report::failure::{Failure, Result},
};

#[derive(Debug, Clone, Args)]
pub(super) struct Named {
    /// Name of the server
    pub(super) name: String,
    #[command(flatten)]
    pub(super) characters: Characters,
}

/// What commands about servers work with.
pub(super) struct Found {
    pub(super) personas: Vec<Persona>,
    pub(super) servers: Vec<ServerConfig>,
    pub(super) around: Surroundings,
}

/// Reads the entries of these characters, and says their faults.
pub(super) fn find(characters: &Characters, context: &Context) -> Result<Found> {
    let configuration = context.configuration()?;
    let data_dir = DataDir::locate(&configuration.settings, &context.working_dir);
    let personas = personas::load(&characters.characters, configuration, &context.working_dir)?;
    let mut servers: Vec<ServerConfig> = Vec::new();
    let mut told = Vec::new();
    for persona in &personas {
        let read = configured(persona)?;
        for fault in read.faults {
            if !told.contains(&fault) {
                context.output.say(format_args!("! {fault}"));
                told.push(fault);
            }
        }
        for server in read.servers {
            if !servers.iter().any(|known| known.key() == server.key()) {
                servers.push(server);
            }
        }
    }
    let around = Surroundings {
        keeper: std::env::current_exe().unwrap_or_default(),
        places: Places::new(data_dir.path()),
        http: HttpClient::new(HttpOptions::default())?,
        clock: Arc::new(SystemClock),
    };
    Ok(Found { personas, servers, around })
}

impl Found {
    /// A server by its name.
    pub(super) fn named(&self, name: &str) -> Result<&ServerConfig> {
        let found = self.servers.iter().find(|server| server.name.eq_ignore_ascii_case(name));
        found.ok_or_else(|| {
            let names: Vec<&str> = self.servers.iter().map(|server| server.name.as_str()).collect();
            let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            Error::not_found("there is no MCP server of this name")
                .with_code("GAL-MCP-NAME")
                .with("server", galatea_http::redact::plain(name, 40))
                .with_fix(format!("there are: {there}; `galatea mcp add` adds one"))
                .into()
        })
    }
}

/// The agent of a command that concerns one.
pub(super) fn only_agent(found: &Found) -> Result<(AgentId, &Persona)> {
    match &*found.personas {
        [persona] => Ok((persona.character.identity().id(), persona)),
        _ => Err(Failure::usage("there are several characters", "name one with --character")),
    }
}

/// The file of servers of a command.
pub(super) fn path(found: &Found) -> std::path::PathBuf {
    found.personas.first().map(file).unwrap_or_default()
}
