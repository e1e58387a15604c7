//! The decision whether to answer at all, and its reason in `explain`.

use galatea_core::{ModelInfo, store::InboxState};
use galatea_runtime::pairing;
use galatea_testkit::{clock::ManualClock, models::ScriptedModel};
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
    assert_eq!(
        (said.state, said.summary.as_str()),
        (InboxState::Skipped, "not answered: the message does not address the agent")
    );
    let change = said.change.unwrap();
    assert_eq!((change.setting.as_str(), change.value.as_str()), ("GROUP_POLICY", "always"));
    assert!(house.explain(question).await.summary.contains("mentions the agent"));
    assert_eq!(
        house.platform.shown()[0].reply_to.as_deref(),
        Some("-100-2"),
        "in groups the question is quoted"
    );
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
    // A person's message, even one that addresses no agent, ends the run of bot messages.
    house.say(&group("-100", "7"), "what are you two doing").await;
    house.say(&bot, "again").await;
    house.quiet().await;
    assert_eq!(house.platform.texts("-100").len(), 3);
}

#[tokio::test]
async fn the_agent_does_not_answer_itself() {
    let house =
        Plan::new(echo()).set("GROUP_POLICY", "always").set("ALLOW_BOTS", "true").build().await;
    // A message from the account's own id is an echo of the platform.
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
    let notice = house.platform.until_shown("7", 1).await.remove(0);
    house.quiet().await;
    assert_eq!(house.explain(first).await.state, InboxState::Skipped);
    let waiting =
        pairing::pending(house.store.as_ref(), house.agent, house.clock.now()).await.unwrap();
    assert_eq!((waiting.len(), waiting[0].name.as_str()), (1, "Person 7"));
    assert!(notice.contains(&waiting[0].code), "{notice}");
    assert_eq!(
        pairing::approve(house.store.as_ref(), house.agent, "WRONG", house.clock.now())
            .await
            .unwrap(),
        None
    );
    let name = pairing::approve(
        house.store.as_ref(),
        house.agent,
        &waiting[0].code.to_lowercase(),
        house.clock.now(),
    )
    .await
    .unwrap();
    assert_eq!(name.as_deref(), Some("Person 7"));
    house.say(&spot, "and now?").await;
    assert_eq!(house.platform.until_shown("7", 2).await[1], "re: and now?");
    // Another person is still not approved.
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
    let waiting =
        pairing::pending(house.store.as_ref(), house.agent, house.clock.now()).await.unwrap();
    assert_eq!(waiting.len(), 3);
    for spot in &spots {
        let notice = house.platform.texts(spot.room).remove(0);
        assert!(waiting.iter().any(|p| notice.contains(&p.code)), "{notice}");
    }
}

#[tokio::test]
async fn a_crowd_of_strangers_does_not_close_the_door_for_others() {
    let clock = ManualClock::new();
    let house = Plan::new(echo()).set("DM_POLICY", "pairing").clock(clock.shared()).build().await;
    let names: Vec<&'static str> = (100..180).map(|n| &*n.to_string().leak()).collect();
    // More strangers than may wait at once: each gets one message, with a code or with the request
    // to come back later.
    for name in &names[..60] {
        house.say(&dm(name), "hello").await;
        house.say(&dm(name), "hello?").await;
    }
    house.quiet().await;
    let coded = names[..60]
        .iter()
        .filter(|name| house.platform.texts(name).iter().any(|text| text.contains("approve")))
        .count();
    assert!(
        names[..60].iter().all(|name| house.platform.texts(name).len() == 1),
        "each gets the notice once"
    );
    assert_eq!(coded, 50);
    assert!(house.platform.texts(names[55])[0].contains("again in an hour"));
    // The number of such messages is limited as well.
    for name in &names[60..] {
        house.say(&dm(name), "hello").await;
    }
    house.quiet().await;
    let answered = names[60..].iter().filter(|name| !house.platform.texts(name).is_empty()).count();
    assert_eq!(answered, 10, "twenty in ten minutes");
    // The block does not last an hour: after ten minutes the longest waiting person makes room.
    clock.advance(std::time::Duration::from_secs(601));
    house.say(&dm("7"), "hello").await;
    house.quiet().await;
    assert!(house.platform.texts("7")[0].contains("galatea pairing approve"));
    let waiting =
        pairing::pending(house.store.as_ref(), house.agent, house.clock.now()).await.unwrap();
    assert_eq!(waiting.len(), 50);
    // A person who lost their code gets it again.
    let last = waiting.iter().find(|p| p.name != "Person 7").unwrap().clone();
    let room = last.name.strip_prefix("Person ").unwrap().to_owned();
    house.say(&dm(&*room.clone().leak()), "again, please").await;
    house.quiet().await;
    assert!(house.platform.texts(&room).last().unwrap().contains(&last.code));
}

