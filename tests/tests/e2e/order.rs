//! Many rooms at once: every question is answered once and in order.

use crate::stage::Stage;

#[tokio::test]
async fn every_question_of_every_room_is_answered_once_and_in_order() {
    const ROOMS: usize = 20;
    const QUESTIONS: usize = 4;
    let stage = Stage::set().await;
    let people: Vec<_> = (0..ROOMS).map(|n| stage.telegram.user(&format!("P{n}"), "")).collect();
    let _galatea = stage.start().await;
    for question in 1..=QUESTIONS {
        for person in &people {
            person.says(&person.direct(), &format!("Q{question}")).send();
        }
    }
    for person in &people {
        let texts = stage.wait_text(&person.direct(), &format!("A{QUESTIONS}")).await;
        assert_eq!(texts.len(), QUESTIONS, "{texts:?}");
    }
}

#[tokio::test]
async fn updates_that_come_twice_are_answered_once() {
    let stage = Stage::set().await;
    let _galatea = stage.start().await;
    let direct = stage.ann.direct();
    stage.ann.says(&direct, "Q1").send();
    stage.wait_text(&direct, "A1").await;
    stage.telegram.wait_confirmed().await;
    stage.telegram.redeliver(10);
    stage.ann.says(&direct, "Q2").send();
    assert_eq!(stage.wait_text(&direct, "A2").await, ["A1", "A2"]);
}

#[tokio::test]
async fn update_ids_that_jump_back_lose_nothing() {
    let stage = Stage::set().await;
    let _galatea = stage.start().await;
    let direct = stage.ann.direct();
    stage.ann.says(&direct, "Q1").send();
    stage.wait_text(&direct, "A1").await;
    stage.telegram.wait_confirmed().await;
    stage.telegram.jump_update_id(1_000);
    stage.ann.says(&direct, "Q2").send();
    assert_eq!(stage.wait_text(&direct, "A2").await, ["A1", "A2"]);
}
