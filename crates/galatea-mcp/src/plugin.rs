//! The plugins of an agent's servers, as they are now.

use galatea_core::{Plugin, model::tokens::Family};
use std::{collections::BTreeSet, sync::Arc};

use crate::{
    actions::{
        action::ToolAction,
        ask::{AnswerTool, Asks, ToolQuestion},
        extra::{CallTool, FOUND, FindTools, Kind, ReadAction, Resources, resources_name},
        menu::Menu,
    },
    client::server::Server,
};

/// The servers of an agent, as plugins.
pub struct AgentServers {
    menu: Arc<Menu>,
    asks: Arc<Asks>,
}

/// Begins the name of the plugin of a server.
const PREFIX: &str = "mcp-";
/// Order of loading: after everything compiled, so that a built-in action wins its name.
const PRIORITY: i32 = 1_000;

impl AgentServers {
    /// Of these servers.
    pub fn new(servers: Vec<Arc<Server>>) -> Self {
        Self { menu: Menu::new(servers), asks: Arc::default() }
    }

    /// The servers.
    pub fn servers(&self) -> &[Arc<Server>] {
        self.menu.servers()
    }

    /// Tokens that the descriptions of all approved tools take in a prompt, about.
    pub fn cost(&self) -> u64 {
        self.menu.known().cost(Family::Other)
    }

    /// Names of the tools that a model is shown for a question, best first.
    pub fn find(&self, question: &str) -> Vec<String> {
        let known = self.menu.known();
        known.find(question, FOUND).iter().map(|entry| entry.tool.action.clone()).collect()
    }

    /// The plugin with what all servers share: searching, calling, and answering their questions.
    pub fn shared(&self) -> Plugin {
        Plugin {
            priority: PRIORITY,
            ..Plugin::new("mcp", env!("CARGO_PKG_VERSION"), "Tools of MCP servers")
        }
        .provider(ToolQuestion(Arc::clone(&self.asks)))
        .with_actions(vec![
            Arc::new(FindTools(Arc::clone(&self.menu))),
            Arc::new(CallTool { menu: Arc::clone(&self.menu), asks: Arc::clone(&self.asks) }),
            Arc::new(AnswerTool(Arc::clone(&self.asks))),
        ])
    }

    /// The plugin of a server with the tools that it offers now. Another one is made when
    /// [`Server::changes`] sees a change.
    pub fn plugin(&self, server: &Arc<Server>) -> Plugin {
        let name = &server.config().name;
        let offer = server.offer();
        let mut taken: BTreeSet<String> = BTreeSet::new();
        let mut actions: Vec<Arc<dyn galatea_core::AnyAction>> = Vec::new();
        for tool in offer.approved() {
            taken.insert(tool.action.clone());
            actions.push(Arc::new(ToolAction {
                server: Arc::clone(server),
                tool: Arc::clone(tool),
                menu: Arc::clone(&self.menu),
                asks: Arc::clone(&self.asks),
            }));
        }
        let mut plugin = Plugin {
            priority: PRIORITY,
            ..Plugin::new(&plugin_name(name), env!("CARGO_PKG_VERSION"), "An MCP server")
        };
        let mut free = |wanted: String| {
            let mut name = wanted;
            while !taken.insert(name.clone()) {
                name.push('_');
            }
            name
        };
        if !offer.resources.is_empty() {
            let action = free(format!("{name}_resource"));
            actions.push(Arc::new(ReadAction {
                server: Arc::clone(server),
                kind: Kind::Resource,
                name: action,
            }));
            plugin = plugin.provider(Resources {
                server: Arc::clone(server),
                name: resources_name(name),
                about: format!("Documents of the server {name}, by address"),
            });
        }
        if !offer.prompts.is_empty() {
            let action = free(format!("{name}_prompt"));
            actions.push(Arc::new(ReadAction {
                server: Arc::clone(server),
                kind: Kind::Prompt,
                name: action,
            }));
        }
        plugin.with_actions(actions)
    }

    /// Every plugin as it is now.
    pub fn plugins(&self) -> Vec<Plugin> {
        std::iter::once(self.shared())
            .chain(self.servers().iter().map(|server| self.plugin(server)))
            .collect()
    }
}

/// Name of the plugin of a server.
pub fn plugin_name(server: &str) -> String {
    format!("{PREFIX}{server}")
}

trait WithActions {
    fn with_actions(self, actions: Vec<Arc<dyn galatea_core::AnyAction>>) -> Self;
}

impl WithActions for Plugin {
    fn with_actions(mut self, actions: Vec<Arc<dyn galatea_core::AnyAction>>) -> Self {
        self.actions.extend(actions);
        self
    }
}
