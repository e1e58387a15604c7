//! A bundle of extensions, as a value.

use std::sync::Arc;

use crate::{
    action::{Action, AnyAction, erase},
    evaluator::Evaluator,
    middleware::Middleware,
    model::{PluginModel, RegisteredModel},
    provider::Provider,
    service::Service,
};

/// A bundle of extensions. Order of loading: dependencies first, then lower priority first
/// (elizaOS: databases -100, models -50, core 0, features 50, platforms 100).
#[derive(Clone, Default)]
pub struct Plugin {
    /// Name, also the one elizaOS character files list.
    pub name: String,
    /// Semantic version.
    pub version: String,
    /// One sentence.
    pub description: String,
    /// Loading order.
    pub priority: i32,
    /// Names of plugins that must be loaded before.
    pub dependencies: Vec<String>,
    /// Actions.
    pub actions: Vec<Arc<dyn AnyAction>>,
    /// Providers.
    pub providers: Vec<Arc<dyn Provider>>,
    /// Evaluators.
    pub evaluators: Vec<Arc<dyn Evaluator>>,
    /// Services.
    pub services: Vec<Arc<dyn Service>>,
    /// Middleware.
    pub middleware: Vec<Arc<dyn Middleware>>,
    /// Models.
    pub models: Vec<RegisteredModel>,
}

impl Plugin {
    /// An empty plugin.
    pub fn new(name: &str, version: &str, description: &str) -> Self {
        Self {
            name: name.to_owned(),
            version: version.to_owned(),
            description: description.to_owned(),
            ..Self::default()
        }
    }
    /// Adds an action.
    #[must_use]
    pub fn action(mut self, action: impl Action) -> Self {
        self.actions.push(erase(action));
        self
    }
    /// Adds a provider.
    #[must_use]
    pub fn provider(mut self, provider: impl Provider + 'static) -> Self {
        self.providers.push(Arc::new(provider));
        self
    }
    /// Adds an evaluator.
    #[must_use]
    pub fn evaluator(mut self, evaluator: impl Evaluator + 'static) -> Self {
        self.evaluators.push(Arc::new(evaluator));
        self
    }
    /// Adds a service.
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
    /// Adds middleware.
    #[must_use]
    pub fn middleware(mut self, middleware: impl Middleware + 'static) -> Self {
        self.middleware.push(Arc::new(middleware));
        self
    }
}
