//! A plugin in use: its name, the parts of the agent that its code may use, and whether anything
//! still uses it.

use galatea_core::{
    AgentView, AnyAction, PluginContext, Turn, rights::ToolIdentity, store::PluginCache,
};
use std::{ops::Deref, sync::Arc};
use tokio_util::sync::CancellationToken;

/// A plugin in use by one agent.
pub(crate) struct Unit {
    /// The parts of the agent that code of the plugin may use.
    pub(crate) context: PluginContext,
    /// Ends with the last turn that can call the plugin.
    _in_use: Arc<InUse>,
}

impl Unit {
    pub(crate) fn new(context: PluginContext, in_use: Arc<InUse>) -> Self {
        Self { context, _in_use: in_use }
    }

    /// Name of the plugin.
    pub(crate) fn name(&self) -> &str {
        &self.context.plugin
    }
}

/// Held by everything that may call a plugin: the set of plugins, the registry, and turns that began
/// with a registry of then. Signals when the last of them is gone.
pub(crate) struct InUse(CancellationToken);

impl InUse {
    /// The guard, and the signal of its end.
    pub(crate) fn new() -> (Arc<Self>, CancellationToken) {
        let unused = CancellationToken::new();
        (Arc::new(Self(unused.clone())), unused)
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// An extension, with its plugin.
pub(crate) struct Extension<T: ?Sized> {
    code: Arc<T>,
    unit: Arc<Unit>,
}

impl<T: ?Sized> Extension<T> {
    pub(super) fn new(code: Arc<T>, unit: &Arc<Unit>) -> Self {
        Self { code, unit: Arc::clone(unit) }
    }

    /// Name of the plugin.
    pub(crate) fn plugin(&self) -> &str {
        self.unit.name()
    }

    /// The small values of this plugin.
    pub(crate) fn cache(&self) -> &PluginCache {
        &self.unit.context.cache
    }

    /// The agent as the code of this plugin sees it.
    pub(crate) fn agent(&self) -> &AgentView {
        &self.unit.context.agent
    }

    /// A turn as the code of this plugin sees it.
    pub(crate) fn turn<'a>(&'a self, turn: &Turn<'a>) -> Turn<'a> {
        let context = &self.unit.context;
        Turn { agent: &context.agent, cache: &context.cache, events: &context.events, ..*turn }
    }
}

impl Extension<dyn AnyAction> {
    /// The tool that a call of the action uses, as grants name it.
    pub(crate) fn identity_of(&self, name: &str, params: &serde_json::Value) -> ToolIdentity {
        self.code.tool_of(params).unwrap_or_else(|| self.identity(name))
    }

    /// The action as grants name it; `name` is that of its docs.
    pub(crate) fn identity(&self, name: &str) -> ToolIdentity {
        self.code.tool().unwrap_or_else(|| ToolIdentity::new(self.plugin(), name))
    }
}

impl<T: ?Sized> Deref for Extension<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.code
    }
}
