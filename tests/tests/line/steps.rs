//! Several rounds of tools in one turn: what the model reads, and where the rounds end.

use async_trait::async_trait;
use galatea_core::{
    ActionDocs, ActionResult, AnyAction, Media, Plugin, Result, Turn,
    model::{ChatMessage, ChatPart, ChatRole, TextRequest, ToolChoice},
    rights::Scope,
    store::InboxState,
};
use galatea_store::{Database, SqliteOptions};
use galatea_testkit::models::ScriptedModel;
use serde_json::{Value, json};
use std::{
    path::Path,
    sync::{Arc, Mutex},
};
use tokio::{runtime::Runtime, sync::watch};

use crate::{
    house::{House, Plan, dm},
    platform::{PATIENCE, Platform},
    rights::calls,
};

/// What the tools were asked, in order; outlives the program.
#[derive(Default)]
pub(crate) struct Ledger {
    done: Mutex<Vec<String>>,
    /// The tool of this name hangs.
    hangs: Mutex<Option<&'static str>>,
    reached: watch::Sender<u32>,
}

impl Ledger {
    pub(crate) fn done(&self) -> Vec<String> {
        self.done.lock().unwrap().clone()
    }

    /// From now on the tool of this name hangs.
    pub(crate) fn hang(&self, tool: &'static str) {
        *self.hangs.lock().unwrap() = Some(tool);
    }

    pub(crate) async fn until_reached(&self) {
        let mut reached = self.reached.subscribe();
        tokio::time::timeout(PATIENCE, reached.wait_for(|n| *n > 0)).await.unwrap().unwrap();
    }

    /// No tool hangs any more.
    pub(crate) fn go_on(&self) {
        *self.hangs.lock().unwrap() = None;
    }
}

/// A tool that answers with its own name and arguments, or with a long text.
struct Tool(&'static str, Arc<Ledger>);

#[async_trait]
impl AnyAction for Tool {
    fn docs(&self) -> ActionDocs {
        ActionDocs {
            name: self.0.into(),
            similes: Vec::new(),
            description: "Does something.".into(),
            parameters: Arc::new(json!({ "type": "object", "properties": {} })),
        }
    }
    fn has_side_effect(&self) -> bool {
        true
    }
    fn scope(&self) -> Scope {
        Scope::Conversation
    }
    async fn validate(&self, _: &Turn<'_>) -> Result<bool> {
        Ok(true)
    }
    async fn run(&self, _: &Turn<'_>, p: Value, _: &[ActionResult]) -> Result<ActionResult> {
        let hangs = *self.1.hangs.lock().unwrap() == Some(self.0);
        if hangs {
            self.1.reached.send_modify(|n| *n += 1);
            std::future::pending::<()>().await;
        }
        self.1.done.lock().unwrap().push(format!("{} {p}", self.0));
        if p["long"] == true {
            return Ok(ActionResult::ok("x".repeat(50_000)));
        }
        let file = Media { url: "data:text/plain;base64,aGk=".into(), ..Media::default() };
        let what = p.get("saw").and_then(Value::as_str).map(str::to_owned);
        let what = what.unwrap_or_else(|| p["n"].to_string());
        let result = ActionResult::ok(format!("{} found {what}", self.0.to_lowercase()));
        Ok(if p["file"] == true { result.file(file) } else { result })
    }
}

pub(crate) fn plugin(ledger: &Arc<Ledger>) -> Plugin {
    let mut plugin = Plugin::new("tools", "1.0.0", "tools");
    for name in ["FIRST", "SECOND"] {
        plugin.actions.push(Arc::new(Tool(name, Arc::clone(ledger))));
    }
    plugin
}

/// Rounds that the request shows.
fn rounds(request: &TextRequest) -> usize {
    request.messages.iter().filter(|message| message.role == ChatRole::Tool).count()
}

/// Texts of the last round's results.
fn read(request: &TextRequest) -> Vec<String> {
    let last = request.messages.iter().rev().find(|message| message.role == ChatRole::Tool);
    let parts = last.map(|message| message.parts.clone()).unwrap_or_default();
    let text = |part: ChatPart| match part {
        ChatPart::ToolResult { text, .. } => Some(text),
        _ => None,
    };
    parts.into_iter().filter_map(text).collect()
}

/// A model that calls FIRST, then SECOND with what FIRST said, then speaks.
fn model() -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::answering(|request| {
        Ok(match rounds(request) {
            0 => calls([("FIRST", json!({ "n": 1 })), ("FIRST", json!({ "n": 2 }))]),
            1 => {
                let mut next = calls([("SECOND", json!({ "saw": read(request).join("|") }))]);
                next.text = "One moment.".into();
                next
            }
            _ => ScriptedModel::text(format!("At last: {}", read(request).join("|"))),
        })
    }))
}

