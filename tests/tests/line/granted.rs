//! Who may use a tool: grants in front of the table of rights, limits of a World's owner, and
//! consents by button that end with the tool's description.

use async_trait::async_trait;
use galatea_core::{
    ActionDocs, ActionResult, AnyAction, MemoryId, Plugin, Result, Turn,
    rights::{Grant, GrantAsk, Standing, ToolIdentity},
};
use galatea_testkit::models::ScriptedModel;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

use crate::{
    house::{House, Plan, Spot, dm, group},
    models::prompt,
    rights::{ADMIN, BOSS, MEMBER, OWNER, calls, press, settle},
};

/// A tool of a server: it says what the server says, and remembers for whom.
pub(super) struct Forecast {
    pub(super) pin: Mutex<String>,
    pub(super) asked: Mutex<Vec<Value>>,
    pub(super) says: Mutex<String>,
}

impl Forecast {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            pin: Mutex::new("a1".into()),
            asked: Mutex::default(),
            says: Mutex::new("rain".into()),
        })
    }
    pub(super) fn runs(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

pub(super) struct Tool(pub(super) Arc<Forecast>);

#[async_trait]
impl AnyAction for Tool {
    fn docs(&self) -> ActionDocs {
        ActionDocs {
            name: "weather_forecast".into(),
            similes: Vec::new(),
            description: "Tells the weather.".into(),
            parameters: Arc::new(json!({ "type": "object", "properties": {} })),
        }
    }
    fn has_side_effect(&self) -> bool {
        true
    }
    fn tool(&self) -> Option<ToolIdentity> {
        Some(ToolIdentity::new("weather", "forecast").pinned(self.0.pin.lock().unwrap().clone()))
    }
    async fn validate(&self, _: &Turn<'_>) -> Result<bool> {
        Ok(true)
    }
    async fn run(&self, _: &Turn<'_>, params: Value, _: &[ActionResult]) -> Result<ActionResult> {
        self.0.asked.lock().unwrap().push(params);
        Ok(ActionResult::ok(self.0.says.lock().unwrap().clone()))
    }
}

/// A model that always asks the tool, if it is offered, and then says what came of it.
fn model() -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::answering(|request| {
        if prompt(request).contains("You have just done this:") || request.tools.is_empty() {
            return Ok(ScriptedModel::text("so much for the weather"));
        }
        Ok(calls([("weather_forecast", json!({}))]))
    }))
}

async fn house(tool: &Arc<Forecast>) -> House {
    let mut weather = Plugin::new("mcp-weather", "1.0.0", "tells the weather");
    weather.actions.push(Arc::new(Tool(Arc::clone(tool))));
    let house = Plan::new(model()).plugin(weather).set("AGENT_OWNERS", "stage:6").build().await;
    settle(&house).await;
    house
}

async fn said(house: &House, at: &Spot, text: &str) -> MemoryId {
    let id = house.say(&at.clone().mentioning(), text).await;
    house.quiet().await;
    id
}

fn last(house: &House, room: &str) -> String {
    house.platform.texts(room).pop().unwrap_or_default()
}

async fn rights_of(house: &House, id: MemoryId) -> String {
    let steps = house.explain(id).await.steps;
    let of = steps.iter().filter(|step| step.rule == "rights" || step.rule == "action");
    of.map(|step| step.reason.clone()).collect::<Vec<_>>().join("; ")
}

#[tokio::test]
async fn an_owner_grants_in_chat_and_the_explanation_names_the_grant() {
    let tool = Forecast::new();
    let house = house(&tool).await;
    let (member, boss) = (group("-100", MEMBER), dm(BOSS));
    said(&house, &member, "weather?").await;
    assert_eq!(tool.runs(), 0, "a tool of a server is for owners of the agent only");

    said(&house, &member, "/grant weather/* member never").await;
    assert!(last(&house, "-100").contains("Only my owners"), "{}", last(&house, "-100"));
    said(&house, &boss, "/grant wether/* member").await;
    assert!(
        last(&house, BOSS).contains("weather/*"),
        "an unknown tool is an error: {}",
        last(&house, BOSS)
    );
    said(&house, &boss, "/grant weather/* member never").await;
    assert_eq!(last(&house, BOSS), "Done: weather/*: for everybody, ask never.");

    let asked = said(&house, &member, "weather?").await;
    assert_eq!(tool.runs(), 1);
    let why = rights_of(&house, asked).await;
    assert!(why.contains("done: weather_forecast: a grant says weather/*: for everybody"), "{why}");

    said(&house, &boss, "/revoke weather/*").await;
    said(&house, &member, "weather?").await;
    assert_eq!(tool.runs(), 1, "{}", last(&house, BOSS));
}

