//! The MCP servers of agents: read from characters and from the file of the folder, started once for
//! all agents that use them, and stopped with the last one.

use galatea_core::{AgentId, Error, ErrorKind, Plugin, Result, settings::Setting};
use galatea_mcp::{
    AgentServers, Offer, Server, ServerView, Surroundings,
    config::{self, FILE, Fault, Read, ServerConfig},
    plugin_name,
};
use galatea_runtime::Orchestrator;
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{Arc, Weak},
    time::Duration,
};

use crate::characters::personas::Persona;

/// Longest file of servers that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// The servers of a process.
pub struct Hub {
    around: Surroundings,
    live: Mutex<BTreeMap<String, Shared>>,
    followers: Mutex<BTreeMap<AgentId, AbortOnDrop>>,
}

/// Ends a task when it is dropped.
struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

struct Shared {
    server: Arc<Server>,
    agents: BTreeSet<AgentId>,
}

impl Hub {
    /// Without servers yet.
    pub fn new(around: Surroundings) -> Self {
        Self { around, live: Mutex::default(), followers: Mutex::default() }
    }

    /// Surroundings of the connections.
    pub fn around(&self) -> &Surroundings {
        &self.around
    }

    /// The servers of an agent: those that it did not have are started, in the background; those that
    /// it no longer has are stopped.
    pub fn set(&self, agent: AgentId, configs: Vec<ServerConfig>) -> Vec<Arc<Server>> {
        let mut live = self.live.lock();
        for shared in live.values_mut() {
            shared.agents.remove(&agent);
        }
        let mut servers = Vec::new();
        for config in configs {
            let shared = live.entry(config.fingerprint()).or_insert_with(|| Shared {
                server: Server::start(config, self.around.clone()),
                agents: BTreeSet::new(),
            });
            shared.agents.insert(agent);
            servers.push(Arc::clone(&shared.server));
        }
        live.retain(|_, shared| {
            if shared.agents.is_empty() {
                let server = Arc::clone(&shared.server);
                tokio::spawn(async move { server.stop().await });
            }
            !shared.agents.is_empty()
        });
        servers
    }

    /// Keeps the plugins of an agent's servers as the servers are, until the agent is forgotten or this
    /// is called again for it.
    pub(crate) fn follow(
        self: &Arc<Self>,
        agent: AgentId,
        persona: Persona,
        to: Weak<Orchestrator>,
    ) {
        let follower = Follower { hub: Arc::downgrade(self), agent, persona, to };
        let task = AbortOnDrop(tokio::spawn(follower.run()));
        self.followers.lock().insert(agent, task);
    }

    /// Frees the servers of an agent that was removed.
    pub fn forget(&self, agent: AgentId) {
        self.followers.lock().remove(&agent);
        self.set(agent, Vec::new());
    }

    /// States of all servers, by name.
    pub fn views(&self) -> Vec<ServerView> {
        let mut views: Vec<ServerView> =
            self.live.lock().values().map(|shared| shared.server.view()).collect();
        views.sort_by(|a, b| a.name.cmp(&b.name));
        views
    }

    /// Stops every server, and waits until their processes are gone.
    pub async fn stop(&self) {
        self.followers.lock().clear();
        let servers: Vec<Arc<Server>> = std::mem::take(&mut *self.live.lock())
            .into_values()
            .map(|shared| shared.server)
            .collect();
        futures::future::join_all(servers.iter().map(|server| server.stop())).await;
    }
}

/// Pause between two looks at the file of servers.
const LOOK: Duration = Duration::from_secs(2);

/// Follows the servers of one agent.
struct Follower {
    hub: Weak<Hub>,
    agent: AgentId,
    persona: Persona,
    to: Weak<Orchestrator>,
}

impl Follower {
    async fn run(self) {
        let path = file(&self.persona);
        let mut seen = None;
        let mut told: Vec<Fault> = Vec::new();
        let mut servers = AgentServers::new(Vec::new());
        let mut handed = Handed::default();
        loop {
            let Some(hub) = self.hub.upgrade() else { return };
            let changed = std::fs::metadata(&path).and_then(|found| found.modified()).ok();
            if seen != Some(changed) {
                match configured(&self.persona) {
                    Ok(read) => {
                        tell(&self.persona, &read.faults, &mut told);
                        servers = AgentServers::new(hub.set(self.agent, read.servers));
                        handed.offers.clear();
                        handed.shared = false;
                    }
                    Err(error) => {
                        tracing::warn!(agent = self.persona.character.name, error = %error.report(), "the MCP servers cannot be read; the former ones stay");
                    }
                }
                seen = Some(changed);
            }
            drop(hub);
            let Some(orchestrator) = self.to.upgrade() else { return };
            self.swap(&orchestrator, &servers, &mut handed).await;
            drop(orchestrator);
            wait(&servers).await;
        }
    }

