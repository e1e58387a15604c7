//! Questions of `/link`: both sides agree, each to just what they were asked.

use galatea_core::{
    TaskId, TurnId,
    store::{RequestedChange, TurnRecord},
};
use std::sync::Arc;

use super::{code, knows, link, send, stage, there};
use crate::{
    house::dm,
    memory::stage::{Stage, private},
};

#[tokio::test]
async fn who_sends_the_code_of_a_stranger_is_asked_first() {
    let stage = stage().await;
    // The stranger has told them to send it, and would confirm at once.
    let asks = async |answer: &str| {
        let code = code(&stage, &private(0)).await;
        let before = stage.house.platform.texts("5001").len();
        let said = stage.answer(&there(), &format!("/link {code}")).await;
        assert!(said.contains("If another person gave you the code, do not agree"), "{said}");
        assert_eq!(stage.house.platform.texts("5001").len(), before, "the owner is not asked yet");
        let early = stage.answer(&private(0), "/link yes").await;
        assert!(early.starts_with("I have not asked you"), "{early}");
        stage.answer(&there(), answer).await
    };
    assert!(asks("/link no").await.starts_with("Then nothing has changed"));
    assert!(asks("/unlink").await.contains("I dropped open codes"));
    let late = stage.answer(&private(0), "/link yes").await;
    assert!(late.starts_with("I have not asked you"), "{late}");
    assert!(!knows(&stage, &there()).await);
    assert!(asks("/link yes").await.starts_with("I have asked Anna (stage) to confirm, too"));
    assert!(stage.answer(&private(0), "/link yes").await.starts_with("Done"));
    assert!(knows(&stage, &there()).await);
}

#[tokio::test]
async fn a_question_names_all_accounts_and_holds_for_just_these() {
    let stage = stage().await;
    link(&stage).await;
    let bob = dm("abroad-bob");
    let both = |said: &str| said.contains("Anna (stage)") && said.contains("userabroad-anna");
    let first = code(&stage, &private(0)).await;
    let said = stage.answer(&bob, &format!("/link {first}")).await;
    assert!(both(&said), "{said}");
    assert!(said.contains("userabroad-bob") && !said.contains(" you?"), "{said}");
    stage.answer(&bob, "/link yes").await;
    let asked = stage.house.platform.texts("5001").pop().unwrap();
    assert!(asked.contains("linked accounts: userabroad-anna"), "{asked}");
    stage.answer(&there(), "/unlink").await;
    let said = stage.answer(&private(0), "/link yes").await;
    assert!(said.contains("linked or unlinked an account meanwhile"), "{said}");
    assert!(!knows(&stage, &bob).await);
}

#[tokio::test]
async fn a_bare_yes_answers_one_question_only() {
    let stage = stage().await;
    let bob = dm("abroad-bob");
    let own = code(&stage, &private(0)).await;
    stage.answer(&there(), &format!("/link {own}")).await;
    let bobs = code(&stage, &bob).await;
    stage.answer(&private(0), &format!("/link {bobs}")).await;
    stage.answer(&there(), "/link yes").await;
    let said = stage.answer(&private(0), "/link yes").await;
    assert!(said.contains("more than one question"), "{said}");
    let said = stage.answer(&private(0), "/link yes").await;
    assert!(said.starts_with("I have not asked you"), "{said}");
    assert!(!knows(&stage, &there()).await && !knows(&stage, &bob).await);
}

#[tokio::test]
async fn the_one_who_sent_the_code_can_take_it_back() {
    let stage = stage().await;
    let code = code(&stage, &private(0)).await;
    send(&stage, &code).await;
    assert!(stage.answer(&there(), "/unlink").await.contains("I dropped open codes"));
    assert!(stage.answer(&private(0), "/link yes").await.starts_with("I have not asked you"));
}

/// The question that waits.
async fn question(stage: &Stage) -> TaskId {
    let tag = "IDENTITY_LINK_QUESTION".to_owned();
    stage.house.store.tasks(stage.house.agent, &[tag]).await.unwrap()[0].id
}

