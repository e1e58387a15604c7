//! A bundle of extensions, as a value.

pub mod action;
pub(crate) mod action_docs;
pub(crate) mod agent_view;
pub mod evaluator;
pub mod middleware;
pub mod provider;
pub mod service;
pub mod speakers;
pub mod standing;
pub mod state;
pub mod task_worker;
pub mod turn;
pub(crate) mod unstored_usage;

use std::sync::Arc;

use crate::{
    action::{Action, AnyAction, erase},
    evaluator::Evaluator,
    files::file_reader::FileReader,
    middleware::Middleware,
    model::{PluginModel, RegisteredModel},
    plugin::task_worker::TaskWorker,
    provider::Provider,
    service::Service,
};

/// A bundle of extensions. Order of loading: dependencies first, then lower priority first
/// (elizaOS: databases -100, models -50, core 0, features 50, platforms 100).
///
/// ```
/// use async_trait::async_trait;
/// use galatea_core::{Fragment, Plugin, Provider, ProviderUse, Result, Turn};
///
/// /// Adds the number of recent messages to every prompt.
/// struct Counter;
///
/// #[async_trait]
/// impl Provider for Counter {
///     fn name(&self) -> &'static str { "COUNTER" }
///     fn description(&self) -> &'static str { "How many messages the conversation has" }
///     fn position(&self) -> i32 { 50 }
///     fn when(&self) -> ProviderUse { ProviderUse::Always }
///     async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
///         Ok(Fragment::text(format!("{} messages were said before.", turn.recent.len())))
///     }
/// }
///
/// let plugin = Plugin::new("counter", "1.0.0", "Counts messages").provider(Counter);
/// assert_eq!(plugin.providers[0].name(), "COUNTER");
/// ```
#[derive(Clone, Default)]
pub struct Plugin {
    /// Name, also the one elizaOS character files list.
    pub name: String,
    /// Version of the plugin, for people (semantic versioning).
    pub version: String,
    /// Purpose of the plugin, in one sentence.
    pub description: String,
    /// Loading order within what the dependencies allow; lower ones first.
    pub priority: i32,
    /// Names of plugins that must be loaded before this one.
    pub dependencies: Vec<String>,
    /// Actions that the model can choose, as [`Self::action`] adds it.
    pub actions: Vec<Arc<dyn AnyAction>>,
    /// Parts of the prompt's context.
    pub providers: Vec<Arc<dyn Provider>>,
    /// Evaluators that learn from finished turns.
    pub evaluators: Vec<Arc<dyn Evaluator>>,
    /// Services that run beside the turns; one process at a time runs them for an agent.
    pub services: Vec<Arc<dyn Service>>,
    /// Code around every turn, in the order in which it was added.
    pub middleware: Vec<Arc<dyn Middleware>>,
    /// Models that stand beside the configured ones, each for one type.
    pub models: Vec<RegisteredModel>,
    /// Code that runs tasks at their time; the first one of a name runs them.
    pub tasks: Vec<Arc<dyn TaskWorker>>,
    /// Reads documents that people send; the first plugin that has one is asked.
    pub file_reader: Option<Arc<dyn FileReader>>,
}

impl Plugin {
    /// A plugin without extensions; the methods below add them. `description` is one sentence.
    pub fn new(name: &str, version: &str, description: &str) -> Self {
        Self {
            name: name.to_owned(),
            version: version.to_owned(),
            description: description.to_owned(),
            ..Self::default()
        }
    }
    /// Adds an action; its type is erased, so that actions of different parameters share a list.
    #[must_use]
    pub fn action(mut self, action: impl Action) -> Self {
        self.actions.push(erase(action));
        self
    }
    /// Adds a provider, which is asked in every turn, or when the model asks for it.
    #[must_use]
    pub fn provider(mut self, provider: impl Provider + 'static) -> Self {
        self.providers.push(Arc::new(provider));
        self
    }
    /// Adds an evaluator, which sees turns after their commit.
    #[must_use]
    pub fn evaluator(mut self, evaluator: impl Evaluator + 'static) -> Self {
        self.evaluators.push(Arc::new(evaluator));
        self
    }
    /// Adds a service. Actions and providers of the same plugin may hold the same `Arc`.
    #[must_use]
    pub fn service(mut self, service: Arc<dyn Service>) -> Self {
        self.services.push(service);
        self
    }
    /// Adds a model for one type, asked by its priority ([`RegisteredModel`]).
    #[must_use]
    pub fn model(mut self, priority: i32, model: PluginModel) -> Self {
        self.models.push(RegisteredModel { priority, model });
        self
    }
    /// Adds code that runs tasks of its name.
    #[must_use]
    pub fn task_worker(mut self, worker: impl TaskWorker) -> Self {
        self.tasks.push(Arc::new(worker));
        self
    }
    /// Reads documents that people send.
    #[must_use]
    pub fn file_reader(mut self, reader: impl FileReader + 'static) -> Self {
        self.file_reader = Some(Arc::new(reader));
        self
    }
    /// Adds middleware around every turn.
    #[must_use]
    pub fn middleware(mut self, middleware: impl Middleware + 'static) -> Self {
        self.middleware.push(Arc::new(middleware));
        self
    }
}
