//! MCP servers: they stand in the file of the folder or in a character. Nothing of one runs before its
//! owner approved its command or address, and each of its tools as it is.

use galatea_core::{
    Error, ErrorKind, Result,
    store::OperatorRole,
    whole_file::{self, Access, Flush},
};
use galatea_mcp::{
    Pinned, Probed, ServerView,
    config::{self, ServerConfig},
    probe,
};
use serde_json::{Map, Value, json};
use std::{path::Path, time::Duration};
use tokio::time::timeout;

use super::{Operator, Ops};
use crate::agents::mcp;

/// Longest wait for a server that is tried.
const PATIENCE: Duration = Duration::from_secs(75);
/// Longest file of servers that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// An MCP server of the agents of this process.
#[derive(Debug, Clone)]
pub struct ListedServer {
    /// Its configuration.
    pub config: ServerConfig,
    /// Names of the agents that use it.
    pub agents: Vec<String>,
    /// The state of its connection; none before it was begun.
    pub view: Option<ServerView>,
}

/// A tool of a server, beside what its owner agreed to before.
#[derive(Debug, Clone)]
pub struct ListedServerTool {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// How it compares with what was approved.
    pub state: Pinned,
}

/// A server to add.
#[derive(Debug, Clone)]
pub struct NewServer {
    /// Its name.
    pub name: String,
    /// Its entry as the file has it.
    pub entry: Map<String, Value>,
}

impl Ops {
    /// The MCP servers of this process's agents, by name.
    ///
    /// # Errors
    /// `Unsupported` in a process without agents, and the failure to read the file.
    pub fn servers(&self, by: &Operator) -> Result<Vec<ListedServer>> {
        by.need(OperatorRole::Viewer)?;
        let installation = self.installation()?;
        let views = installation.surroundings.mcp.views();
        let mut listed: Vec<ListedServer> = Vec::new();
        for (_, persona) in installation.personas() {
            let agent = persona.character.name.clone();
            for config in mcp::configured(&persona)?.servers {
                match listed.iter_mut().find(|known| known.config.key() == config.key()) {
                    Some(known) => known.agents.push(agent.clone()),
                    None => listed.push(ListedServer {
                        view: views.iter().find(|view| view.name == config.name).cloned(),
                        agents: vec![agent.clone()],
                        config,
                    }),
                }
            }
        }
        listed.sort_by(|a, b| a.config.name.cmp(&b.config.name));
        Ok(listed)
    }

    fn server(&self, by: &Operator, name: &str) -> Result<ListedServer> {
        let all = self.servers(by)?;
        all.into_iter().find(|listed| listed.config.name.eq_ignore_ascii_case(name)).ok_or_else(
            || {
                Error::not_found("there is no MCP server of this name")
                    .with_code("GAL-MCP-NAME")
                    .with_fix("the list of servers has their names")
            },
        )
    }

    /// Adds a server to the file of the folder. Nothing of it runs until it is approved.
    ///
    /// # Errors
    /// `Conflict` (`GAL-MCP-NAME`) for a name that is taken, `Invalid` for an entry that cannot be read.
    pub async fn add_server(&self, by: &Operator, new: NewServer) -> Result<ListedServer> {
        by.need(OperatorRole::Owner)?;
        let NewServer { name, entry } = new;
        if self.servers(by)?.iter().any(|known| known.config.name.eq_ignore_ascii_case(&name)) {
            return Err(Error::new(ErrorKind::Conflict, "there is an MCP server of this name")
                .with_code("GAL-MCP-NAME")
                .with_fix("remove it, or give this one another name"));
        }
        let path = self.servers_file()?;
        let mut whole = read(&path)?;
        servers(&mut whole)?.insert(name.clone(), Value::Object(entry));
        let folder = path.parent().unwrap_or(Path::new("."));
        // Read like any other file, so that its faults are found before it is written.
        let checked = config::read(&whole, "", folder, &|name| std::env::var(name).ok());
        let place = format!("mcpServers.{name}");
        let ours =
            checked.faults.iter().find(|fault| !fault.mild && fault.place.starts_with(&place));
        if let Some(fault) = ours {
            return Err(Error::invalid(fault.what.clone())
                .with_code("GAL-MCP-CONFIG")
                .with_fix(fault.fix.clone()));
        }
        write(&path, &whole)?;
        let added = self.server(by, &name)?;
        let after = json!({ "command": added.config.shown() });
        self.record(by, "mcp.add", &name, None, Some(after)).await?;
        Ok(added)
    }

