//! A bundle of extensions, as a value.

pub mod action;
pub(crate) mod action_docs;
pub(crate) mod agent_view;
pub mod context;
pub mod evaluator;
pub mod event_handle;
pub mod event_handler;
pub mod hooks;
pub mod middleware;
pub(crate) mod outbound;
pub mod provider;
pub mod route;
pub mod service;
pub mod setting;
pub mod speakers;
pub mod standing;
pub mod state;
pub mod task_worker;
pub mod turn;
pub(crate) mod unstored_usage;
pub mod version;

use std::sync::Arc;

use crate::{
    action::{Action, AnyAction, erase},
    evaluator::Evaluator,
    files::file_reader::FileReader,
    middleware::Middleware,
    model::{PluginModel, RegisteredModel},
    plugin::{
        event_handler::EventHandler, hooks::PluginHooks, route::Route, setting::PluginSetting,
        task_worker::TaskWorker,
    },
    provider::Provider,
    service::Service,
    settings::variable::Variable,
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
    /// Versions of Galatea that it fits, such as `>=0.1, <0.3`; all if empty. A plugin that does not
    /// fit is refused when it is loaded.
    pub galatea: String,
    /// True if it is off until an agent's character lists it, or its owner enables it.
    pub optional: bool,
    /// Settings that it reads. It sees no others, and no secret besides.
    pub settings: Vec<PluginSetting>,
    /// Code at its beginning and its end.
    pub hooks: Option<Arc<dyn PluginHooks>>,
    /// Code that follows events of the agent.
    pub events: Vec<Arc<dyn EventHandler>>,
    /// Paths of the web server that it answers.
    pub routes: Vec<Route>,
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
    /// Says which versions of Galatea it fits, such as `>=0.1, <0.3`.
    #[must_use]
    pub fn fits(mut self, range: &str) -> Self {
        range.clone_into(&mut self.galatea);
        self
    }
    /// Leaves it off until a character lists it under `plugins`, or an owner enables it.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }
    /// Loads it after another plugin, which has to be there.
    #[must_use]
    pub fn needs(mut self, plugin: &str) -> Self {
        self.dependencies.push(plugin.to_owned());
        self
    }
    /// Declares a setting that it reads.
    #[must_use]
    pub fn setting(mut self, setting: PluginSetting) -> Self {
        self.settings.push(setting);
        self
    }
    /// Declares settings that its crate reads as constants.
    #[must_use]
    pub fn declares(mut self, variables: &[Variable]) -> Self {
        self.settings.extend(variables.iter().map(PluginSetting::from));
        self
    }
    /// Adds code at its beginning and its end.
    #[must_use]
    pub fn hooks(mut self, hooks: impl PluginHooks + 'static) -> Self {
        self.hooks = Some(Arc::new(hooks));
        self
    }
    /// Adds code that follows events of the agent.
    #[must_use]
    pub fn on_events(mut self, handler: impl EventHandler + 'static) -> Self {
        self.events.push(Arc::new(handler));
        self
    }
    /// Adds a path of the web server.
    #[must_use]
    pub fn route(mut self, route: Route) -> Self {
        self.routes.push(route);
        self
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
    /// Adds an action whose name is known only when the program runs, such as a tool of a server.
    #[must_use]
    pub fn any_action(mut self, action: Arc<dyn AnyAction>) -> Self {
        self.actions.push(action);
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

/// A plugin's name as characters write it, without scope and prefix: `@elizaos/plugin-x`,
/// `@elizaos-plugins/client-x` and `plugin-x` become `x`.
pub fn plain_name(name: &str) -> &str {
    let name = name
        .strip_prefix('@')
        .and_then(|scoped| scoped.split_once('/'))
        .map_or(name, |(_, name)| name);
    ["plugin-", "client-", "adapter-"]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .unwrap_or(name)
}