#[tokio::test]
async fn codes_and_approvals_outlive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.db");
    let platform = crate::platform::Platform::new("1000");
    let open = async || {
        let store = galatea_store::Database::sqlite(&file, galatea_store::SqliteOptions::default())
            .await
            .unwrap();
        Plan::new(echo())
            .set("DM_POLICY", "pairing")
            .store(&store)
            .on(Arc::clone(&platform))
            .build()
            .await
    };
    let house = open().await;
    house.say(&dm("7"), "hello").await;
    let notice = platform.until_shown("7", 1).await.remove(0);
    house.quiet().await;
    assert!(house.orchestrator.stop(std::time::Duration::from_secs(10)).await);
    platform.unplug();
    let house = open().await;
    let code = notice.split("approve ").nth(1).unwrap().split('`').next().unwrap();
    assert!(
        pairing::approve(house.store.as_ref(), house.agent, code, house.clock.now())
            .await
            .unwrap()
            .is_some()
    );
    assert!(house.orchestrator.stop(std::time::Duration::from_secs(10)).await);
    platform.unplug();
    let house = open().await;
    // Message numbers restart with this instance, and the first one is already stored.
    drop(house.message(&dm("7"), "hello"));
    house.say(&dm("7"), "and now?").await;
    assert_eq!(platform.until_shown("7", 2).await[1], "re: and now?");
}

#[tokio::test]
async fn the_offline_script_is_labelled_and_silent_in_public() {
    let script = || {
        let info = ModelInfo {
            provider: "offline".into(),
            model: "doctor".into(),
            scripted: true,
            ..ModelInfo::default()
        };
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

    let house =
        Plan::new(script()).on(public()).set("OFFLINE_RESPONDER_PUBLIC", "true").build().await;
    house.say(&dm("7"), "hello").await;
    assert!(house.platform.until_shown("7", 1).await[0].ends_with("*Offline script, not AI*"));
}

/// Without permission to write, or with the day's budget spent, no model is paid for an answer that
/// cannot be sent.
#[tokio::test]
async fn where_nothing_can_be_said_no_model_is_asked_and_explain_says_why() {
    let model = Arc::new(ScriptedModel::saying("Here I am."));
    let house = Plan::new(Arc::clone(&model) as _).set("GROUP_POLICY", "ambient").build().await;
    house.platform.bar(Some("-100"));
    let addressed = house.say(&group("-100", "7").mentioning(), "hello?").await;
    let ambient = house.say(&group("-100", "7"), "who likes tea").await;
    house.quiet().await;
    assert_eq!((model.requests().len(), house.platform.attempts()), (0, 0));
    for message in [addressed, ambient] {
        let said = house.explain(message).await;
        assert_eq!(said.state, InboxState::Skipped);
        assert!(
            said.summary.contains("Cannot write here")
                && said.summary.contains("GAL-TEST-MUTE")
                && said.summary.contains("let it write"),
            "{}",
            said.summary
        );
    }
    house.platform.bar(None);
    house.say(&group("-100", "7").mentioning(), "and now?").await;
    assert_eq!(house.platform.until_shown("-100", 1).await, ["Here I am."]);
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
    assert_eq!(house.platform.until_shown("-100", 1).await.len(), 1);
    house.quiet().await;
    assert_eq!(house.explain(loud).await.state, InboxState::Done);
}
