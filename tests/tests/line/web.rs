//! Conversations of the web between processes that share a database: one takes messages in, another one
//! answers, and whoever follows sees each answer once.

use galatea_core::{
    AgentIdentity, ChannelType, Clock, Connector, ConnectorConfig, Host, Settings, Store,
    SystemClock,
    store::{LIVE_KEPT, MESSAGE_SENT, ProcessRole},
};
use galatea_host::ops::{
    Ops,
    chat::{Channel, Chat, ChatEvent, Said, Speaker},
    live::Live,
};
use galatea_runtime::Orchestrator;
use galatea_testkit::postgres::Database;
use std::sync::Arc;

use crate::{
    cluster::{open, until_held},
    house::Plan,
    models::echo,
    platform::PATIENCE,
};

/// The connector of an agent.
pub(crate) fn connector(agent: &AgentIdentity) -> Arc<dyn Connector> {
    let host = Host {
        agent: agent.clone(),
        agent_name: "Eliza".to_owned(),
        data_dir: ".".into(),
        clock: Arc::new(SystemClock),
    };
    let config = galatea_web::Config::from_settings(&Settings::default()).unwrap().unwrap();
    config.build(&host).unwrap()
}

fn chat(store: &Arc<dyn Store>, all: &Arc<Orchestrator>, keeps: bool) -> Arc<Chat> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let ops = Ops::new(Arc::clone(store), Arc::clone(&clock), Some(Arc::clone(all)));
    Chat::start(&ops, &Live::start(store, &clock, all.events(), keeps))
}

fn said(id: &str, text: &str) -> Said {
    let channel = Channel::new("ann.private", ChannelType::Dm);
    Said::new(Speaker::new("ann", Some("Ann".into())), channel, id, text)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_answers_nothing_takes_messages_in_and_shows_the_answers_of_others() {
    let database = Database::fresh().await;
    let plan = || Plan::new(echo()).on_the_web();
    let (worker, _) =
        plan().store(&open(&database).await).without_ticks(ProcessRole::Worker).begin().await;
    let stored = open(&database).await;
    let (api, agent) = plan().store(&stored).without_ticks(ProcessRole::Api).begin().await;
    until_held("the worker to answer everywhere", &stored, vec![64]).await;
    let store: Arc<dyn Store> = Arc::new(stored.clone());
    let chat = chat(&store, &api, false);

    for n in 1..=3 {
        let follower = chat.follow(Some(Vec::new()), None).await.unwrap();
        let heard = chat.say(&[agent], &said(&n.to_string(), &format!("hello {n}"))).await.unwrap();
        let mut waiting = chat.wait(&heard, follower, PATIENCE);
        let mut shown = Vec::new();
        while let Some(event) = waiting.next().await.unwrap() {
            if let ChatEvent::Message { message, .. } = event {
                shown.push(message.text);
            }
        }
        assert_eq!(shown, [format!("re: hello {n}")], "each answer once");
        assert_eq!(waiting.outcomes().len(), 1);
    }
    // A reader that was away since the first event gets all of them, in order.
    let first = stored.live_bounds_or_zero().await;
    let mut reader = chat.follow(None, Some(first)).await.unwrap();
    let mut replayed = Vec::new();
    while replayed.len() < 3 {
        if let Some(ChatEvent::Message { message, .. }) = reader.next().await.unwrap() {
            replayed.push(message.text);
        }
    }
    assert_eq!(replayed, ["re: hello 1", "re: hello 2", "re: hello 3"]);
    let limit = u32::try_from(LIVE_KEPT).unwrap();
    let sent = store.live_after(0, limit).await.unwrap();
    assert_eq!(sent.iter().filter(|event| event.kind == MESSAGE_SENT).count(), 3);
    api.stop(PATIENCE).await;
    worker.stop(PATIENCE).await;
}

/// The number before the oldest event.
trait Bounds {
    async fn live_bounds_or_zero(&self) -> i64;
}

impl<T: Store> Bounds for T {
    async fn live_bounds_or_zero(&self) -> i64 {
        self.live_bounds().await.unwrap().map_or(0, |(first, _)| first - 1)
    }
}