/// Lets another process commit this while a message with these words is being committed here.
fn meanwhile(stage: &Stage, words: &'static str, effects: Vec<RequestedChange>) {
    let (store, runtime) = (Arc::clone(&stage.house.store), tokio::runtime::Handle::current());
    let record = TurnRecord {
        turn: TurnId::fresh(),
        agent: stage.house.agent,
        room: stage.house.room(&there()),
        memories: Vec::new(),
        deliveries: Vec::new(),
        finished: Vec::new(),
        effects,
        usage: Vec::new(),
        told: Vec::new(),
        at: stage.house.clock.now(),
        fence: None,
    };
    let commit = move || runtime.block_on(store.finish_turn(record)).unwrap();
    stage.house.platform.meanwhile(words, move || tokio::task::block_in_place(commit));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_confirmation_that_was_taken_back_meanwhile_says_so() {
    let stage = stage().await;
    let code = code(&stage, &private(0)).await;
    send(&stage, &code).await;
    let drop = RequestedChange::DeleteTask { task: question(&stage).await };
    meanwhile(&stage, "are one person to me", vec![drop]);
    let said = stage.answer(&private(0), "/link yes").await;
    assert!(said.starts_with("I have not asked you anything, or the question is open"), "{said}");
    let shown = stage.abroad.as_ref().unwrap().texts("abroad-anna").join("\n");
    assert!(!shown.contains("has confirmed"), "{shown}");
    assert!(!knows(&stage, &there()).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_confirmation_is_refused_if_an_account_was_linked_meanwhile() {
    let stage = stage().await;
    let code = code(&stage, &private(0)).await;
    send(&stage, &code).await;
    let bob = stage.house.entity(&dm("abroad-bob"));
    let mut other = stage.house.store.tasks(stage.house.agent, &[]).await.unwrap().remove(0);
    other.id = TaskId::fresh();
    other.tags.clear();
    stage.house.store.save_task(&other).await.unwrap();
    let entities = vec![stage.house.entity(&there()), bob];
    let link = RequestedChange::LinkPeople { question: other.id, entities };
    meanwhile(&stage, "are one person to me", vec![link]);
    let said = stage.answer(&private(0), "/link yes").await;
    assert!(said.contains("linked or unlinked an account meanwhile, so nothing has"), "{said}");
    assert!(!knows(&stage, &there()).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_link_ends_one_that_is_made_meanwhile() {
    let stage = stage().await;
    let code = code(&stage, &private(0)).await;
    send(&stage, &code).await;
    let entities = vec![stage.house.entity(&private(0)), stage.house.entity(&there())];
    let question = question(&stage).await;
    meanwhile(
        &stage,
        "You are not linked with anything",
        vec![RequestedChange::LinkPeople { question, entities }],
    );
    let said = stage.answer(&private(0), "/unlink").await;
    assert!(said.starts_with("You are not linked with anything"), "{said}");
    assert!(!knows(&stage, &there()).await, "what was said is true");
}

#[tokio::test]
async fn a_button_confirms_just_the_question_it_stands_under() {
    let stage = stage().await;
    let code = code(&stage, &private(0)).await;
    send(&stage, &code).await;
    let agent = stage.house.agent;
    let asked = stage.house.store.tasks(agent, &["IDENTITY_LINK_QUESTION".to_owned()]).await;
    let word = asked.unwrap()[0].metadata["word"].as_str().unwrap().to_owned();
    // A button says its words as a message; another person's press means nothing.
    stage.say(&there(), &format!("ok-{word}")).await;
    assert!(!knows(&stage, &there()).await);
    stage.say(&private(0), "ok-22222").await;
    assert!(!knows(&stage, &there()).await);
    let done = stage.answer(&private(0), &format!("ok-{word}")).await;
    assert!(done.contains("one person to me"), "{done}");
    assert!(knows(&stage, &there()).await);
}