    /// Hands the plugins of servers on that changed since the last time, and takes back those of servers
    /// that are gone.
    async fn swap(&self, to: &Orchestrator, servers: &AgentServers, handed: &mut Handed) {
        let mut wanted: BTreeSet<String> =
            servers.servers().iter().map(|server| plugin_name(&server.config().name)).collect();
        if !wanted.is_empty() {
            let shared = servers.shared();
            wanted.insert(shared.name.clone());
            if !handed.shared {
                handed.shared = self.replace(to, shared, handed).await;
            }
        }
        for server in servers.servers() {
            let (name, offer) = (plugin_name(&server.config().name), server.offer());
            if handed.offers.get(&name).is_none_or(|known| !Arc::ptr_eq(known, &offer))
                && self.replace(to, servers.plugin(server), handed).await
            {
                handed.offers.insert(name, offer);
            }
        }
        let gone: Vec<String> = handed.names.difference(&wanted).cloned().collect();
        for name in gone {
            if let Err(error) = to.remove_plugin(self.agent, &name).await {
                tracing::debug!(plugin = name, error = %error.report(), "a plugin of an MCP server was gone already");
            }
            handed.names.remove(&name);
            handed.offers.remove(&name);
        }
    }

    async fn replace(&self, to: &Orchestrator, plugin: Plugin, handed: &mut Handed) -> bool {
        let name = plugin.name.clone();
        match to.replace_plugin(self.agent, plugin).await {
            Ok(()) => {
                handed.names.insert(name);
                true
            }
            // The agent is being made, or removed.
            Err(error) if error.kind() == ErrorKind::NotFound => false,
            Err(error) => {
                tracing::warn!(agent = self.persona.character.name, plugin = name, error = %error.report(), "the tools of an MCP server could not be offered; trying again");
                false
            }
        }
    }
}

/// Waits until a server offers something else, or for a while.
async fn wait(servers: &AgentServers) {
    let mut changes: Vec<_> = servers.servers().iter().map(|server| server.changes()).collect();
    let changed = changes.iter_mut().map(|change| Box::pin(change.changed()));
    let changed: Vec<_> = changed.collect();
    if changed.is_empty() {
        tokio::time::sleep(LOOK).await;
    } else {
        let _ = tokio::time::timeout(LOOK, futures::future::select_all(changed)).await;
    }
}

/// What the agent was given.
#[derive(Default)]
struct Handed {
    names: BTreeSet<String>,
    offers: BTreeMap<String, Arc<Offer>>,
    shared: bool,
}

/// Logs faults of entries, each once.
fn tell(persona: &Persona, faults: &[Fault], told: &mut Vec<Fault>) {
    for fault in faults.iter().filter(|fault| !told.contains(fault)) {
        tracing::warn!(
            agent = persona.character.name,
            code = "GAL-MCP-CONFIG",
            place = fault.place,
            fault = fault.what,
            fix = fault.fix,
            "an entry of an MCP server is faulty"
        );
    }
    *told = faults.to_vec();
}

/// Path of the file of servers, as the settings of an agent name it.
///
/// # Errors
/// `Invalid` with the place of a setting that cannot be read.
pub fn file(persona: &Persona) -> PathBuf {
    let named = persona.settings.find(&FILE).map(Setting::text);
    persona.working_dir.join(named.as_deref().or(FILE.default).unwrap_or_default())
}

/// The servers of an agent: those of its character (`settings.mcp`), then those of the file.
///
/// # Errors
/// `Invalid` with the path of a file that cannot be read.
pub fn configured(persona: &Persona) -> Result<Read> {
    let lookup = |name: &str| {
        let setting = persona.settings.raw(name).map(|setting| setting.text());
        setting.or_else(|| std::env::var(name).ok())
    };
    let mut all = Read::default();
    if let Some(value) = persona.character.settings.get("mcp") {
        let name = persona
            .file
            .as_ref()
            .map_or_else(|| "the character".to_owned(), |file| file.display().to_string());
        let origin = format!("{name}: settings.mcp.");
        let read = config::read(value, &origin, &persona.folder(), &lookup);
        all.servers.extend(read.servers);
        all.faults.extend(read.faults);
    }
    let path = file(persona);
    let Some(text) = text(&path)? else { return Ok(all) };
    let shown = path.strip_prefix(&persona.working_dir).unwrap_or(&path).display().to_string();
    let folder = path.parent().unwrap_or(&persona.working_dir);
    let read = config::read_file(&text, &shown, folder, &lookup);
    all.faults.extend(read.faults);
    for server in read.servers {
        if all.servers.iter().any(|known| known.name.eq_ignore_ascii_case(&server.name)) {
            all.faults.push(Fault {
                place: server.origin,
                what: "the character has a server of this name, which is used instead".to_owned(),
                fix: "rename one of them".to_owned(),
                mild: true,
            });
        } else {
            all.servers.push(server);
        }
    }
    Ok(all)
}

/// Text of the file; none if there is no file.
fn text(path: &std::path::Path) -> Result<Option<String>> {
    let read = || {
        if path.metadata()?.len() > LONGEST {
            return Err(std::io::Error::other("the file is too long"));
        }
        std::fs::read_to_string(path)
    };
    match read() {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            Err(Error::new(ErrorKind::Invalid, "the file with MCP servers cannot be read")
                .with_code("GAL-MCP-FILE")
                .with("file", path.display())
                .with_fix("check its permissions")
                .with_source(error))
        }
    }
}