#[tokio::test]
async fn a_worlds_owner_only_narrows_and_only_there() {
    let tool = Forecast::new();
    let house = house(&tool).await;
    let (owner, member) = (group("-100", OWNER), group("-100", MEMBER));
    said(&house, &owner, "/grant weather/* member never").await;
    assert!(last(&house, "-100").contains("by the World's owner"), "{}", last(&house, "-100"));
    said(&house, &member, "weather?").await;
    assert_eq!(tool.runs(), 0, "a World's owner gives no right to another's tools");

    said(&house, &dm(BOSS), "/grant weather/* member never").await;
    said(&house, &owner, "/grant weather/* admin never").await;
    said(&house, &member, "weather?").await;
    assert_eq!(tool.runs(), 0);
    said(&house, &group("-100", ADMIN), "weather?").await;
    said(&house, &group("-200", MEMBER), "weather?").await;
    assert_eq!(tool.runs(), 2, "admins there, and members of another World");
}

/// The code in the last question of a room.
fn code(house: &House, room: &str) -> String {
    let text = last(house, room);
    let at = text.find("`ok-").unwrap_or_else(|| panic!("no question: {text:?}"));
    text[at + 4..at + 9].to_owned()
}

#[tokio::test]
async fn a_consent_is_for_this_room_this_person_and_the_tool_as_it_was() {
    let tool = Forecast::new();
    let house = house(&tool).await;
    said(&house, &dm(BOSS), "/grant weather/* member others-words").await;
    let (member, admin) = (group("-100", MEMBER), group("-100", ADMIN));
    said(&house, &member, "weather?").await;
    assert_eq!(tool.runs(), 0, "it asks first, since others talk there too");
    assert!(last(&house, "-100").contains("`room-"), "{}", last(&house, "-100"));
    let pressed = press(&house, &member, "p1", &format!("room-{}", code(&house, "-100"))).await;
    house.quiet().await;
    assert_eq!(tool.runs(), 1);
    let why = rights_of(&house, pressed).await;
    assert!(why.contains("from now on weather/forecast in this room"), "{why}");

    said(&house, &member, "weather?").await;
    assert_eq!(tool.runs(), 2, "no question any more");
    said(&house, &admin, "weather?").await;
    assert_eq!(tool.runs(), 2, "another person is asked");
    said(&house, &group("-200", MEMBER), "weather?").await;
    assert_eq!(tool.runs(), 2, "another room asks");

    *tool.pin.lock().unwrap() = "b2".into();
    said(&house, &member, "weather?").await;
    assert_eq!(tool.runs(), 2, "a tool with another description asks again");
    // What waits is the tool as it was: a change after the question ends it, too.
    *tool.pin.lock().unwrap() = "c3".into();
    press(&house, &member, "p2", &format!("ok-{}", code(&house, "-100"))).await;
    house.quiet().await;
    assert_eq!(tool.runs(), 2, "{}", last(&house, "-100"));

    *tool.pin.lock().unwrap() = "a1".into();
    said(&house, &member, "/revoke weather/forecast").await;
    assert!(last(&house, "-100").starts_with("Taken back"), "{}", last(&house, "-100"));
    said(&house, &member, "weather?").await;
    assert_eq!(tool.runs(), 2);
}

#[tokio::test]
async fn a_rule_of_another_pin_opens_nothing() {
    let tool = Forecast::new();
    let house = house(&tool).await;
    let open = Grant {
        ask: GrantAsk::Never,
        pin: Some("z9".into()),
        ..Grant::rule(
            house.agent,
            "weather/forecast".parse().unwrap(),
            Some(Standing::Member),
            house.clock.now(),
        )
    };
    house.store.save_grant(&open).await.unwrap();
    said(&house, &group("-100", MEMBER), "weather?").await;
    assert_eq!(tool.runs(), 0);
}

/// What a tool returned is other people's words: the stored answer is marked, so a later turn of the
/// owner's private chat does not count it as the agent's own.
#[tokio::test]
async fn what_a_tool_returned_marks_the_stored_answer() {
    let tool = Forecast::new();
    let house = house(&tool).await;
    said(&house, &dm(BOSS), "weather?").await;
    assert_eq!(tool.runs(), 1, "an owner's own words need no question");
    said(&house, &dm(BOSS), "weather?").await;
    assert_eq!(tool.runs(), 1, "the answer before holds a stranger's words now");
    assert!(last(&house, BOSS).contains("please confirm"), "{}", last(&house, BOSS));
}
