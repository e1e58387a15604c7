//! Settings of Worlds that a character declares: an admin is asked in the conversation, and what they
//! answer holds in all rooms of the World.

use galatea_core::{RemoteId, Role, character};
use galatea_testkit::models::ScriptedModel;
use std::sync::Arc;

use crate::{
    house::{House, Plan, Spot, group},
    models,
};

const CHARACTER: &str = r#"{ "name": "Iris", "bio": ["Greets people."], "settings": { "worldSettings": {
    "tone": { "usageDescription": "How formal am I here?", "options": ["casual", "formal"] } } } }"#;
const CALL: &str = "<response><actions><action><name>UPDATE_SETTINGS</name><params><key>tone</key><value>formal</value></params></action></actions><text>Done.</text></response>";
const QUESTION: &str = "How formal am I here? One of: casual, formal.";

/// Person 8 is an admin of the World.
async fn say(house: &House, at: &Spot, words: &str) {
    let mut asked = house.message(at, words);
    asked.connection.world.roles = vec![(RemoteId::new("8"), Role::Admin)];
    house.receive(vec![asked]).await;
    house.quiet().await;
}

#[tokio::test]
async fn an_admin_is_asked_and_answers_for_all_rooms_of_the_world() {
    let model = Arc::new(ScriptedModel::new());
    let mut plan = Plan::new(Arc::clone(&model) as _)
        .plugin(galatea_bootstrap::plugin())
        .set("ACTION_CONFIRMATION", "never")
        .set("REFLECTION_INTERVAL", "0");
    plan.character = character::load("iris.json", CHARACTER).unwrap().character;
    let house = plan.build().await;
    let at = |person| group("-100", person).mentioning();
    let tone = async || {
        let world = house.store.world(house.world(&at("8"))).await.unwrap().unwrap();
        world.setting("tone").map(str::to_owned)
    };
    for (person, expected) in [("9", None), ("8", Some("formal"))] {
        model.enqueue(CALL);
        say(&house, &at(person), "be formal here from now on").await;
        let first = model.requests().into_iter().rev().find(|r| !r.tools.is_empty()).unwrap();
        assert_eq!(models::prompt(&first).contains(QUESTION), person == "8", "{person}");
        assert_eq!(tone().await.as_deref(), expected, "{person}");
    }
    model.enqueue("<response><text>Good day.</text></response>");
    say(&house, &at("9"), "hello").await;
    let shown = models::prompt(model.requests().last().unwrap());
    assert!(shown.contains("The admins of this place have set tone to “formal”."), "{shown}");
    assert!(!shown.contains(QUESTION));
}
