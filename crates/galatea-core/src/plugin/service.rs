//! Something stateful that runs beside the turns.

use async_trait::async_trait;
use std::{any::Any, collections::BTreeMap, marker::PhantomData, sync::Arc, time::Duration};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub use crate::event::ServiceState;

use crate::{
    clock::Clock,
    error::{Error, ErrorKind, Result},
    model::{EmbeddingModel, Models},
    plugin::{
        agent_view::AgentView, event_handle::EventHandle, outbound::Outbound,
        setting::PluginSettings, unstored_usage::TurnUsage,
    },
    store::{PluginCache, PluginStore},
};

/// Something stateful that runs beside the turns; supervised. In one process at a time if several
/// share the agent.
///
/// Its life: it waits until all services that it [needs](Self::needs) are ready, [starts](Self::start),
/// is ready, [runs](Self::run) until it is told to stop, and [stops](Self::stop). Services stop in
/// the reverse of the order in which they start.
///
/// ```
/// use async_trait::async_trait;
/// use galatea_core::{Result, Service, ServiceContext, ServiceKey, Services};
/// use std::sync::Arc;
/// use tokio_util::sync::CancellationToken;
///
/// struct Counter(std::sync::atomic::AtomicU64);
///
/// /// Others find it by this key, as its own type.
/// const COUNTER: ServiceKey<Counter> = ServiceKey::new("counter");
///
/// #[async_trait]
/// impl Service for Counter {
///     fn name(&self) -> &str {
///         COUNTER.name()
///     }
///     async fn run(self: Arc<Self>, _: ServiceContext, stop: CancellationToken) -> Result<()> {
///         stop.cancelled().await;
///         Ok(())
///     }
/// }
///
/// let services = Services::new([Arc::new(Counter(0.into())) as Arc<dyn Service>]);
/// assert!(services.get(&COUNTER).is_some());
/// ```
#[async_trait]
pub trait Service: Send + Sync + Any {
    /// Service type name, by which others find it. Several services may have the same one. The
    /// ledger shows what the service's model calls cost under this name in place of a platform.
    /// Called when the plugin is loaded, and for each start.
    fn name(&self) -> &str;
    /// Type names of services that have to be ready before this one starts. A name that no service
    /// has, and a circle, keep the plugins from being loaded. Called when the plugin is loaded.
    fn needs(&self) -> Vec<String> {
        Vec::new()
    }
    /// Prepares it. When it returns, the service is ready and those that need it start. Called before
    /// each [`Self::run`], with a deadline of one minute.
    async fn start(&self, _context: &ServiceContext) -> Result<()> {
        Ok(())
    }
    /// Runs until `stop` or a failure. Called after [`Self::start`], and again with backoff after a
    /// failure.
    async fn run(self: Arc<Self>, context: ServiceContext, stop: CancellationToken) -> Result<()>;
    /// Whether it works, for status pages: the error says why not. Called every half a minute while
    /// it runs, with a deadline of five seconds.
    async fn health(&self) -> Result<()> {
        Ok(())
    }
    /// Frees what it holds. Called after [`Self::run`] ended because of a stop, with a deadline of
    /// five seconds.
    async fn stop(&self) -> Result<()> {
        Ok(())
    }
}

/// Parts of its agent that a service may use.
#[derive(Clone)]
pub struct ServiceContext {
    /// The agent that the service runs for.
    pub agent: Arc<AgentView>,
    /// The settings that the service's plugin declares, and no others.
    pub settings: PluginSettings,
    /// Memories, people and places, relationships and tasks.
    pub store: Arc<dyn PluginStore>,
    /// Small values of the service's plugin.
    pub cache: PluginCache,
    /// The other services of the agent, as they were when this one started.
    pub services: Services,
    /// Way to Rooms of the agent.
    pub outbound: Arc<dyn Outbound>,
    /// The agent's models. Calls count towards what the agent may cost a day (`BUDGET_AGENT`), and
    /// towards no person. A call beyond that fails with [`crate::model::LIMIT_CODE`] and its advice
    /// says when the next day begins.
    pub models: Models,
    /// The embedding model of [`Self::models`].
    pub embedding: Option<Arc<dyn EmbeddingModel>>,
    /// Use of these calls, as rows under the agent's own entity. The service stores them with what
    /// the calls returned.
    pub usage: Arc<dyn TurnUsage>,
    /// The runtime's clock, which tests set by hand.
    pub clock: Arc<dyn Clock>,
    /// Events of the agent in this process; publishes those of the service's plugin.
    pub events: EventHandle,
}

/// Name of a service type, with the Rust type that has it.
pub struct ServiceKey<T> {
    name: &'static str,
    service: PhantomData<fn() -> T>,
}

impl<T: Service> ServiceKey<T> {
    /// The key of this name.
    pub const fn new(name: &'static str) -> Self {
        Self { name, service: PhantomData }
    }
    /// The name.
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

/// A service of a plugin, with how it is doing.
pub struct ServiceEntry {
    /// Name of the plugin.
    pub plugin: Arc<str>,
    /// The service.
    pub service: Arc<dyn Service>,
    state: watch::Sender<ServiceState>,
}

impl ServiceEntry {
    /// A service that has not started.
    pub fn new(plugin: impl Into<Arc<str>>, service: Arc<dyn Service>) -> Arc<Self> {
        let (plugin, state) = (plugin.into(), watch::Sender::new(ServiceState::Idle));
        Arc::new(Self { plugin, service, state })
    }
    /// How it is doing.
    pub fn state(&self) -> ServiceState {
        self.state.borrow().clone()
    }
    /// Sets how it is doing; true if that is new. Called by the supervisor.
    pub fn set(&self, state: ServiceState) -> bool {
        self.state.send_if_modified(|known| {
            let is_new = *known != state;
            *known = state;
            is_new
        })
    }
    /// Waits until it is ready.
    pub async fn ready(&self) {
        // The sender lives as long as this entry.
        let _ = self.state.subscribe().wait_for(ServiceState::is_ready).await;
    }
}

/// The services of an agent, those of global plugins included.
#[derive(Clone, Default)]
pub struct Services(Arc<BTreeMap<String, Vec<Arc<ServiceEntry>>>>);

impl Services {
    /// From a list of no plugin; several of one name are kept in order.
    pub fn new(list: impl IntoIterator<Item = Arc<dyn Service>>) -> Self {
        Self::of(list.into_iter().map(|service| ServiceEntry::new("", service)))
    }

