//! Lookup tables of all extensions of an agent. A registry never changes: a change of the plugins
//! makes another one.

use galatea_core::{
    ActionDocs, AnyAction, Evaluator, EvaluatorUse, FileReader, Middleware, Plugin, Provider,
    ProviderUse, TaskWorker, rights::ToolIdentity,
};
use std::sync::Arc;

use super::unit::{Extension, Unit};

/// All extensions of one agent.
#[derive(Default)]
pub(crate) struct Registry {
    /// Actions with their docs, in order of loading; the first of a name wins.
    pub(crate) actions: Vec<(Arc<ActionDocs>, Extension<dyn AnyAction>)>,
    /// Providers in prompt order.
    pub(crate) providers: Vec<Extension<dyn Provider>>,
    /// Evaluators with when they run, in order of loading.
    pub(crate) evaluators: Vec<(EvaluatorUse, Extension<dyn Evaluator>)>,
    /// Middleware in order of loading.
    pub(crate) middleware: Vec<Extension<dyn Middleware>>,
    /// Code that runs tasks; the first of a name runs them.
    pub(crate) tasks: Vec<Extension<dyn TaskWorker>>,
    /// Reads documents that people send.
    pub(crate) file_reader: Option<Arc<dyn FileReader>>,
}

/// An extension by its plugin and its name. It stays right when the plugins change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExtensionName {
    pub(crate) plugin: String,
    pub(crate) name: String,
}

impl Registry {
    /// Makes the tables of plugins, which are in order of loading.
    pub(crate) fn of<'a>(plugins: impl IntoIterator<Item = (&'a Plugin, Arc<Unit>)>) -> Self {
        let mut registry = Self::default();
        for (plugin, unit) in plugins {
            registry.add(plugin, &unit);
        }
        registry.providers.sort_by_key(|p| p.position());
        registry
    }

    fn add(&mut self, plugin: &Plugin, unit: &Arc<Unit>) {
        for action in &plugin.actions {
            let docs = Arc::new(action.docs());
            if self.actions.iter().any(|(known, _)| known.name == docs.name) {
                tracing::warn!(
                    action = docs.name,
                    plugin = plugin.name,
                    "an action of this name is loaded already; this one is left out"
                );
                continue;
            }
            self.actions.push((docs, Extension::new(Arc::clone(action), unit)));
        }
        let (providers, evaluators) = (plugin.providers.iter(), plugin.evaluators.iter());
        self.providers.extend(providers.map(|p| Extension::new(Arc::clone(p), unit)));
        self.evaluators.extend(evaluators.map(|e| (e.when(), Extension::new(Arc::clone(e), unit))));
        self.middleware
            .extend(plugin.middleware.iter().map(|m| Extension::new(Arc::clone(m), unit)));
        self.tasks.extend(plugin.tasks.iter().map(|t| Extension::new(Arc::clone(t), unit)));
        if self.file_reader.is_none() {
            self.file_reader.clone_from(&plugin.file_reader);
        }
    }

    /// Every tool that grants can name, with the name that the model calls.
    pub(crate) fn tools(&self) -> impl Iterator<Item = (ToolIdentity, &Arc<ActionDocs>)> {
        self.actions.iter().map(|(docs, action)| (action.identity(&docs.name), docs))
    }

    /// The code that runs tasks of a name.
    pub(crate) fn task_worker(&self, name: &str) -> Option<&Extension<dyn TaskWorker>> {
        self.tasks.iter().find(|worker| worker.name() == name)
    }

    /// Providers that take part in every turn.
    pub(crate) fn standing(&self) -> impl Iterator<Item = &Extension<dyn Provider>> {
        self.providers.iter().filter(|p| p.when() == ProviderUse::Always)
    }

    /// An action by its exact name.
    pub(crate) fn action(&self, name: &str) -> Option<&Extension<dyn AnyAction>> {
        self.actions.iter().find(|(docs, _)| docs.name == name).map(|(_, action)| action)
    }

    /// An action of this plugin by its exact name; none if the plugin is gone, or if the name belongs
    /// to another plugin by now.
    pub(crate) fn action_of(&self, plugin: &str, name: &str) -> Option<&Extension<dyn AnyAction>> {
        self.action(name).filter(|action| action.plugin() == plugin)
    }

    /// The place of an evaluator among those of now; none if it is gone.
    pub(crate) fn evaluator(&self, wanted: &ExtensionName) -> Option<usize> {
        let same = |evaluator: &Extension<dyn Evaluator>| {
            evaluator.plugin() == wanted.plugin && evaluator.name() == wanted.name
        };
        self.evaluators.iter().position(|(_, evaluator)| same(evaluator))
    }
}
