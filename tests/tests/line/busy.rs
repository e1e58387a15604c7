//! Rooms with many messages at once.

use galatea_core::store::InboxState;
use galatea_testkit::models::ScriptedModel;
use std::sync::Arc;

use crate::{
    house::{House, Plan, dm, group},
    models::{Gated, asked, asked_texts, echo, prompt},
};

/// Sends twenty questions in one batch; returns their ids.
async fn twenty(house: &House, spot: &crate::house::Spot) -> Vec<galatea_core::MemoryId> {
    let batch: Vec<_> = (1..=20).map(|n| house.message(spot, &format!("question-{n}."))).collect();
    let ids = batch.iter().map(|m| house.id_of(m)).collect();
    house.receive(batch).await;
    ids
}

#[tokio::test]
async fn twenty_questions_in_a_direct_message_are_answered_together() {
    let model = Arc::new(ScriptedModel::saying("all of it"));
    let house = Plan::new(Arc::clone(&model) as _).set("COLLECT_LIMIT", "20").build().await;
    let ids = twenty(&house, &dm("7")).await;
    house.quiet().await;
    assert_eq!(house.platform.texts("7"), ["all of it"]);
    let requests = model.requests();
    assert_eq!(requests.len(), 1);
    let prompt = asked(&requests[0]);
    for n in 1..=20 {
        assert_eq!(
            prompt.matches(&format!("question-{n}.")).count(),
            1,
            "question {n} in {prompt}"
        );
    }
    assert!(self::prompt(&requests[0]).contains("address every one of them"));
    for (n, id) in ids.iter().enumerate() {
        let said = house.explain(*id).await;
        assert_eq!((said.state, said.deliveries.len()), (InboxState::Done, 1), "{said:?}");
        let merged = said
            .steps
            .iter()
            .any(|s| s.rule == "merged" && s.reason.contains(&ids[19].to_string()));
        assert_eq!(merged, n < 19, "question {n}: {:?}", said.steps);
    }
    assert_eq!(
        house.platform.shown()[0].reply_to.as_deref(),
        Some("7-20"),
        "several at once: the last is quoted"
    );
}

#[tokio::test]
async fn more_than_the_limit_are_answered_in_several_messages_and_none_is_lost() {
    let model = echo();
    let house = Plan::new(Arc::clone(&model) as _).build().await;
    let ids = twenty(&house, &dm("7")).await;
    house.quiet().await;
    assert_eq!(house.platform.texts("7"), ["re: question-12.", "re: question-20."]);
    // Messages kept for the second answer do not appear as history in the first request.
    assert!(!asked(&model.requests()[0]).contains("question-13."));
    for id in ids {
        assert_eq!(house.explain(id).await.state, InboxState::Done);
    }
}

#[tokio::test]
async fn twenty_questions_in_a_group_get_twenty_answers_in_order() {
    let model = echo();
    let house = Plan::new(Arc::clone(&model) as _).build().await;
    let ids = twenty(&house, &group("-100", "7").mentioning()).await;
    house.quiet().await;
    let expected: Vec<_> = (1..=20).map(|n| format!("re: question-{n}.")).collect();
    assert_eq!(house.platform.texts("-100"), expected);
    for (shown, n) in house.platform.shown().iter().zip(1..) {
        assert_eq!(shown.reply_to, Some(format!("-100-{n}")));
    }
    for (request, n) in model.requests().iter().zip(1..) {
        let all: String = request.messages.iter().map(|m| m.text() + "\n").collect();
        assert!(
            !all.contains(&format!("question-{}.", n + 1)),
            "the answer to {n} must not know what comes after"
        );
        assert_eq!(all.contains(&format!("question-{}.", n - 1)), n > 1);
    }
    for id in ids {
        assert!(house.explain(id).await.summary.starts_with("answered: it mentions"));
    }
}

#[tokio::test]
async fn one_room_does_not_wait_for_another() {
    let model = Gated::new(echo(), "slow");
    let house = Plan::new(Arc::clone(&model) as _).build().await;
    house.say(&dm("7"), "slow one").await;
    model.reached(1).await;
    house.say(&dm("8"), "quick one").await;
    assert_eq!(house.platform.until_shown("8", 1).await, ["re: quick one"]);
    assert!(house.platform.texts("7").is_empty());
    model.open(1);
    assert_eq!(house.platform.until_shown("7", 1).await, ["re: slow one"]);
}

#[tokio::test]
async fn answers_of_a_room_keep_the_order_of_its_questions() {
    let model = Gated::new(echo(), "slow");
    let house = Plan::new(Arc::clone(&model) as _).set("BUSY_POLICY", "each").build().await;
    house.say(&dm("7"), "slow first").await;
    model.reached(1).await;
    for n in 2..=5 {
        house.say(&dm("7"), &format!("number {n}")).await;
    }
    model.open(1);
    let texts = house.platform.until_shown("7", 5).await;
    assert_eq!(
        texts,
        ["re: slow first", "re: number 2", "re: number 3", "re: number 4", "re: number 5"]
    );
    for (n, request) in (2..).zip(&model.inner.requests()[1..]) {
        let shown = format!("{request:?}");
        assert!(
            shown.contains(&format!("number {n}")) && !shown.contains(&format!("number {}", n + 1)),
            "no answer sees what came later: {shown}"
        );
    }
}

