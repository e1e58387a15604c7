//! Something stateful that runs beside the turns.

use async_trait::async_trait;
use std::{any::Any, collections::BTreeMap, sync::Arc};
use tokio_util::sync::CancellationToken;

use crate::error::Result;

/// Something stateful that runs beside the turns; supervised.
#[async_trait]
pub trait Service: Send + Sync + Any {
    /// Service type name, by which `get_service` finds it.
    fn name(&self) -> &'static str;
    /// Runs until `stop` or a failure. Called at the agent's start, and again with backoff after a
    /// failure.
    async fn run(self: Arc<Self>, stop: CancellationToken) -> Result<()>;
}

/// The running services of an agent, global ones included.
#[derive(Clone, Default)]
pub struct Services(Arc<BTreeMap<&'static str, Vec<Arc<dyn Service>>>>);

impl Services {
    /// From a list; several of one name are kept in order.
    pub fn new(list: impl IntoIterator<Item = Arc<dyn Service>>) -> Self {
        let mut map: BTreeMap<&'static str, Vec<Arc<dyn Service>>> = BTreeMap::new();
        for service in list {
            map.entry(service.name()).or_default().push(service);
        }
        Self(Arc::new(map))
    }

    /// elizaOS `getService`: the first of this name, as its own type.
    pub fn get_service<T: Service>(&self, name: &str) -> Option<Arc<T>> {
        let service: Arc<dyn Any + Send + Sync> = self.0.get(name)?.first()?.clone();
        service.downcast().ok()
    }

    /// elizaOS `getRegisteredServiceTypes`.
    pub fn names(&self) -> Vec<&'static str> {
        self.0.keys().copied().collect()
    }

    /// Every service.
    pub fn all(&self) -> impl Iterator<Item = &Arc<dyn Service>> {
        self.0.values().flatten()
    }
}