async fn house(plan: Plan, ledger: &Arc<Ledger>) -> House {
    plan.plugin(plugin(ledger)).build().await
}

#[tokio::test]
async fn a_model_reads_what_its_tools_returned_and_goes_on() {
    let (ledger, model) = (Arc::new(Ledger::default()), model());
    let house = house(Plan::new(Arc::clone(&model) as _), &ledger).await;
    let asked = house.say(&dm("7"), "do it").await;
    house.quiet().await;
    let said = house.platform.texts("7");
    assert_eq!(said.len(), 1, "one answer, without the words between: {said:?}");
    assert_eq!(said, ["At last: second found first found 1|first found 2"]);
    assert_eq!(ledger.done().len(), 3);
    let requests = model.requests();
    assert_eq!(requests.len(), 3);
    // Each round begins with all of the one before, so a provider reads it from its cache.
    for pair in requests.windows(2) {
        assert_eq!(pair[0].messages[..], pair[1].messages[..pair[0].messages.len()]);
        assert_eq!((&pair[0].system, &pair[0].tools), (&pair[1].system, &pair[1].tools));
    }
    let steps = house.explain(asked).await.steps;
    let noted = |what: &str| steps.iter().any(|step| step.reason.contains(what));
    assert!(noted("round 1: FIRST, FIRST") && noted("round 2: SECOND"), "{steps:?}");
}

#[tokio::test]
async fn the_rounds_end_at_their_limit_with_words() {
    let ledger = Arc::new(Ledger::default());
    let model = Arc::new(ScriptedModel::answering(|request| {
        if request.tool_choice == ToolChoice::None {
            return Ok(ScriptedModel::text("That is all I found."));
        }
        Ok(calls([("FIRST", json!({ "n": rounds(request) }))]))
    }));
    let house = house(Plan::new(Arc::clone(&model) as _).set("TOOL_STEPS", "3"), &ledger).await;
    house.say(&dm("7"), "do it").await;
    house.quiet().await;
    assert_eq!(house.platform.texts("7"), ["That is all I found."]);
    assert_eq!((ledger.done().len(), model.requests().len()), (3, 4));
    assert!(model.requests().iter().all(|request| !request.tools.is_empty()));
}

#[tokio::test]
async fn an_unknown_tool_is_answered_with_those_that_exist() {
    let ledger = Arc::new(Ledger::default());
    let model = Arc::new(ScriptedModel::answering(|request| {
        Ok(match rounds(request) {
            0 => calls([("FRIST", json!({}))]),
            1 => calls([("FIRST", json!({ "was told": read(request).join("") }))]),
            _ => ScriptedModel::text("Done."),
        })
    }));
    let house = house(Plan::new(Arc::clone(&model) as _), &ledger).await;
    house.say(&dm("7"), "do it").await;
    house.quiet().await;
    let done = ledger.done();
    assert!(done[0].contains("there is no FRIST; there are: FIRST, SECOND"), "{done:?}");
    assert_eq!(house.platform.texts("7"), ["Done."]);
}

#[tokio::test]
async fn a_long_result_is_cut_and_says_so_and_files_go_with_the_answer() {
    let ledger = Arc::new(Ledger::default());
    let model = Arc::new(ScriptedModel::answering(|request| {
        Ok(match rounds(request) {
            0 => calls([("FIRST", json!({ "long": true })), ("SECOND", json!({ "file": true }))]),
            _ => ScriptedModel::text("Here."),
        })
    }));
    let house = house(Plan::new(Arc::clone(&model) as _), &ledger).await;
    house.say(&dm("7"), "do it").await;
    house.quiet().await;
    let results = read(&model.requests()[1]);
    assert!(results[0].len() < 17_000, "{}", results[0].len());
    assert!(results[0].ends_with("of 50000 bytes; ask for less, or for the rest]"));
    assert!(!results[1].contains("base64"), "{results:?}");
}

