//! A failing provider or action loses its own result but never the answer.

use async_trait::async_trait;
use galatea_core::{
    Action, ActionDocs, ActionResult, Clock, Content, Error, ErrorKind, Fragment, Plugin, Provider,
    ProviderUse, Result, StepOutcome, Turn,
    model::{Finish, TextAnswer, ToolCall},
    rights::Scope,
};
use galatea_testkit::{clock::ManualClock, models::ScriptedModel};
use schemars::JsonSchema;
use serde::Deserialize;
use std::{sync::Arc, time::Duration};

use crate::{
    house::{Plan, dm},
    models::prompt,
};

/// Behaviour of the action WAVE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wave {
    Works,
    Fails,
    Panics,
    /// Hangs when called with two hands.
    Hangs,
    HangsInValidate,
    PanicsInValidate,
}

pub(crate) fn wave(how: Wave) -> Plugin {
    Plugin::new("waving", "1.0.0", "waves").action(Waving(how))
}

struct Waving(Wave);

/// Arguments of WAVE.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Hands {
    /// The number.
    hands: u32,
}

#[async_trait]
impl Action for Waving {
    const NAME: &'static str = "WAVE";
    const SCOPE: Scope = Scope::Conversation;
    type Params = Hands;

    fn docs(&self) -> ActionDocs {
        ActionDocs::of::<Self>("waves", &[])
    }

    async fn validate(&self, _: &Turn<'_>) -> Result<bool> {
        match self.0 {
            Wave::HangsInValidate => std::future::pending().await,
            Wave::PanicsInValidate => panic!("on purpose"),
            _ => Ok(true),
        }
    }

    async fn run(&self, _: &Turn<'_>, params: Hands, _: &[ActionResult]) -> Result<ActionResult> {
        match self.0 {
            Wave::Fails => Err(Error::unexpected("no hands")),
            Wave::Panics => panic!("on purpose"),
            Wave::Hangs if params.hands == 2 => std::future::pending().await,
            _ => Ok(ActionResult::ok("waved")
                .say(Content::text(format!("waves {} hands", params.hands)))),
        }
    }
}

struct Part(&'static str, fn() -> Doing);

enum Doing {
    Says(&'static str),
    Fails,
    Panics,
    Hangs,
}

#[async_trait]
impl Provider for Part {
    fn name(&self) -> &'static str {
        self.0
    }
    fn description(&self) -> &'static str {
        "a part"
    }
    fn position(&self) -> i32 {
        0
    }
    fn when(&self) -> ProviderUse {
        ProviderUse::Always
    }
    async fn provide(&self, _: &Turn<'_>) -> Result<Fragment> {
        match (self.1)() {
            Doing::Says(text) => Ok(Fragment::text(text)),
            Doing::Fails => Err(Error::unexpected("broken")),
            Doing::Panics => panic!("on purpose"),
            Doing::Hangs => std::future::pending().await,
        }
    }
}

/// Reads the value under one key that other code may have set, and sets its own.
struct Remembers(&'static str);

#[async_trait]
impl Provider for Remembers {
    fn name(&self) -> &'static str {
        self.0
    }
    fn description(&self) -> &'static str {
        "what it remembers"
    }
    fn position(&self) -> i32 {
        0
    }
    fn when(&self) -> ProviderUse {
        ProviderUse::Always
    }
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        let known = turn.cache.get("pairing:k", turn.now()).await?;
        turn.cache.set("pairing:k", &self.0.into(), None).await?;
        Ok(Fragment::text(format!("[{} knows {}]", self.0, known.unwrap_or_default())))
    }
}