    /// From services of plugins; several of one name are kept in order.
    pub fn of(entries: impl IntoIterator<Item = Arc<ServiceEntry>>) -> Self {
        let mut map: BTreeMap<String, Vec<Arc<ServiceEntry>>> = BTreeMap::new();
        for entry in entries {
            map.entry(entry.service.name().to_owned()).or_default().push(entry);
        }
        Self(Arc::new(map))
    }

    /// elizaOS `getService`: the first of this name, as its own type.
    pub fn get_service<T: Service>(&self, name: &str) -> Option<Arc<T>> {
        self.typed(name).next()
    }

    /// The first of this key's name and type.
    pub fn get<T: Service>(&self, key: &ServiceKey<T>) -> Option<Arc<T>> {
        self.typed(key.name).next()
    }

    /// elizaOS `getServicesByType`: all of this key's name and type, in order of loading.
    pub fn all_of<T: Service>(&self, key: &ServiceKey<T>) -> Vec<Arc<T>> {
        self.typed(key.name).collect()
    }

    /// The first of this key's name and type, once it is ready.
    ///
    /// # Errors
    /// `NotFound` (`GAL-SERVICE-MISSING`) without such a service, `Timeout`
    /// (`GAL-SERVICE-NOT-READY`) if it is not ready `within` that time.
    pub async fn wait_for<T: Service>(
        &self,
        key: &ServiceKey<T>,
        within: Duration,
    ) -> Result<Arc<T>> {
        let missing = || {
            Error::not_found("no plugin has this service")
                .with_code("GAL-SERVICE-MISSING")
                .with("service", key.name)
                .with_fix("add or enable the plugin that has the service")
        };
        let entries = self.0.get(key.name).ok_or_else(missing)?;
        let is_typed = |entry: &&Arc<ServiceEntry>| typed::<T>(entry).is_some();
        let entry = entries.iter().find(is_typed).ok_or_else(missing)?;
        if tokio::time::timeout(within, entry.ready()).await.is_err() {
            return Err(Error::new(ErrorKind::Timeout, "a service is not ready")
                .with_code("GAL-SERVICE-NOT-READY")
                .with("service", key.name)
                .with("plugin", &entry.plugin)
                .with_fix("see `galatea status`: it says why the service does not start"));
        }
        typed(entry).ok_or_else(missing)
    }

    /// Names of all services (elizaOS `getRegisteredServiceTypes`).
    pub fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    /// Every service of the agent, by name and in order of loading.
    pub fn all(&self) -> impl Iterator<Item = &Arc<ServiceEntry>> {
        self.0.values().flatten()
    }

    fn typed<'a, T: Service>(&'a self, name: &str) -> impl Iterator<Item = Arc<T>> + use<'a, T> {
        self.0.get(name).into_iter().flatten().filter_map(|entry| typed(entry))
    }
}

fn typed<T: Service>(entry: &ServiceEntry) -> Option<Arc<T>> {
    let service: Arc<dyn Any + Send + Sync> = entry.service.clone();
    service.downcast().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Named<const N: u8>(&'static str);

    #[async_trait]
    impl<const N: u8> Service for Named<N> {
        fn name(&self) -> &'static str {
            self.0
        }
        async fn run(self: Arc<Self>, _: ServiceContext, _: CancellationToken) -> Result<()> {
            Ok(())
        }
    }

    const POLLS: ServiceKey<Named<1>> = ServiceKey::new("polls");

    #[test]
    fn several_of_one_name_are_found_by_their_own_type() {
        let list: [Arc<dyn Service>; 4] = [
            Arc::new(Named::<2>("polls")),
            Arc::new(Named::<1>("polls")),
            Arc::new(Named::<1>("polls")),
            Arc::new(Named::<1>("other")),
        ];
        let services = Services::new(list);
        assert_eq!(services.all_of(&POLLS).len(), 2);
        assert!(services.get(&POLLS).is_some());
        assert!(services.get_service::<Named<2>>("polls").is_some());
        assert!(services.get_service::<Named<2>>("other").is_none());
        assert_eq!(services.names(), ["other", "polls"]);
    }

    #[tokio::test]
    async fn a_service_is_waited_for_until_it_is_ready() {
        let entry = ServiceEntry::new("poll", Arc::new(Named::<1>("polls")));
        let services = Services::of([Arc::clone(&entry)]);
        let late = services.wait_for(&POLLS, Duration::from_millis(5)).await.err().unwrap();
        assert_eq!(late.code(), Some("GAL-SERVICE-NOT-READY"));
        let within = Duration::from_secs(60);
        let (found, ()) = tokio::join!(services.wait_for(&POLLS, within), async {
            tokio::task::yield_now().await;
            assert!(entry.set(ServiceState::Ready) && !entry.set(ServiceState::Ready));
        });
        assert_eq!(found.unwrap().0, "polls");
        let none = Services::default().wait_for(&POLLS, within).await.err().unwrap();
        assert_eq!(none.code(), Some("GAL-SERVICE-MISSING"));
    }
}
