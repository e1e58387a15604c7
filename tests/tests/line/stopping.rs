//! Several agents in one process, and how each stops.

use galatea_core::{
    Account, Address, Content, ErrorKind, Outgoing, Settings,
    store::{InboxState, MemoryQuery},
};
use galatea_runtime::{AgentSpec, Encoders};
use std::{collections::HashMap, sync::Arc, time::Duration};

use crate::{
    house::{Plan, character, dm},
    models::{self, Gated, echo},
    platform::{Doing, PATIENCE, Platform, Plugged, SOURCE},
};

#[tokio::test]
async fn stopping_finishes_what_has_begun() {
    let model = Gated::new(echo(), "slow");
    let house = Plan::new(Arc::clone(&model) as _).build().await;
    let id = house.say(&dm("7"), "slow").await;
    model.reached(1).await;
    let (orchestrator, agent) = (Arc::clone(&house.orchestrator), house.agent);
    let stopping = tokio::spawn(async move { orchestrator.stop_agent(agent, PATIENCE).await });
    model.open(1);
    assert!(stopping.await.unwrap().unwrap(), "it ended in time");
    // Everything is stored by then: turn, send and settlement.
    assert_eq!(house.platform.texts("7"), ["re: slow"]);
    assert_eq!(house.explain(id).await.deliveries[0].state, galatea_core::store::OutboxState::Sent);
    assert_eq!(
        house.orchestrator.start_agent(house.agent).unwrap_err().kind(),
        ErrorKind::Conflict
    );
}

#[tokio::test]
async fn stopping_does_not_wait_for_ever_and_a_new_agent_goes_on() {
    let model = Gated::new(echo(), "slow");
    let house = Plan::new(Arc::clone(&model) as _).build().await;
    let id = house.say(&dm("7"), "slow").await;
    model.reached(1).await;
    assert!(!house.orchestrator.stop_agent(house.agent, Duration::from_millis(50)).await.unwrap());
    house.orchestrator.remove_agent(house.agent).await.unwrap();
    // The old turn must be cancelled, or both would answer.
    model.open(1);
    house.platform.unplug();
    let spec = AgentSpec {
        character: character("Eliza"),
        settings: Settings::default(),
        models: models::all(echo()),
        plugins: Vec::new(),
        connectors: vec![Arc::new(Plugged(Arc::clone(&house.platform)))],
        account_settings: HashMap::new(),
        encoders: Encoders::default(),
    };
    let again = house.orchestrator.create_agent(spec).await.unwrap();
    assert_eq!(again, house.agent);
    house.orchestrator.start_agent(again).unwrap();
    house.quiet().await;
    assert_eq!(house.platform.texts("7"), ["re: slow"]);
    assert_eq!(house.explain(id).await.state, InboxState::Done);
}

#[tokio::test]
async fn agents_of_one_process_keep_apart() {
    let house = Plan::new(echo()).build().await;
    let other = Platform::new("2000");
    let spec = || AgentSpec {
        character: character("Ada"),
        settings: Settings::default(),
        models: models::all(Arc::new(galatea_testkit::models::ScriptedModel::saying("Ada here"))),
        plugins: Vec::new(),
        connectors: vec![Arc::new(Plugged(Arc::clone(&other)))],
        account_settings: HashMap::new(),
        encoders: Encoders::default(),
    };
    let ada = house.orchestrator.create_agent(spec()).await.unwrap();
    assert_eq!(
        house.orchestrator.create_agent(spec()).await.unwrap_err().code(),
        Some("GAL-AGENT-TWICE")
    );
    house.orchestrator.start_agent(ada).unwrap();
    // The same chat, person and message ids as the other agent has.
    let message = house.message(&dm("7"), "hello");
    house.receive(vec![message.clone()]).await;
    let gateway = other.gateway().await;
    let received = gateway
        .receive(galatea_core::Batch { events: vec![message], ..Default::default() })
        .await
        .unwrap();
    assert_eq!(received.stored, 1, "it is another agent's message");
    assert_eq!(house.platform.until_shown("7", 1).await, ["re: hello"]);
    assert_eq!(other.until_shown("7", 1).await, ["Ada here"]);
    house.quiet().await;
    for (agent, answer) in [(house.agent, "re: hello"), (ada, "Ada here")] {
        let texts: Vec<_> = house
            .store
            .memories(&MemoryQuery::new(agent, 10))
            .await
            .unwrap()
            .into_iter()
            .map(|m| m.content.text)
            .collect();
        assert_eq!(texts, [answer, "hello"]);
    }
    house.orchestrator.remove_agent(ada).await.unwrap();
    house.say(&dm("7"), "still there?").await;
    house.platform.until_shown("7", 2).await;
}

#[tokio::test]
async fn a_message_to_another_place_goes_through_the_outbox() {
    let model = echo();
    let house = Plan::new(Arc::clone(&model) as _).build().await;
    let spot = dm("8");
    house.gateway.ensure_connection(&spot.connection()).await.unwrap();
    let address = |account: &str| Address {
        source: SOURCE,
        account: Account(account.into()),
        room: house.room(&spot),
        remote: galatea_core::RemoteId::new("8"),
    };
    let outgoing = Outgoing::Message { content: Content::text("good morning"), reply_to: None };
    // Recovery sends unfinished deliveries first; until it ends, the platform counts as not
    // connected.
    let refused = house
        .orchestrator
        .send_message_to_target(house.agent, &address("none"), outgoing.clone())
        .await
        .unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unavailable);
    house.quiet().await;
    house.platform.does("8", [Doing::Fine]);
    house.say(&dm("7"), "connected?").await;
    house.platform.until_shown("7", 1).await;
    house
        .orchestrator
        .send_message_to_target(house.agent, &address("1000"), outgoing)
        .await
        .unwrap();
    assert_eq!(house.platform.until_shown("8", 1).await, ["good morning"]);
    house.quiet().await;
    // The message is part of the room's history, so the agent knows of it when the person answers.
    house.say(&spot, "what did you say?").await;
    house.platform.until_shown("8", 2).await;
    let said = |text: &str| {
        model.requests().iter().any(|r| r.messages.iter().any(|m| m.text().contains(text)))
    };
    assert!(said("good morning"), "the model is not shown what was said there");
}
