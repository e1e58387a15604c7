//! Lists what a server offers, within bounds.

use galatea_core::{Error, ErrorKind, Result};
use rmcp::{
    model::{PaginatedRequestParams, Prompt, Resource, Tool as Described},
    service::{Peer, RoleClient, ServiceError},
};
use std::{collections::BTreeSet, time::Duration};
use tokio::time::timeout;

use super::connect::shown;
use crate::{
    config::ServerConfig,
    tools::{Tool, clean, name},
};

/// Most tools, resources or prompts of a server that are read.
const MOST: usize = 500;
/// Most pages of a list.
const PAGES: usize = 50;
/// Longest time for all lists.
const TIME: Duration = Duration::from_secs(30);

/// What a server offers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Listing {
    /// Its tools, in its order.
    pub tools: Vec<Tool>,
    /// Its resources: address and description.
    pub resources: Vec<Item>,
    /// Its prompts: name and description.
    pub prompts: Vec<Item>,
    /// Whether it has more than is read.
    pub cut: bool,
}

/// A resource or a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Address of a resource, name of a prompt.
    pub key: String,
    /// Its name and purpose, cleaned.
    pub about: String,
    /// Names of a prompt's arguments.
    pub arguments: Vec<String>,
}

/// Reads the lists that the server says it has.
///
/// # Errors
/// `Unavailable` with the cause, `Timeout`.
pub(crate) async fn list(peer: &Peer<RoleClient>, config: &ServerConfig) -> Result<Listing> {
    let reading = async {
        let capabilities =
            peer.peer_info().map(|info| info.capabilities.clone()).unwrap_or_default();
        let mut listing = Listing::default();
        let mut described = Vec::new();
        if capabilities.tools.is_some() {
            let mut pages = Pages::default();
            while !pages.ended {
                let found = peer.list_tools(pages.asked()).await?;
                described.extend(found.tools);
                pages.read(found.next_cursor, described.len());
            }
            listing.cut |= pages.cut;
        }
        listing.tools = tools(&config.name, &described);
        if capabilities.resources.is_some() {
            let mut pages = Pages::default();
            while !pages.ended {
                let found = peer.list_resources(pages.asked()).await?;
                listing.resources.extend(found.resources.iter().map(of_resource));
                pages.read(found.next_cursor, listing.resources.len());
            }
            listing.cut |= pages.cut;
        }
        if capabilities.prompts.is_some() {
            let mut pages = Pages::default();
            while !pages.ended {
                let found = peer.list_prompts(pages.asked()).await?;
                listing.prompts.extend(found.prompts.iter().map(of_prompt));
                pages.read(found.next_cursor, listing.prompts.len());
            }
            listing.cut |= pages.cut;
        }
        listing.resources.truncate(MOST);
        listing.prompts.truncate(MOST);
        Ok(listing)
    };
    match timeout(TIME, reading).await {
        Ok(read) => read.map_err(|error: ServiceError| unlisted(config, &error.to_string())),
        Err(_) => Err(Error::new(ErrorKind::Timeout, "an MCP server did not list its tools")
            .with_code("GAL-MCP-SILENT")
            .with("server", &config.name)
            .with_fix("try it with `galatea mcp test`")),
    }
}

fn unlisted(config: &ServerConfig, cause: &str) -> Error {
    Error::new(ErrorKind::Unavailable, "an MCP server did not list its tools")
        .with_code("GAL-MCP-DOWN")
        .with("server", &config.name)
        .with("cause", shown(cause))
        .with_fix("try it with `galatea mcp test`")
}

/// Pages of a list, until the last one or a bound.
#[derive(Default)]
struct Pages {
    cursor: Option<String>,
    number: usize,
    ended: bool,
    cut: bool,
}

impl Pages {
    /// What to ask for next.
    fn asked(&mut self) -> Option<PaginatedRequestParams> {
        let cursor = self.cursor.take()?;
        Some(PaginatedRequestParams::default().with_cursor(Some(cursor)))
    }

    /// Takes notice of a page: the cursor of the next one, and how many entries are known.
    fn read(&mut self, next: Option<String>, known: usize) {
        self.number += 1;
        self.cursor = next.filter(|next| !next.is_empty());
        self.ended = self.cursor.is_none() || known >= MOST || self.number >= PAGES;
        self.cut = self.ended && (self.cursor.is_some() || known > MOST);
    }
}

/// Tools for models, each name once.
pub(crate) fn tools(server: &str, described: &[Described]) -> Vec<Tool> {
    let mut taken = BTreeSet::new();
    let mut seen = BTreeSet::new();
    described
        .iter()
        .take(MOST)
        .filter(|tool| seen.insert(tool.name.to_string()))
        .map(|tool| Tool::new(tool, name::action(server, &tool.name, &mut taken)))
        .collect()
}

fn of_resource(resource: &Resource) -> Item {
    let about = resource.description.as_deref().or(resource.title.as_deref()).unwrap_or_default();
    Item {
        key: resource.uri.clone(),
        about: clean::cut(&clean::description(&format!("{}: {about}", resource.name)), 200),
        arguments: Vec::new(),
    }
}

fn of_prompt(prompt: &Prompt) -> Item {
    let about = prompt.description.as_deref().or(prompt.title.as_deref()).unwrap_or_default();
    let arguments = prompt.arguments.iter().flatten().map(|argument| argument.name.clone());
    Item {
        key: prompt.name.clone(),
        about: clean::cut(&clean::description(about), 200),
        arguments: arguments.take(20).collect(),
    }
}
