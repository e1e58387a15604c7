//! Plugins, services, tools and grants.

use galatea_core::rights::{Grant, least_as_str};
use galatea_host::ops::{
    ListedPlugin, ListedServer, ListedServerTool, ListedService, ListedTool, Pinned, PluginState,
    Transport, grant_id,
};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{list, word};

/// A setting of a plugin.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PluginSettingView {
    name: String,
    /// JSON Schema of its value.
    #[schema(value_type = Object)]
    schema: Value,
    /// The value of now; absent for a secret and where it is unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    is_set: bool,
    /// Where the value comes from.
    origin: String,
    secret: bool,
}

/// A plugin of an agent.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PluginView {
    agent: Uuid,
    name: String,
    version: String,
    description: String,
    on: bool,
    /// It is off unless a character lists it or an owner turns it on.
    optional: bool,
    /// Plugins that it needs.
    needs: Vec<String>,
    /// What it brings: names of actions, providers, evaluators, routes.
    #[schema(value_type = Object)]
    brings: Value,
    settings: Vec<PluginSettingView>,
}

impl From<ListedPlugin> for PluginView {
    fn from(listed: ListedPlugin) -> Self {
        let ListedPlugin { agent, plugin } = listed;
        let settings = plugin.settings.into_iter().map(|own| PluginSettingView {
            name: own.name,
            schema: own.schema,
            value: own.value,
            is_set: own.is_set,
            origin: own.origin,
            secret: own.secret,
        });
        Self {
            agent: agent.0,
            on: plugin.state == PluginState::On,
            optional: plugin.optional,
            needs: plugin.needs,
            brings: serde_json::to_value(&plugin.brings).unwrap_or_default(),
            settings: settings.collect(),
            name: plugin.name,
            version: plugin.version,
            description: plugin.description,
        }
    }
}

list!(/// Plugins.
    PluginList of PluginView);

/// A service of a plugin.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct ServiceView {
    agent: Uuid,
    name: String,
    /// How it is doing.
    #[schema(value_type = Object)]
    state: Value,
}

impl From<ListedService> for ServiceView {
    fn from(listed: ListedService) -> Self {
        let ListedService { agent, service } = listed;
        let state = serde_json::to_value(&service.state).unwrap_or_default();
        let state = match state {
            map @ Value::Object(_) => map,
            other => serde_json::json!({ "state": other }),
        };
        Self { agent: agent.0, name: service.name, state }
    }
}

list!(/// Services.
    ServiceList of ServiceView);

/// A tool of an agent.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolView {
    agent: Uuid,
    /// Its name in grants: `owner/name`.
    tool: String,
    /// The plugin or MCP server that brings it.
    owner: String,
    /// The name that the model calls.
    action: String,
    /// Who may use it without a grant: the scope that its author declared.
    scope: String,
}

impl From<ListedTool> for ToolView {
    fn from(listed: ListedTool) -> Self {
        let tool = listed.tool;
        Self {
            agent: listed.agent.0,
            owner: tool.tool.owner.clone(),
            tool: tool.tool.to_string(),
            scope: word(&tool.scope),
            action: tool.action,
        }
    }
}

list!(/// Tools.
    ToolList of ToolView);

/// A grant of tools.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct GrantView {
    id: Uuid,
    agent: Uuid,
    /// `rule`, `limit` or `consent`.
    kind: String,
    /// `owner/name`, or `owner/*`.
    tools: String,
    /// The least standing that may use them: `member`, `admin`, `owner`, `agent-owner`, `nobody`.
    from: String,
    /// When they ask first: `never`, `others-words` or `always`.
    ask: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    world: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    room: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    person: Option<Uuid>,
    at: i64,
}

impl From<Grant> for GrantView {
    fn from(grant: Grant) -> Self {
        Self {
            id: grant_id(&grant),
            agent: grant.agent.0,
            kind: grant.kind.as_str().to_owned(),
            tools: grant.tools.to_string(),
            from: least_as_str(grant.from).to_owned(),
            ask: grant.ask.as_str().to_owned(),
            world: grant.world.map(|id| id.0),
            room: grant.room.map(|id| id.0),
            person: grant.person.map(|id| id.0),
            at: grant.at.0,
        }
    }
}

list!(/// Grants.
    GrantList of GrantView);

/// An MCP server.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServerView {
    name: String,
    /// `stdio` or `http`.
    transport: String,
    /// Its command or address, without secrets.
    command: String,
    /// Names of the agents that use it.
    agents: Vec<String>,
    /// Where it is configured.
    origin: String,
    /// `disabled`, `needs-approval`, `needs-sign-in`, `starting`, `ready`, `down` or `stopped`.
    state: String,
    /// Why it is in this state, and what to do.
    detail: String,
    /// Tools that are offered.
    offered: usize,
    /// Tools that wait for approval.
    waiting: usize,
}

impl From<ListedServer> for ServerView {
    fn from(listed: ListedServer) -> Self {
        let ListedServer { config, agents, view } = listed;
        let is_http = matches!(config.transport, Transport::Http { .. });
        Self {
            transport: if is_http { "http" } else { "stdio" }.to_owned(),
            command: config.shown(),
            agents,
            state: view.as_ref().map_or_else(|| "starting".to_owned(), |view| word(&view.phase)),
            detail: view.as_ref().map(|view| view.detail.clone()).unwrap_or_default(),
            offered: view.as_ref().map_or(0, |view| view.offered),
            waiting: view.as_ref().map_or(0, |view| view.waiting),
            name: config.name,
            origin: config.origin,
        }
    }
}

list!(/// MCP servers.
    ServerList of ServerView);

/// A tool of an MCP server, beside what was approved of it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct ServerToolView {
    name: String,
    description: String,
    /// `approved`, `new`, `changed`, `renamed` or `faulty`.
    state: String,
    /// The description before, the former name, or the fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl From<ListedServerTool> for ServerToolView {
    fn from(tool: ListedServerTool) -> Self {
        let (state, note) = match tool.state {
            Pinned::Approved => ("approved", None),
            Pinned::New => ("new", None),
            Pinned::Changed(before) => ("changed", Some(before)),
            Pinned::Renamed(before) => ("renamed", Some(before)),
            Pinned::Faulty(why) => ("faulty", Some(why)),
        };
        Self { name: tool.name, description: tool.description, state: state.to_owned(), note }
    }
}

list!(/// Tools of an MCP server.
    ServerToolList of ServerToolView);
