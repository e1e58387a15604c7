//! Something stateful that runs beside the turns.

use async_trait::async_trait;
use std::{any::Any, collections::BTreeMap, sync::Arc};
use tokio_util::sync::CancellationToken;

use crate::{
    clock::Clock,
    error::Result,
    event::EventBus,
    model::EmbeddingModel,
    plugin::{agent_view::AgentView, unstored_usage::TurnUsage},
    store::PluginStore,
};

/// Something stateful that runs beside the turns; supervised. In one process at a time if several
/// share the agent.
#[async_trait]
pub trait Service: Send + Sync + Any {
    /// Service type name, by which `get_service` finds it. The ledger shows what the service's
    /// model calls cost under this name in place of a platform. Called when the plugin is loaded,
    /// and for each start.
    fn name(&self) -> &str;
    /// Runs until `stop` or a failure. Called at the agent's start, and again with backoff after a
    /// failure.
    async fn run(self: Arc<Self>, context: ServiceContext, stop: CancellationToken) -> Result<()>;
}

/// Parts of its agent that a service may use.
#[derive(Clone)]
pub struct ServiceContext {
    /// The agent that the service runs for.
    pub agent: Arc<AgentView>,
    /// Memories, people and places, relationships and tasks.
    pub store: Arc<dyn PluginStore>,
    /// The agent's embedding model. Its calls count towards what the agent may cost a day
    /// (`BUDGET_AGENT`), and towards no person. A call beyond that fails with
    /// [`crate::model::LIMIT_CODE`] and its advice says when the next day begins.
    pub embedding: Option<Arc<dyn EmbeddingModel>>,
    /// Use of these calls, as rows under the agent's own entity. The service stores them with what
    /// the calls returned.
    pub usage: Arc<dyn TurnUsage>,
    /// The runtime's clock, which tests set by hand.
    pub clock: Arc<dyn Clock>,
    /// Events of the agent in this process.
    pub events: EventBus,
}

/// The running services of an agent, global ones included.
#[derive(Clone, Default)]
pub struct Services(Arc<BTreeMap<String, Vec<Arc<dyn Service>>>>);

impl Services {
    /// From a list; several of one name are kept in order.
    pub fn new(list: impl IntoIterator<Item = Arc<dyn Service>>) -> Self {
        let mut map: BTreeMap<String, Vec<Arc<dyn Service>>> = BTreeMap::new();
        for service in list {
            map.entry(service.name().to_owned()).or_default().push(service);
        }
        Self(Arc::new(map))
    }

    /// elizaOS `getService`: the first of this name, as its own type.
    pub fn get_service<T: Service>(&self, name: &str) -> Option<Arc<T>> {
        let service: Arc<dyn Any + Send + Sync> = self.0.get(name)?.first()?.clone();
        service.downcast().ok()
    }

    /// Names of all services (elizaOS `getRegisteredServiceTypes`).
    pub fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    /// Every service of the agent.
    pub fn all(&self) -> impl Iterator<Item = &Arc<dyn Service>> {
        self.0.values().flatten()
    }
}