#[tokio::test]
async fn a_turn_without_tools_is_one_question() {
    let ledger = Arc::new(Ledger::default());
    let model = Arc::new(ScriptedModel::saying("hello"));
    let house = house(Plan::new(Arc::clone(&model) as _), &ledger).await;
    house.say(&dm("7"), "hi").await;
    house.quiet().await;
    assert_eq!((model.requests().len(), ledger.done().len()), (1, 0));
}

#[tokio::test]
async fn a_model_that_fails_between_rounds_leaves_the_plain_result() {
    let ledger = Arc::new(Ledger::default());
    let model = Arc::new(ScriptedModel::new());
    model.enqueue_result(Ok(calls([("FIRST", json!({}))])));
    let house = house(Plan::new(Arc::clone(&model) as _), &ledger).await;
    house.say(&dm("7"), "do it").await;
    house.quiet().await;
    assert_eq!(house.platform.texts("7"), ["first found null"]);
}

#[tokio::test]
async fn messages_answered_together_are_one_set_of_rounds() {
    let (ledger, model) = (Arc::new(Ledger::default()), model());
    let house = house(Plan::new(Arc::clone(&model) as _), &ledger).await;
    let both = ["do it", "and be quick"].map(|text| house.message(&dm("7"), text));
    house.receive(both.into()).await;
    house.quiet().await;
    assert_eq!(house.platform.texts("7").len(), 1);
    assert_eq!((ledger.done().len(), model.requests().len()), (3, 3));
}

#[tokio::test]
async fn an_interruption_between_rounds_repeats_no_effect() {
    let (ledger, model) = (Arc::new(Ledger::default()), model());
    *ledger.hangs.lock().unwrap() = Some("SECOND");
    let plan = Plan::new(Arc::clone(&model) as _).set("BUSY_POLICY", "interrupt");
    let house = house(plan, &ledger).await;
    house.say(&dm("7"), "do it").await;
    let mut reached = ledger.reached.subscribe();
    tokio::time::timeout(PATIENCE, reached.wait_for(|n| *n > 0)).await.unwrap().unwrap();
    *ledger.hangs.lock().unwrap() = None;
    house.say(&dm("7"), "and be quick").await;
    house.quiet().await;
    let (done, said) = (ledger.done(), house.platform.texts("7"));
    assert_eq!(done.iter().filter(|what| what.starts_with("FIRST")).count(), 2, "{done:?}");
    assert!(said.len() == 1 && said[0].contains("may have been done"), "{said:?} {done:?}");
}

/// Runs the program until SECOND hangs, ends it like a crash, and runs it again.
#[test]
fn a_crash_between_rounds_repeats_no_effect() {
    let ledger = Arc::new(Ledger::default());
    *ledger.hangs.lock().unwrap() = Some("SECOND");
    let folder = tempfile::tempdir().unwrap();
    let (file, platform) = (folder.path().join("a.db"), Platform::new("1000"));
    let begin = async |file: &Path| {
        let store = Database::sqlite(file, SqliteOptions::default()).await.unwrap();
        let plan = Plan::new(model() as _).store(&store).on(Arc::clone(&platform));
        house(plan, &ledger).await
    };
    let run = Runtime::new().unwrap();
    let id = run.block_on(async {
        let house = begin(&file).await;
        let id = house.say(&dm("7"), "do it").await;
        let mut reached = ledger.reached.subscribe();
        let hanging = tokio::time::timeout(PATIENCE, reached.wait_for(|n| *n > 0)).await;
        assert!(hanging.is_ok(), "it never came to the second round");
        drop(hanging);
        id
    });
    run.shutdown_background();
    platform.unplug();
    *ledger.hangs.lock().unwrap() = None;
    Runtime::new().unwrap().block_on(async {
        let house = begin(&file).await;
        let said = platform.until_shown("7", 1).await;
        house.quiet().await;
        assert_eq!(house.explain(id).await.state, InboxState::Done);
        let done = ledger.done();
        assert_eq!(done.iter().filter(|what| what.starts_with("FIRST")).count(), 2, "{done:?}");
        assert!(said[0].contains("may have been done"), "the unknown outcome is read: {said:?}");
    });
}

#[test]
fn a_step_in_words_says_what_was_done() {
    let result = ChatPart::ToolResult {
        id: "1".into(),
        name: "FIRST".into(),
        text: "wet".into(),
        failed: false,
    };
    let words = galatea_core::model::text_actions::in_words(&ChatMessage::results(vec![result]));
    assert!(words.text().contains("- FIRST worked: wet"));
}