#[tokio::test]
async fn interrupt_starts_again_with_both() {
    let model = Gated::new(echo(), "first");
    let house = Plan::new(Arc::clone(&model) as _).set("BUSY_POLICY", "interrupt").build().await;
    let first = house.say(&dm("7"), "first").await;
    model.reached(1).await;
    let second = house.say(&dm("7"), "second").await;
    model.reached(2).await;
    model.open(1);
    house.quiet().await;
    assert_eq!(house.platform.texts("7"), ["re: second"]);
    let requests = model.inner.requests();
    assert_eq!(requests.len(), 1, "the interrupted call never came to an answer");
    assert!(asked_texts(&requests[0]).contains("first\nsecond"), "{}", asked(&requests[0]));
    assert_eq!(house.explain(first).await.state, InboxState::Done);
    assert!(house.explain(second).await.steps.iter().any(|s| s.reason.contains("started again")));
}

#[tokio::test]
async fn chatter_does_not_interrupt() {
    let model = Gated::new(echo(), "first");
    let house = Plan::new(Arc::clone(&model) as _).set("BUSY_POLICY", "interrupt").build().await;
    house.say(&group("-100", "7").mentioning(), "first").await;
    model.reached(1).await;
    let chatter: Vec<_> =
        (0..5).map(|n| house.message(&group("-100", "8"), &format!("blah {n}"))).collect();
    house.receive(chatter).await;
    model.open(1);
    house.quiet().await;
    assert_eq!(house.platform.texts("-100"), ["re: first"]);
    assert_eq!(model.inner.requests().len(), 1);
}

#[tokio::test]
async fn drop_skips_what_comes_meanwhile_and_says_so() {
    let model = Gated::new(echo(), "first");
    let house = Plan::new(Arc::clone(&model) as _).set("BUSY_POLICY", "drop").build().await;
    house.say(&dm("7"), "first").await;
    model.reached(1).await;
    let late = house.say(&dm("7"), "second").await;
    model.open(1);
    house.quiet().await;
    assert_eq!(house.platform.texts("7"), ["re: first"]);
    let said = house.explain(late).await;
    assert_eq!(
        (said.state, said.change.unwrap().setting.as_str()),
        (InboxState::Skipped, "BUSY_POLICY")
    );
    house.say(&dm("7"), "third").await;
    assert_eq!(house.platform.until_shown("7", 2).await[1], "re: third");
}

#[tokio::test]
async fn drop_skips_what_does_not_fit_into_memory_too() {
    const MANY: usize = 600;
    let model = Gated::new(echo(), "number-0.");
    let house = Plan::new(Arc::clone(&model) as _).set("BUSY_POLICY", "drop").build().await;
    house.say(&dm("7"), "number-0.").await;
    model.reached(1).await;
    let mut late = Vec::new();
    for chunk in (1..MANY).collect::<Vec<_>>().chunks(100) {
        let events: Vec<_> =
            chunk.iter().map(|n| house.message(&dm("7"), &format!("number-{n}."))).collect();
        late.extend(events.iter().map(|event| house.id_of(event)));
        house.receive(events).await;
    }
    model.open(1);
    house.quiet().await;
    assert_eq!(house.platform.texts("7"), ["re: number-0."]);
    for id in [late[0], late[300], late[MANY - 2]] {
        let said = house.explain(id).await;
        assert_eq!(
            (said.state, said.change.unwrap().setting.as_str()),
            (InboxState::Skipped, "BUSY_POLICY")
        );
    }
    house.say(&dm("7"), "afterwards").await;
    assert_eq!(house.platform.until_shown("7", 2).await[1], "re: afterwards");
}

#[tokio::test]
async fn a_room_with_more_than_memory_holds_loses_nothing_and_keeps_order() {
    const MANY: usize = 600;
    let model = Gated::new(echo(), "number-0.");
    let house = Plan::new(Arc::clone(&model) as _).set("BUSY_POLICY", "each").build().await;
    house.say(&dm("7"), "number-0.").await;
    model.reached(1).await;
    for chunk in (1..MANY).collect::<Vec<_>>().chunks(100) {
        house
            .receive(
                chunk.iter().map(|n| house.message(&dm("7"), &format!("number-{n}."))).collect(),
            )
            .await;
    }
    model.open(1);
    house.quiet().await;
    let expected: Vec<_> = (0..MANY).map(|n| format!("re: number-{n}.")).collect();
    assert_eq!(house.platform.texts("7"), expected);
}

#[tokio::test]
async fn a_deleted_question_does_not_take_the_others_with_it() {
    let model = Gated::new(echo(), "question");
    let house = Plan::new(Arc::clone(&model) as _).build().await;
    let batch: Vec<_> =
        (1..=3).map(|n| house.message(&dm("7"), &format!("question {n}"))).collect();
    let ids: Vec<_> = batch.iter().map(|m| house.id_of(m)).collect();
    house.receive(batch).await;
    model.reached(1).await;
    let deleted = galatea_core::Incoming {
        connection: dm("7").connection(),
        event: galatea_core::IncomingEvent::Deleted {
            ids: vec![galatea_core::RemoteId::new("7-2")],
        },
        at: house.clock.now(),
    };
    house.receive(vec![deleted]).await;
    model.open(2);
    house.quiet().await;
    assert_eq!(house.platform.texts("7").len(), 1);
    assert_eq!(house.explain(ids[1]).await.state, InboxState::Skipped);
    for n in [0, 2] {
        assert_eq!(house.explain(ids[n]).await.state, InboxState::Done);
    }
    let last = model.inner.requests().pop().unwrap();
    assert!(asked_texts(&last).contains("question 1\nquestion 3"), "{}", asked(&last));
}