    /// Removes a server from the file of the folder, and forgets what was approved of it.
    ///
    /// # Errors
    /// `NotFound` for an unknown one, `Conflict` (`GAL-MCP-NAME`) for one of a character.
    pub async fn remove_server(&self, by: &Operator, name: &str) -> Result<()> {
        by.need(OperatorRole::Owner)?;
        let server = self.server(by, name)?.config;
        let path = self.servers_file()?;
        let mut whole = read(&path)?;
        if servers(&mut whole)?.shift_remove(&server.name).is_none() {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!("this server stands in {}", server.origin),
            )
            .with_code("GAL-MCP-NAME")
            .with_fix("remove it there"));
        }
        write(&path, &whole)?;
        self.installation()?.surroundings.mcp.around().places.forget(&server.key());
        let before = json!({ "command": server.shown() });
        self.record(by, "mcp.remove", &server.name, Some(before), None).await
    }

    /// Connects a server once and shows its tools. This starts its program or calls its address, so an
    /// owner alone may ask for it.
    ///
    /// # Errors
    /// `NotFound` for an unknown one, and the failure of its connection.
    pub async fn try_server(&self, by: &Operator, name: &str) -> Result<Vec<ListedServerTool>> {
        by.need(OperatorRole::Owner)?;
        let server = self.server(by, name)?.config;
        let probed = self.probed(&server).await?;
        self.record(by, "mcp.test", &server.name, None, None).await?;
        let places = &self.installation()?.surroundings.mcp.around().places;
        let states = probed.compared(&server, places)?;
        let tools = probed.listing.tools.iter().zip(states);
        Ok(tools
            .map(|(tool, state)| ListedServerTool {
                name: tool.name.clone(),
                description: tool.description.clone(),
                state,
            })
            .collect())
    }

    /// Approves a server's command or address, and its tools as they are now: these, or all.
    ///
    /// # Errors
    /// `NotFound` for an unknown server or tool, and the failure of its connection.
    pub async fn approve_server(
        &self,
        by: &Operator,
        name: &str,
        only: Option<Vec<String>>,
    ) -> Result<Vec<ListedServerTool>> {
        by.need(OperatorRole::Owner)?;
        let server = self.server(by, name)?.config;
        let probed = self.probed(&server).await?;
        let has = |name: &String| probed.listing.tools.iter().any(|tool| tool.name == *name);
        if let Some(missing) = only.iter().flatten().find(|name| !has(name)) {
            return Err(Error::not_found("the server has no such tool")
                .with_code("GAL-MCP-NAME")
                .with("tool", galatea_http::redact::plain(missing, 64)));
        }
        let places = &self.installation()?.surroundings.mcp.around().places;
        probed.approve(&server, places, only.as_deref())?;
        let after = json!({ "command": server.shown(), "tools": only });
        self.record(by, "mcp.approve", &server.name, None, Some(after)).await?;
        let states = probed.compared(&server, places)?;
        let tools = probed.listing.tools.iter().zip(states);
        Ok(tools
            .map(|(tool, state)| ListedServerTool {
                name: tool.name.clone(),
                description: tool.description.clone(),
                state,
            })
            .collect())
    }

    async fn probed(&self, server: &ServerConfig) -> Result<Probed> {
        let around = self.installation()?.surroundings.mcp.around();
        timeout(PATIENCE, probe(server, around))
            .await
            .map_err(|_| Error::new(ErrorKind::Timeout, "the MCP server did not answer in time"))?
    }

    fn servers_file(&self) -> Result<std::path::PathBuf> {
        let personas = self.installation()?.personas();
        let (_, first) = personas
            .first()
            .ok_or_else(|| Error::new(ErrorKind::Unsupported, "no agents run in this process"))?;
        Ok(mcp::file(first))
    }
}

/// The servers of a file, by name.
fn servers(whole: &mut Value) -> Result<&mut Map<String, Value>> {
    let key =
        if whole.get("servers").is_some_and(Value::is_object) { "servers" } else { "mcpServers" };
    let strange =
        || Error::invalid("the file with MCP servers has another form").with_code("GAL-MCP-FILE");
    let map = whole.as_object_mut().ok_or_else(strange)?;
    map.entry(key).or_insert_with(|| json!({})).as_object_mut().ok_or_else(strange)
}

fn read(path: &Path) -> Result<Value> {
    let text = || {
        if path.metadata()?.len() > LONGEST {
            return Err(std::io::Error::other("the file is too long"));
        }
        std::fs::read_to_string(path)
    };
    let cannot = |error: &dyn std::fmt::Display| {
        Error::invalid("the file with MCP servers cannot be read")
            .with_code("GAL-MCP-FILE")
            .with("file", path.display())
            .with("cause", error)
            .with_fix("correct it on the machine that Galatea runs on")
    };
    match text() {
        Ok(text) => serde_json::from_str(&text).map_err(|error| cannot(&error)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Ok(json!({ "mcpServers": {} }))
        }
        Err(error) => Err(cannot(&error)),
    }
}

/// The file may contain keys, so only its owner reads a new one.
fn write(path: &Path, whole: &Value) -> Result<()> {
    let text = serde_json::to_string_pretty(whole).unwrap_or_default() + "\n";
    let access = if path.exists() { Access::Usual } else { Access::Private };
    let temporary = path.with_extension("json.new");
    whole_file::replace(path, &temporary, text.as_bytes(), access, Flush::Yes).map_err(|error| {
        Error::unexpected("the file with MCP servers cannot be written")
            .with_code("GAL-FILE-WRITE")
            .with("file", path.display())
            .with_source(error)
    })
}
