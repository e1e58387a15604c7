//! The decision whether to answer at all, and its reason in `explain`.

use galatea_core::{ModelInfo, store::InboxState};
use galatea_runtime::pairing;
use galatea_testkit::{clock::ManualClock, models::ScriptedModel};
use std::{sync::Arc, time::Duration};

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
async fn the_nickname_of_a_server_calls_the_agent_there_and_nowhere_else() {
    let house = Plan::new(echo()).build().await;
    let there = group("-100", "7").where_the_agent_is("Helga die Weberin");
    for text in ["Helga, hello", "helga die weberin, hello", "hello Helga!"] {
        house.say(&there, text).await;
    }
    house.platform.until_shown("-100", 3).await;
    house.say(&there, "Helgas are birds, aren't they").await;
    house.say(&group("-200", "7"), "Helga, hello").await;
    house.quiet().await;
    assert_eq!((house.platform.texts("-100").len(), house.platform.texts("-200").len()), (3, 0));
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
    let names: Vec<&'static str> = (5000..5300).map(|n| &*n.to_string().leak()).collect();
    let shown = |name: &str| house.platform.texts(name);
    // Two hundred strangers, each of whom writes twice, and then a friend.
    for name in &names[..200] {
        house.say(&dm(name), "hello").await;
    }
    house.say(&dm(names[0]), "hello?").await;
    house.say(&dm("7"), "it is me").await;
    house.quiet().await;
    assert!(names[..200].iter().all(|name| shown(name).len() == 1), "each gets one code");
    assert!(shown("7")[0].contains("galatea pairing approve"));
    // Codes of one minute are limited, for the sake of the answers to others.
    for name in &names[200..] {
        house.say(&dm(name), "hello").await;
    }
    house.quiet().await;
    let answered = names.iter().filter(|name| !shown(name).is_empty()).count();
    assert_eq!(u64::try_from(answered).unwrap() + 1, pairing::REPLIES);
    // A minute later a person who went unheard gets a code.
    clock.advance(Duration::from_secs(60));
    let unheard = names.iter().find(|name| shown(name).is_empty()).unwrap();
    house.say(&dm(unheard), "hello?").await;
    house.quiet().await;
    assert!(shown(unheard)[0].contains("galatea pairing approve"));
    // The friend's code is still good, and a person who lost theirs gets it again.
    clock.advance(Duration::from_secs(600));
    house.say(&dm("7"), "what was it?").await;
    house.quiet().await;
    assert_eq!(shown("7")[0], shown("7")[1]);
    let code =
        shown("7")[0].split("approve ").nth(1).unwrap().split('`').next().unwrap().to_owned();
    let (store, now) = (house.store.as_ref(), house.clock.now());
    assert!(pairing::approve(store, house.agent, &code, now).await.unwrap().is_some());
}

#[tokio::test]
async fn an_invited_friend_comes_in_through_any_crowd() {
    let clock = ManualClock::new();
    let house = Plan::new(echo()).set("DM_POLICY", "pairing").clock(clock.shared()).build().await;
    let (store, agent) = (house.store.as_ref(), house.agent);
    let day = Duration::from_secs(24 * 3600);
    let now = house.clock.now();
    let made = pairing::invite(store, agent, day, now).await.unwrap();
    let other = pairing::invite(store, agent, day, now).await.unwrap();
    for n in 0..pairing::REPLIES + 10 {
        house.say(&dm(&*(5000 + n).to_string().leak()), "hello").await;
    }
    house.say(&dm("7"), &format!("hi, {} :)", made.code.to_lowercase())).await;
    house.quiet().await;
    assert!(house.platform.texts("7")[0].starts_with("Welcome"), "{:?}", house.platform.texts("7"));
    house.say(&dm("7"), "and now?").await;
    assert_eq!(house.platform.until_shown("7", 2).await[1], "re: and now?");
    // It works once, and until it ends.
    let left = pairing::invitations(store, agent, house.clock.now()).await.unwrap();
    assert_eq!(left, std::slice::from_ref(&other));
    clock.advance(Duration::from_secs(60));
    house.say(&dm("8"), &made.code).await;
    house.quiet().await;
    clock.advance(day);
    house.say(&dm("9"), &other.code).await;
    house.quiet().await;
    for late in ["8", "9"] {
        assert!(house.platform.texts(late)[0].contains("galatea pairing approve"), "{late}");
    }
    assert!(pairing::invitations(store, agent, house.clock.now()).await.unwrap().is_empty());
}

/// Three programs of one agent, each with an account of its own, on one database.
#[tokio::test]
async fn the_limits_of_pairing_hold_for_all_processes_together() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.db");
    let clock = ManualClock::new();
    let mut houses = Vec::new();
    for account in ["1000", "2000", "3000"] {
        let store = galatea_store::Database::sqlite(&file, galatea_store::SqliteOptions::default())
            .await
            .unwrap();
        let plan = Plan::new(echo()).set("DM_POLICY", "pairing").clock(clock.shared());
        houses.push(plan.store(&store).on(Platform::new(account)).build().await);
    }
    let each = pairing::REPLIES / 3 + 10;
    let come = |nth: usize| {
        let house = &houses[nth];
        async move {
            for n in 0..each {
                let name = &*format!("{nth}{n:04}").leak();
                house.say(&dm(name), "hello").await;
            }
            house.quiet().await;
        }
    };
    tokio::join!(come(0), come(1), come(2));
    let codes: usize = (0..3)
        .flat_map(|nth| (0..each).map(move |n| (nth, format!("{nth}{n:04}"))))
        .map(|(nth, name)| houses[nth].platform.texts(&name).len())
        .sum();
    assert_eq!(u64::try_from(codes).unwrap(), pairing::REPLIES);
    let (store, agent) = (houses[0].store.as_ref(), houses[0].agent);
    let waiting = pairing::pending(store, agent, houses[0].clock.now()).await.unwrap();
    assert_eq!(waiting.len(), codes, "every code that was sent is good");
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
