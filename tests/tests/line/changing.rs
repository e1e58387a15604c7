//! An agent that is changed or restarted while others run, or that cannot be made again.

use async_trait::async_trait;
use galatea_core::{Batch, Character, Error, ErrorKind, Result, Settings};
use galatea_runtime::{AgentChange, AgentFactory, AgentSpec, AgentState, Encoders};
use galatea_testkit::models::ScriptedModel;
use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::{
    house::{House, Plan, character, dm},
    models::{self, Gated, asked_texts, echo},
    platform::{PATIENCE, Platform, Plugged},
};

/// Answers in the role that the request gives it.
fn in_role() -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::answering(|request| {
        let role = if request.system.as_deref().unwrap_or_default().contains("You are a poet") {
            "poet"
        } else {
            "pirate"
        };
        let words = asked_texts(request);
        Ok(ScriptedModel::text(format!("{role}: {}", words.lines().last().unwrap_or_default())))
    }))
}

fn in_the_role_of(role: &str) -> Character {
    Character { system: Some(format!("You are a {role}.")), ..character("Eliza") }
}

fn change(character: Character, settings: &[(&'static str, &'static str)]) -> AgentChange {
    AgentChange {
        character,
        settings: Settings::from_pairs(settings.iter().copied()),
        account_settings: HashMap::new(),
    }
}

fn spec(name: &str, platform: &Arc<Platform>) -> AgentSpec {
    AgentSpec {
        character: character(name),
        settings: Settings::default(),
        models: models::all(echo()),
        plugins: Vec::new(),
        connectors: vec![Arc::new(Plugged(Arc::clone(platform)))],
        account_settings: HashMap::new(),
        encoders: Encoders::default(),
    }
}

fn state(house: &House, id: galatea_core::AgentId) -> AgentState {
    house.orchestrator.info(id).unwrap().state
}

#[tokio::test]
async fn a_change_applies_from_the_next_turn_on() {
    let model = Gated::new(in_role(), "slow");
    let plan = Plan::new(Arc::clone(&model) as _);
    let house = Plan { character: in_the_role_of("pirate"), ..plan }.build().await;
    house.say(&dm("7"), "slow").await;
    model.reached(1).await;
    let (orchestrator, agent) = (&house.orchestrator, house.agent);
    orchestrator.update_agent(agent, change(in_the_role_of("poet"), &[])).await.unwrap();
    house.say(&dm("8"), "quick").await;
    assert_eq!(house.platform.until_shown("8", 1).await, ["poet: quick"]);
    model.open(1);
    // The turn that had begun ends as it began.
    assert_eq!(house.platform.until_shown("7", 1).await, ["pirate: slow"]);
    house.quiet().await;

    let silent = change(in_the_role_of("poet"), &[("AUTO_REPLY", "false")]);
    orchestrator.update_agent(agent, silent).await.unwrap();
    house.say(&dm("8"), "anybody there?").await;
    house.quiet().await;
    assert_eq!(house.platform.texts("8"), ["poet: quick"]);
}

#[tokio::test]
async fn a_refused_change_changes_nothing() {
    let plan = Plan::new(in_role());
    let house = Plan { character: in_the_role_of("pirate"), ..plan }.build().await;
    let other = change(character("Ada"), &[]);
    let unread = change(
        in_the_role_of("poet"),
        &[("TURN_TIMEOUT_SECONDS", "soon"), ("AUTO_REPLY", "perhaps")],
    );
    for (change, kind) in [(other, ErrorKind::Conflict), (unread, ErrorKind::Invalid)] {
        let refused = house.orchestrator.update_agent(house.agent, change).await.unwrap_err();
        assert_eq!(refused.kind(), kind, "{refused}");
    }
    house.say(&dm("7"), "hello").await;
    assert_eq!(house.platform.until_shown("7", 1).await, ["pirate: hello"]);
}

