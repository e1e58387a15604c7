//! Owners are warned and exempt, and they block people.

use super::*;

#[tokio::test]
async fn from_80_percent_the_small_model_answers_and_owners_are_reported_once() {
    let (large, small) = (
        Priced::new("large", echo(), 500),
        Priced::at(
            Price { input: 1, cached: 1, output: 1, ..Price::default() },
            "small",
            echo(),
            0,
        ),
    );
    let mut plan = plan(&large)
        .set("BUDGET_AGENT", "0.05")
        .set("AGENT_OWNERS", "stage:owner")
        .set("LIMIT_PERSON", "none");
    plan.models =
        Models { small: Arc::clone(&small) as _, large: Arc::clone(&large) as _, ..plan.models };
    let house = plan.set("STRANGERS_SHARE", "100").set("BUDGET_STRANGER", "none").build().await;
    house.say(&dm("owner"), "hello").await;
    house.quiet().await;
    let mut last = None;
    for n in 0..8 {
        last = Some(house.say(&dm(["1", "2", "3", "4"][n % 4]), "hello").await);
        house.quiet().await;
    }
    // A call of the large model costs 0.6 cents, so seven calls exceed four cents, 80 percent of
    // the budget.
    assert_eq!((large.calls(), small.calls()), (7, 2));
    let explained = house.explain(last.unwrap()).await;
    assert!(
        explained
            .steps
            .iter()
            .any(|step| step.rule == "budget" && step.reason.contains("the small model answers")),
        "{explained:?}"
    );
    let shown = |platform: &Platform| {
        platform.texts("owner").iter().any(|text| text.contains("BUDGET_AGENT"))
    };
    house.platform.until("the owner's notice", |_| shown(&house.platform)).await;
    house.quiet().await;
    assert_eq!(
        house.platform.texts("owner").iter().filter(|text| text.contains("BUDGET_AGENT")).count(),
        1
    );
}

#[tokio::test]
async fn owners_are_exempt_and_counted() {
    let model = Priced::new("large", echo(), 10);
    let house = plan(&model)
        .set("LIMIT_PERSON", "1/day")
        .set("BUDGET_AGENT", "0")
        .set("AGENT_OWNERS", "stage:7")
        .build()
        .await;
    for n in 0..3 {
        house.say(&dm("7"), &format!("{n}")).await;
        house.quiet().await;
    }
    let other = house.say(&dm("8"), "hello").await;
    house.quiet().await;
    assert_eq!(model.calls(), 3);
    assert_eq!(refused(&house, other).await.1, "BUDGET_AGENT");
    assert_eq!(today(&house).await.answers, 3);
}

#[tokio::test]
async fn owners_block_in_a_chat_and_others_cannot() {
    let clock = ManualClock::new();
    let model = Priced::new("large", echo(), 10);
    let house = plan(&model).set("AGENT_OWNERS", "stage:owner").clock(clock.shared()).build().await;
    house.say(&group("g", "7"), "/block owner").await;
    house.quiet().await;
    assert_eq!(house.store.blocks(house.agent).await.unwrap(), []);
    house.say(&group("g", "owner"), "/block 7").await;
    house.quiet().await;
    clock.advance(Duration::from_secs(2));
    let id = house.say(&dm("7"), "hello").await;
    house.quiet().await;
    assert_eq!(refused(&house, id).await.0, "blocked");
    house.say(&group("g", "owner"), "/unblock 7").await;
    house.quiet().await;
    clock.advance(Duration::from_secs(2));
    let id = house.say(&dm("7"), "hello").await;
    house.quiet().await;
    assert_eq!(house.explain(id).await.state, InboxState::Done);
}

/// A platform whose private chats have ids of their own, as on Discord.
#[tokio::test]
async fn owners_are_warned_where_a_private_chat_has_an_id_of_its_own() {
    let model = Priced::new("large", echo(), 500);
    let house = plan(&model)
        .set("BUDGET_AGENT", "0.05")
        .set("AGENT_OWNERS", "stage:owner")
        .set("LIMIT_PERSON", "none")
        .set("STRANGERS_SHARE", "100")
        .set("BUDGET_STRANGER", "none")
        .build()
        .await;
    house.say(&group("g", "owner"), "I am here as well").await;
    house.say(&Spot { world: "chat", room: "chat", ..dm("owner") }, "hello").await;
    house.quiet().await;
    for n in 0..8 {
        house.say(&dm(["1", "2", "3", "4"][n % 4]), "hello").await;
        house.quiet().await;
    }
    let warned = |room: &str| {
        house.platform.texts(room).iter().filter(|text| text.contains("BUDGET_AGENT")).count()
    };
    house.platform.until("the owner to be warned", |_| warned("chat") == 1).await;
    assert_eq!((warned("g"), warned("owner")), (0, 0));
}