#[tokio::test]
async fn each_plugin_reads_only_its_own_values() {
    let model = Arc::new(ScriptedModel::saying("fine"));
    let plugin = |name| Plugin::new(name, "1.0.0", "remembers").provider(Remembers(name));
    let house = Plan::new(Arc::clone(&model) as _)
        .plugin(plugin("one"))
        .plugin(plugin("two"))
        // The default is too short for a busy machine.
        .set("PROVIDERS_TOTAL_TIMEOUT_MS", "20000")
        .build()
        .await;
    let engine = serde_json::json!("the engine's");
    house.store.cache(house.agent, "pairing:k", &engine, None).await.unwrap();
    for (n, known) in [["null", "null"], ["\"one\"", "\"two\""]].into_iter().enumerate() {
        house.say(&dm("7"), "hello").await;
        house.platform.until_shown("7", n + 1).await;
        house.quiet().await;
        let asked = prompt(&model.requests()[n]);
        for (name, known) in ["one", "two"].into_iter().zip(known) {
            assert!(asked.contains(&format!("[{name} knows {known}]")), "{asked}");
        }
    }
    let kept = house.store.cached(house.agent, "pairing:k", house.clock.now()).await.unwrap();
    assert_eq!(kept, Some(engine));
}

#[tokio::test]
async fn broken_providers_are_left_out_and_noted() {
    let model = Arc::new(ScriptedModel::saying("still here"));
    let plugin = Plugin::new("parts", "1.0.0", "")
        .provider(Part("GOOD", || Doing::Says("The sky is green.")))
        .provider(Part("FAILING", || Doing::Fails))
        .provider(Part("PANICKING", || Doing::Panics))
        .provider(Part("HANGING", || Doing::Hangs));
    let house = Plan::new(Arc::clone(&model) as _)
        .plugin(plugin)
        .set("PROVIDERS_TOTAL_TIMEOUT_MS", "50")
        .build()
        .await;
    let id = house.say(&dm("7"), "hello").await;
    assert_eq!(house.platform.until_shown("7", 1).await, ["still here"]);
    assert!(prompt(&model.requests()[0]).contains("The sky is green."));
    house.quiet().await;
    let said = house.explain(id).await;
    for (name, reason) in
        [("FAILING", "broken"), ("PANICKING", "panicked"), ("HANGING", "longer than 50 ms")]
    {
        assert!(
            said.steps.iter().any(|s| s.rule == "provider"
                && s.reason.contains(name)
                && s.reason.contains(reason)),
            "{name}: {:?}",
            said.steps
        );
    }
}

#[tokio::test]
async fn a_broken_action_is_a_result_and_the_words_are_said() {
    const ANSWER: &str = "<response><actions><action><name>WAVE</name><params><hands>1</hands></params></action></actions><text>Look!</text></response>";
    for how in [Wave::Fails, Wave::Panics] {
        let house =
            Plan::new(Arc::new(ScriptedModel::saying(ANSWER))).plugin(wave(how)).build().await;
        let id = house.say(&dm("7"), "wave").await;
        assert_eq!(house.platform.until_shown("7", 1).await, ["Look!"]);
        house.quiet().await;
        assert_eq!(house.platform.attempts(), 1);
        assert!(
            house
                .explain(id)
                .await
                .steps
                .iter()
                .any(|s| s.rule == "action" && s.outcome == StepOutcome::Failed),
            "{how:?}"
        );
    }
}

#[tokio::test]
async fn an_action_without_end_costs_neither_the_words_nor_what_was_done_before() {
    let action = |hands: u32| {
        format!("<action><name>WAVE</name><params><hands>{hands}</hands></params></action>")
    };
    let answer = format!(
        "<response><actions>{}{}</actions><text>Look!</text></response>",
        action(1),
        action(2)
    );
    let clock = ManualClock::new();
    let passing = clock.clone();
    // Each action has the last second of the deadline: this clock stands still, however busy the
    // machine is.
    let model = ScriptedModel::answering(move |request| {
        passing.advance(request.deadline.unwrap().since(passing.now()) - Duration::from_secs(1));
        Ok(ScriptedModel::text(answer.clone()))
    });
    let house =
        Plan::new(Arc::new(model)).plugin(wave(Wave::Hangs)).clock(clock.shared()).build().await;
    let id = house.say(&dm("7"), "wave").await;
    assert_eq!(house.platform.until_shown("7", 2).await, ["Look!", "waves 1 hands"]);
    house.quiet().await;
    assert!(
        house
            .explain(id)
            .await
            .steps
            .iter()
            .any(|s| s.rule == "action" && s.outcome == StepOutcome::Failed)
    );
}

