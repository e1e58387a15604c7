//! Services start when those that they need are ready, stop in the reverse order, and say how they
//! are doing.

use async_trait::async_trait;
use galatea_core::{
    Error, ErrorKind, Plugin, Result, Service, ServiceContext, ServiceKey, event::Event,
    service::ServiceState,
};
use galatea_testkit::models::ScriptedModel;
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{house::Plan, platform::PATIENCE};

type Log = Arc<Mutex<Vec<String>>>;

/// Writes down what happens to it.
struct Logged {
    name: &'static str,
    needs: &'static [&'static str],
    log: Log,
    may_start: Option<Arc<Notify>>,
}

impl Logged {
    fn note(&self, what: &str) {
        self.log.lock().unwrap().push(format!("{} {what}", self.name));
    }
}

const STORE: ServiceKey<Logged> = ServiceKey::new("store");

#[async_trait]
impl Service for Logged {
    fn name(&self) -> &str {
        self.name
    }
    fn needs(&self) -> Vec<String> {
        self.needs.iter().map(|need| (*need).to_owned()).collect()
    }
    async fn start(&self, context: &ServiceContext) -> Result<()> {
        if let Some(may_start) = &self.may_start {
            may_start.notified().await;
        }
        for need in self.needs {
            assert!(context.services.names().contains(need));
        }
        self.note("ready");
        Ok(())
    }
    async fn run(self: Arc<Self>, context: ServiceContext, stop: CancellationToken) -> Result<()> {
        if self.needs.contains(&"store") {
            context.services.wait_for(&STORE, Duration::from_secs(5)).await?;
        }
        stop.cancelled().await;
        Ok(())
    }
    async fn stop(&self) -> Result<()> {
        self.note("stopped");
        Ok(())
    }
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let wait = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.unwrap_or_else(|_| panic!("never: {what}"));
}

#[tokio::test]
async fn services_start_in_the_order_of_their_needs_and_stop_in_reverse() {
    let (log, may_start) = (Log::default(), Arc::new(Notify::new()));
    let service = |name, needs, may_start: Option<&Arc<Notify>>| {
        Arc::new(Logged { name, needs, log: Arc::clone(&log), may_start: may_start.cloned() })
    };
    let web = Plugin::new("web", "1.0.0", "").service(service("web", &["news", "store"], None));
    let base = Plugin::new("base", "1.0.0", "")
        .service(service("news", &["store"], None))
        .service(service("store", &[], Some(&may_start)));
    let house =
        Plan::new(Arc::new(ScriptedModel::saying("fine"))).plugin(web).plugin(base).build().await;
    let all = &house.orchestrator;
    let state = |name: &str| {
        let plugins = all.plugins(house.agent).unwrap();
        let mut services = plugins.into_iter().flat_map(|plugin| plugin.services);
        services.find(|service| service.name == name).unwrap().state
    };
    until("it starts", || state("store") == ServiceState::Starting).await;
    until("it waits", || state("web") == ServiceState::Waiting("news".into())).await;
    assert!(log.lock().unwrap().is_empty());
    may_start.notify_one();
    until("all are ready", || state("web") == ServiceState::Ready).await;
    assert_eq!(*log.lock().unwrap(), ["store ready", "news ready", "web ready"]);
    all.remove_plugin(house.agent, "web").await.unwrap();
    assert_eq!(log.lock().unwrap().last().unwrap(), "web stopped");
    all.stop(PATIENCE).await;
    assert_eq!(log.lock().unwrap()[3..], ["web stopped", "news stopped", "store stopped"]);
}

#[tokio::test]
async fn needs_that_nobody_has_keep_a_plugin_out() {
    let house = Plan::new(Arc::new(ScriptedModel::saying("fine"))).build().await;
    let service = Logged { name: "web", needs: &["nobody"], log: Log::default(), may_start: None };
    let plugin = Plugin::new("web", "1.0.0", "").service(Arc::new(service));
    let error = house.orchestrator.add_plugin(house.agent, plugin).await.unwrap_err();
    assert_eq!(error.code(), Some("GAL-SERVICE-MISSING"));
    assert!(house.orchestrator.plugins(house.agent).unwrap().is_empty());
}

/// Refuses to work until a person repairs it.
struct Broken;

#[async_trait]
impl Service for Broken {
    fn name(&self) -> &'static str {
        "broken"
    }
    async fn run(self: Arc<Self>, _: ServiceContext, _: CancellationToken) -> Result<()> {
        Err(Error::new(ErrorKind::Unauthorized, "the key was refused"))
    }
}

#[tokio::test]
async fn a_service_that_fails_says_why_in_its_state_and_as_an_event() {
    let house = Plan::new(Arc::new(ScriptedModel::saying("fine"))).build().await;
    let mut events = house.orchestrator.events().subscribe();
    let plugin = Plugin::new("broken", "1.0.0", "").service(Arc::new(Broken));
    house.orchestrator.add_plugin(house.agent, plugin).await.unwrap();
    let state = tokio::time::timeout(PATIENCE, async {
        loop {
            if let Ok(Event::ServiceChanged { state: ServiceState::Failed(why), .. }) =
                events.recv().await
            {
                return why;
            }
        }
    });
    assert!(state.await.unwrap().contains("the key was refused"));
    let plugins = house.orchestrator.plugins(house.agent).unwrap();
    assert!(matches!(plugins[0].services[0].state, ServiceState::Failed(_)));
}