#[tokio::test]
async fn an_agent_is_restarted_while_another_answers() {
    let house = Plan::new(echo()).build().await;
    let other = Platform::new("2000");
    let ada = house.orchestrator.create_agent(spec("Ada", &other)).await.unwrap();
    assert_eq!(state(&house, ada), AgentState::Created);
    house.orchestrator.start_agent(ada).unwrap();
    let before = other.gateway().await;
    before
        .receive(Batch { events: vec![house.message(&dm("9"), "one")], ..Batch::default() })
        .await
        .unwrap();
    assert_eq!(other.until_shown("9", 1).await, ["re: one"]);
    assert!(house.orchestrator.stop_agent(ada, PATIENCE).await.unwrap());
    assert_eq!(state(&house, ada), AgentState::Stopped);
    house.say(&dm("7"), "still there?").await;
    assert_eq!(house.platform.until_shown("7", 1).await, ["re: still there?"]);

    other.unplug();
    house.orchestrator.restart_agent(ada, PATIENCE).await.unwrap();
    let gateway = other.gateway().await;
    gateway
        .receive(Batch { events: vec![house.message(&dm("9"), "two")], ..Batch::default() })
        .await
        .unwrap();
    assert_eq!(other.until_shown("9", 2).await, ["re: one", "re: two"]);
    assert_eq!(state(&house, ada), AgentState::Running);
    assert_eq!(house.orchestrator.infos().len(), 2);
    house.orchestrator.remove_agent(ada).await.unwrap();
    assert_eq!(house.orchestrator.info(ada), None);
}

/// A change of an agent that was made of fixed parts outlives its restart.
#[tokio::test]
async fn a_change_outlives_a_restart() {
    let plan = Plan::new(in_role());
    let house = Plan { character: in_the_role_of("pirate"), ..plan }.build().await;
    let poet = change(in_the_role_of("poet"), &[]);
    house.orchestrator.update_agent(house.agent, poet).await.unwrap();
    house.platform.unplug();
    house.orchestrator.restart_agent(house.agent, PATIENCE).await.unwrap();
    let gateway = house.platform.gateway().await;
    gateway
        .receive(Batch { events: vec![house.message(&dm("7"), "hello")], ..Batch::default() })
        .await
        .unwrap();
    assert_eq!(house.platform.until_shown("7", 1).await, ["poet: hello"]);
}

struct Unsteady {
    spec: AgentSpec,
    broken: AtomicBool,
}

#[async_trait]
impl AgentFactory for Unsteady {
    async fn make(&self) -> Result<AgentSpec> {
        if self.broken.load(Ordering::Relaxed) {
            return Err(Error::invalid("its file is gone"));
        }
        Ok(self.spec.clone())
    }
}

#[tokio::test]
async fn an_agent_that_cannot_be_made_again_says_so_and_may_be_tried_again() {
    let house = Plan::new(echo()).build().await;
    let other = Platform::new("2000");
    let factory = Arc::new(Unsteady { spec: spec("Ada", &other), broken: AtomicBool::new(false) });
    let ada = house.orchestrator.create_agent_by(Arc::clone(&factory) as _).await.unwrap();
    house.orchestrator.start_agent(ada).unwrap();
    factory.broken.store(true, Ordering::Relaxed);
    assert!(house.orchestrator.restart_agent(ada, PATIENCE).await.is_err());
    let info = house.orchestrator.info(ada).unwrap();
    assert_eq!(info.state, AgentState::Failed);
    assert!(info.failure.unwrap().contains("its file is gone"));
    house.say(&dm("7"), "hello").await;
    assert_eq!(house.platform.until_shown("7", 1).await, ["re: hello"]);

    factory.broken.store(false, Ordering::Relaxed);
    house.orchestrator.restart_agent(ada, PATIENCE).await.unwrap();
    assert_eq!(house.orchestrator.info(ada).unwrap().failure, None);
    assert_ne!(state(&house, ada), AgentState::Failed);
}
