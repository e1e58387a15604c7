//! Answer at all? And does `explain` say so?

use galatea_core::{Decision, ModelInfo, store::InboxState};
use galatea_runtime::pairing;
use galatea_testkit::models::ScriptedModel;
use std::sync::Arc;

use crate::{
    house::{Plan, dm, group},
    models::echo,
    platform::Platform,
};

#[tokio::test]
async fn unaddressed_chatter_stays_unanswered_and_explain_names_the_setting() {
    let house = Plan::new(echo()).build().await;
    let chatter = house.say(&group("-100", "7"), "nice weather").await;
    let question = house.say(&group("-100", "7").mentioning(), "and you?").await;
    house.quiet().await;
    assert_eq!(house.platform.texts("-100").len(), 1);
    let said = house.explain(chatter).await;
    assert_eq!((said.state, said.summary.as_str()), (InboxState::Skipped, "not answered: nobody addressed the agent"));
    let change = said.change.unwrap();
    assert_eq!((change.setting.as_str(), change.value.as_str()), ("GROUP_POLICY", "always"));
    assert!(house.explain(question).await.summary.contains("mentions the agent"));
    assert_eq!(house.platform.shown()[0].reply_to.as_deref(), Some("-100-2"), "in groups the question is quoted");
}

#[tokio::test]
async fn the_setting_that_explain_names_changes_the_outcome() {
    let house = Plan::new(echo()).set("GROUP_POLICY", "always").build().await;
    house.say(&group("-100", "7"), "nice weather").await;
    house.platform.until_shown("-100", 1).await;
}

#[tokio::test]
async fn bots_are_answered_when_allowed_and_only_so_often() {
    let house = Plan::new(echo()).build().await;
    let bot = group("-100", "9").bot().mentioning();
    let ignored = house.say(&bot, "hello").await;
    house.quiet().await;
    assert_eq!(house.explain(ignored).await.change.unwrap().setting, "ALLOW_BOTS");

    let house = Plan::new(echo()).set("ALLOW_BOTS", "true").set("BOT_HOP_LIMIT", "2").build().await;
    let mut last = None;
    for n in 0..4 {
        last = Some(house.say(&bot, &format!("hello {n}")).await);
        house.quiet().await;
    }
    assert_eq!(house.platform.texts("-100").len(), 2);
    assert_eq!(house.explain(last.unwrap()).await.change.unwrap().setting, "BOT_HOP_LIMIT");
    // A person who speaks, even to nobody, ends the run.
    house.say(&group("-100", "7"), "what are you two doing").await;
    house.say(&bot, "again").await;
    house.quiet().await;
    assert_eq!(house.platform.texts("-100").len(), 3);
}

#[tokio::test]
async fn the_agent_does_not_answer_itself() {
    let house = Plan::new(echo()).set("GROUP_POLICY", "always").set("ALLOW_BOTS", "true").build().await;
    // The account's own id is the platform's echo.
    let own = house.say(&group("-100", "1000").bot(), "I said this").await;
    house.quiet().await;
    assert_eq!(house.platform.attempts(), 0);
    assert!(house.explain(own).await.summary.contains("own message"));
}

#[tokio::test]
async fn a_stranger_gets_a_code_and_the_owner_opens_the_door() {
    let house = Plan::new(echo()).set("DM_POLICY", "pairing").build().await;
    let spot = dm("7");
    let first = house.say(&spot, "hello").await;
    let told = house.platform.until_shown("7", 1).await.remove(0);
    house.quiet().await;
    assert_eq!(house.explain(first).await.state, InboxState::Skipped);
    let waiting = pairing::pending(house.store.as_ref(), house.agent, house.clock.now()).await.unwrap();
    assert_eq!((waiting.len(), waiting[0].name.as_str()), (1, "Person 7"));
    assert!(told.contains(&waiting[0].code), "{told}");
    assert_eq!(pairing::approve(house.store.as_ref(), house.agent, "WRONG", house.clock.now()).await.unwrap(), None);
    let name = pairing::approve(house.store.as_ref(), house.agent, &waiting[0].code.to_lowercase(), house.clock.now()).await.unwrap();
    assert_eq!(name.as_deref(), Some("Person 7"));
    house.say(&spot, "and now?").await;
    assert_eq!(house.platform.until_shown("7", 2).await[1], "re: and now?");
    // Somebody else still stands outside.
    house.say(&dm("8"), "me too").await;
    assert!(house.platform.until_shown("8", 1).await[0].contains("galatea pairing approve"));
}

#[tokio::test]
async fn strangers_who_come_at_once_get_codes_that_all_work() {
    let house = Plan::new(echo()).set("DM_POLICY", "pairing").build().await;
    let spots = [dm("1"), dm("2"), dm("3")];
    house.receive(spots.iter().map(|spot| house.message(spot, "hello")).collect()).await;
    for spot in &spots {
        house.platform.until_shown(spot.room, 1).await;
    }
    let waiting = pairing::pending(house.store.as_ref(), house.agent, house.clock.now()).await.unwrap();
    assert_eq!(waiting.len(), 3);
    for spot in &spots {
        let told = house.platform.texts(spot.room).remove(0);
        assert!(waiting.iter().any(|p| told.contains(&p.code)), "{told}");
    }
}

#[tokio::test]
async fn the_offline_script_is_labelled_and_silent_in_public() {
    let script = || {
        let info = ModelInfo { provider: "offline".into(), model: "doctor".into(), tools: false, vision: false, scripted: true };
        Arc::new(ScriptedModel::saying("Tell me more.").with_info(info))
    };
    let house = Plan::new(script()).build().await;
    house.say(&dm("7"), "hello").await;
    house.platform.until_shown("7", 1).await;
    assert_eq!(house.platform.shown()[0].label.as_deref(), Some("offline script"));

    let public = || Platform::with("1000", |c| c.public = true);
    let house = Plan::new(script()).on(public()).build().await;
    let id = house.say(&dm("7"), "hello").await;
    house.quiet().await;
    assert_eq!(house.platform.attempts(), 0);
    assert_eq!(house.explain(id).await.change.unwrap().setting, "OFFLINE_RESPONDER_PUBLIC");

    let house = Plan::new(script()).on(public()).set("OFFLINE_RESPONDER_PUBLIC", "true").build().await;
    house.say(&dm("7"), "hello").await;
    assert!(house.platform.until_shown("7", 1).await[0].ends_with("*Offline script, not AI*"));
}

#[tokio::test]
async fn ambient_groups_ask_a_model_whether_to_join_in() {
    let model = Arc::new(ScriptedModel::new());
    for answer in ["IGNORE", "RESPOND", "I know about that."] {
        model.enqueue(answer);
    }
    let house = Plan::new(model).set("GROUP_POLICY", "ambient").build().await;
    let quiet = house.say(&group("-100", "7"), "who likes tea").await;
    house.quiet().await;
    assert_eq!(house.explain(quiet).await.state, InboxState::Skipped);
    let loud = house.say(&group("-100", "7"), "who knows Eliza?").await;
    let _ = Decision::Answer;
    assert_eq!(house.platform.until_shown("-100", 1).await.len(), 1);
    house.quiet().await;
    assert_eq!(house.explain(loud).await.state, InboxState::Done);
}
