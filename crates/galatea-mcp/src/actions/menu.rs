//! The tools of an agent's servers together: whether a prompt has room for them, and how one is found.

use galatea_core::{
    Turn,
    model::{Tier, tokens::Family},
};
use parking_lot::Mutex;
use serde_json::Value;
use std::sync::Arc;

use crate::{
    client::server::{Offer, Server},
    tools::{Tool, cost, search::Index},
};

/// Share of a model's window that the descriptions of tools may take, in hundredths. The specification
/// advises to search from 1 to 5 % on ("Client best practices", tool search).
const SHARE: u64 = 2;
/// Window of a model of which none is known, in tokens: that of small local models.
const UNKNOWN: u64 = 8_192;

/// A tool and its server.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) server: Arc<Server>,
    pub(crate) tool: Arc<Tool>,
}

/// The servers of an agent.
pub(crate) struct Menu {
    servers: Vec<Arc<Server>>,
    known: Mutex<Option<Arc<Known>>>,
}

/// All tools at one moment.
pub(crate) struct Known {
    offers: Vec<Arc<Offer>>,
    /// In the order of servers and of their lists, which is the same in every prompt.
    pub(crate) entries: Vec<Entry>,
    index: Index,
}

impl Menu {
    /// Of these servers.
    pub(crate) fn new(servers: Vec<Arc<Server>>) -> Arc<Self> {
        Arc::new(Self { servers, known: Mutex::default() })
    }

    /// The servers.
    pub(crate) fn servers(&self) -> &[Arc<Server>] {
        &self.servers
    }

    /// The approved tools of all servers.
    pub(crate) fn known(&self) -> Arc<Known> {
        let offers: Vec<Arc<Offer>> = self.servers.iter().map(|server| server.offer()).collect();
        let mut kept = self.known.lock();
        if let Some(known) = &*kept
            && known.offers.len() == offers.len()
            && known.offers.iter().zip(&offers).all(|(a, b)| Arc::ptr_eq(a, b))
        {
            return Arc::clone(known);
        }
        let mut entries = Vec::new();
        for (server, offer) in self.servers.iter().zip(&offers) {
            entries.extend(
                offer
                    .approved()
                    .map(|tool| Entry { server: Arc::clone(server), tool: Arc::clone(tool) }),
            );
        }
        let index = Index::new(entries.iter().map(|entry| {
            let tool = &entry.tool;
            (tool.action.as_str(), tool.description.as_str(), arguments(&tool.parameters))
        }));
        let known = Arc::new(Known { offers, entries, index });
        *kept = Some(Arc::clone(&known));
        known
    }

    /// Whether the tools themselves are offered in a turn. Otherwise the model searches them. A model
    /// without tool calls reads tools in its instructions, where no server's words belong.
    pub(crate) fn fits(&self, turn: &Turn<'_>) -> bool {
        let model = turn.models.text(Tier::TextLarge).info();
        let known = self.known();
        let window = model.limits.window.map_or(UNKNOWN, u64::from);
        model.tools && known.cost(Family::of(&model.model)) <= budget(window)
    }
}

/// Tokens that the descriptions of all tools may take in a window.
pub fn budget(window: u64) -> u64 {
    window * SHARE / 100
}

impl Known {
    /// Tokens that all tools take.
    pub(crate) fn cost(&self, family: Family) -> u64 {
        self.entries.iter().map(|entry| cost(family, &entry.tool)).sum()
    }

    /// The best tools for a question.
    pub(crate) fn find(&self, question: &str, most: usize) -> Vec<&Entry> {
        self.index.find(question, most).into_iter().filter_map(|at| self.entries.get(at)).collect()
    }

    /// A tool by its name for models.
    pub(crate) fn named(&self, action: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.tool.action == action)
    }
}

fn arguments(parameters: &Value) -> Vec<&str> {
    let named = parameters.get("properties").and_then(Value::as_object);
    named.into_iter().flatten().map(|(name, _)| name.as_str()).collect()
}