#[tokio::test]
async fn an_action_that_cannot_be_validated_is_not_offered_and_costs_nothing_else() {
    for how in [Wave::HangsInValidate, Wave::PanicsInValidate] {
        let model = Arc::new(ScriptedModel::saying("words"));
        let house = Plan::new(Arc::clone(&model) as _)
            .plugin(wave(how))
            .set("PROVIDERS_TOTAL_TIMEOUT_MS", "50")
            .build()
            .await;
        house.say(&dm("7"), "wave").await;
        assert_eq!(house.platform.until_shown("7", 1).await, ["words"]);
        assert!(model.requests()[0].tools.is_empty(), "{how:?}");
    }
}

fn calling(text: &str, tool: &str) -> TextAnswer {
    let call = ToolCall { id: "1".into(), name: tool.into(), arguments: "{\"hands\": 1}".into() };
    TextAnswer { tool_calls: vec![call], finish: Finish::Tools, ..ScriptedModel::text(text) }
}

#[tokio::test]
async fn words_beside_an_action_that_failed_are_asked_for_again() {
    for tool in ["WAVE", "LAUNCH"] {
        let model = Arc::new(ScriptedModel::new());
        model.enqueue_result(Ok(calling("Sure, done.", tool)));
        // The same call again, after the model has read what came of it, is no new one.
        let second = calling("I cannot do that.", "WAVE");
        let words = ScriptedModel::text("I cannot do that.");
        model.enqueue_result(Ok(if tool == "WAVE" { second } else { words }));
        let house = Plan::new(Arc::clone(&model) as _).plugin(wave(Wave::Fails)).build().await;
        house.say(&dm("7"), "do it").await;
        house.quiet().await;
        assert_eq!(house.platform.texts("7"), ["I cannot do that."]);
        let requests = model.requests();
        assert_eq!(requests.len(), 2, "it is not done again");
        assert!(prompt(&requests[1]).contains(&format!("- {tool} failed: ")));
    }
}

#[tokio::test]
async fn a_failed_action_is_named_where_the_model_does_not_speak_of_it() {
    let down = Err(Error::new(ErrorKind::Unavailable, "overloaded"));
    for second in [down, Ok(calling("", "WAVE")), Ok(ScriptedModel::text(""))] {
        let model = Arc::new(ScriptedModel::new());
        model.enqueue_result(Ok(calling("Sure, done.", "WAVE")));
        model.enqueue_result(second);
        let house = Plan::new(Arc::clone(&model) as _).plugin(wave(Wave::Fails)).build().await;
        house.say(&dm("7"), "wave").await;
        house.quiet().await;
        assert_eq!(house.platform.texts("7"), ["Sorry, that did not work: WAVE failed."]);
        assert_eq!(model.requests().len(), 2);
    }
}

#[tokio::test]
async fn what_worked_beside_a_failed_action_is_done_once() {
    let model = Arc::new(ScriptedModel::new());
    let mut both = calling("Done, both.", "WAVE");
    both.tool_calls.extend(calling("", "LAUNCH").tool_calls);
    model.enqueue_result(Ok(both));
    model.enqueue("I waved. I cannot launch.");
    let house = Plan::new(Arc::clone(&model) as _).plugin(wave(Wave::Works)).build().await;
    house.say(&dm("7"), "wave and launch").await;
    house.quiet().await;
    assert_eq!(house.platform.texts("7"), ["I waved. I cannot launch.", "waves 1 hands"]);
}
