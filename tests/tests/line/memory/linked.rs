//! `/link`: one person on two platforms. What is private to them follows them to their other direct
//! chat, nowhere else, and only while both sides want it.

use galatea_core::{
    Source, TaskId, TurnId,
    export::Record,
    store::{RequestedChange, TurnRecord},
};
use galatea_store::Database;
use std::{sync::Arc, time::Duration};

use super::stage::{CLUB, Stage, club, private};
use crate::{
    house::{Spot, dm, group},
    platform::Platform,
};

const SECRET: &str = "heliotrope";

fn there() -> Spot {
    dm("abroad-anna")
}

fn platform() -> Arc<Platform> {
    Platform::of(Source::new("abroad"), "2000", |_| {})
}

/// Anna has told a secret in her direct chat here.
async fn stage() -> Stage {
    let stage = Stage::of(None, Some(platform()), None).await;
    stage.say(&private(0), "My secret word is heliotrope").await;
    stage.until_learnt(SECRET).await;
    stage
}

/// The code that `/link` shows.
async fn code(stage: &Stage, at: &Spot) -> String {
    let said = stage.answer(at, "/link").await;
    let (_, rest) = said.split_once("Your code is ").unwrap_or_else(|| panic!("{said}"));
    rest.split_once('.').unwrap().0.to_owned()
}

/// Sends a code abroad and agrees; then it is asked here.
async fn send(stage: &Stage, code: &str) -> String {
    let before = stage.house.platform.texts("5001").len();
    let said = stage.answer(&there(), &format!("/link {code}")).await;
    assert!(said.starts_with("This is a code of Anna (stage). Are you the same"), "{said}");
    assert!(said.contains("Anna (stage) would then see what you told me privately"), "{said}");
    let said = stage.answer(&there(), "/link yes").await;
    assert!(said.starts_with("I have asked Anna (stage) to confirm"), "{said}");
    stage.house.platform.until_shown("5001", before + 1).await[before].clone()
}

async fn link(stage: &Stage) {
    let code = code(stage, &private(0)).await;
    let question = send(stage, &code).await;
    assert!(question.starts_with("userabroad-anna (abroad) sent your code"), "{question}");
    assert!(question.contains("userabroad-anna (abroad) would then see"), "{question}");
    let done = stage.answer(&private(0), "/link yes").await;
    assert!(done.contains("userabroad-anna (abroad) are one person to me"), "{done}");
}

async fn knows(stage: &Stage, at: &Spot) -> bool {
    stage.ask(at, "What is my secret word?").await.contains(SECRET)
}

#[tokio::test]
async fn private_facts_follow_a_linked_person_and_no_other() {
    let stage = stage().await;
    assert!(knows(&stage, &private(0)).await);
    assert!(!knows(&stage, &there()).await, "another person, as long as they did not say more");
    let code = code(&stage, &private(0)).await;
    send(&stage, &code).await;
    assert!(!knows(&stage, &there()).await, "not before the other side has confirmed");
    stage.answer(&private(0), "/link yes").await;
    let abroad = stage.abroad.as_ref().unwrap();
    abroad
        .until("the confirmation", |p| {
            p.texts("abroad-anna").last().unwrap().starts_with("Anna (stage) has confirmed")
        })
        .await;

    let prompt = stage.ask(&there(), "What is my secret word?").await;
    let (_, known) = prompt.split_once("# What is known about userabroad-anna").unwrap();
    assert!(known.contains(SECRET), "under the name that speaks: {prompt}");
    let listed = stage.answer(&there(), "/memory").await;
    assert!(listed.contains("1. Anna: the secret word is heliotrope"), "{listed}");
    // The way back.
    stage.say(&there(), "My second word is marzipan").await;
    stage.until_learnt("marzipan").await;
    assert!(stage.ask(&private(0), "What is my second word?").await.contains("marzipan"));
    // No room of several people, no other person.
    let crowd = group("abroad-crowd", "abroad-anna").mentioning();
    assert!(!knows(&stage, &crowd).await);
    assert!(!knows(&stage, &club(0).mentioning()).await);
    assert!(!knows(&stage, &private(1)).await, "another Anna");
    assert!(!knows(&stage, &dm("abroad-bob")).await);
    assert!(!stage.answer(&crowd, "/memory").await.contains(SECRET));

    // Either side ends it, at once and for both.
    let ended = stage.answer(&there(), "/unlink").await;
    assert!(ended.contains("no longer Anna (stage)"), "{ended}");
    assert!(!knows(&stage, &there()).await);
    assert!(!stage.answer(&there(), "/memory").await.contains(SECRET));
    assert!(knows(&stage, &private(0)).await, "what was told here stays here");
    assert!(!stage.ask(&private(0), "What is my second word?").await.contains("marzipan"));
}

#[tokio::test]
async fn facts_of_a_world_stay_in_its_rooms() {
    let stage = stage().await;
    stage.say(&club(0).mentioning(), "I live in Ghent").await;
    stage.until_learnt("lives in Ghent").await;
    link(&stage).await;
    for at in [private(0), there(), group("abroad-crowd", "abroad-anna").mentioning()] {
        let prompt = stage.ask(&at, "Where do I live?").await;
        assert!(!prompt.contains("lives in Ghent"), "{}: {prompt}", at.room);
    }
    assert!(stage.ask(&club(0).mentioning(), "Where do I live?").await.contains("lives in Ghent"));
    // In private `/memory` lists what is known of the person in Rooms they take part in.
    for at in [private(0), there()] {
        assert!(stage.answer(&at, "/memory").await.contains("lives in Ghent"));
    }
    assert_eq!(CLUB, club(0).room);
}

#[tokio::test]
async fn a_code_is_used_once_and_ends() {
    let stage = stage().await;
    let own = code(&stage, &private(0)).await;
    assert!(stage.answer(&private(0), &format!("/link {own}")).await.contains("your own code"));
    let newer = code(&stage, &private(0)).await;
    for bad in [own.as_str(), "ABCDEFGH"] {
        let said = stage.answer(&there(), &format!("/link {bad}")).await;
        assert!(said.starts_with("That code is not valid"), "only the newest is good: {said}");
    }
    // In any letters, by one person once.
    send(&stage, &newer.to_lowercase()).await;
    let again = stage.answer(&dm("abroad-bob"), &format!("/link {newer}")).await;
    assert!(again.starts_with("That code is not valid"), "{again}");
    // Only the person who is asked can answer, and only in that room.
    for (at, answer) in [(there(), "/link yes"), (private(1), "/link yes")] {
        assert!(stage.answer(&at, answer).await.starts_with("I have not asked you"));
    }
    assert!(stage.answer(&private(0), "/link no").await.starts_with("Then nothing has changed"));
    assert!(stage.answer(&private(0), "/link yes").await.starts_with("I have not asked you"));
    assert!(!knows(&stage, &there()).await);
    // Too late: the code, and the answer.
    let late = code(&stage, &private(0)).await;
    stage.clock.advance(Duration::from_secs(600));
    let said = stage.answer(&there(), &format!("/link {late}")).await;
    assert!(said.starts_with("That code is not valid"), "{said}");
    let code = code(&stage, &private(0)).await;
    send(&stage, &code).await;
    stage.clock.advance(Duration::from_secs(600));
    assert!(stage.answer(&private(0), "/link yes").await.starts_with("That was too long ago"));
    assert!(!knows(&stage, &there()).await);
}

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
async fn groups_do_not_read_which_accounts_were_linked() {
    let stage = stage().await;
    let crowd = group("abroad-crowd", "abroad-anna").mentioning();
    for (command, begin) in [("/unlink", "Done: here you are"), ("/privacy forget me", "Done. I")] {
        link(&stage).await;
        let said = stage.answer(&crowd, command).await;
        assert!(said.starts_with(begin) && !said.contains("Anna"), "{said}");
        assert!(!knows(&stage, &there()).await, "{command}");
    }
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

#[tokio::test]
async fn a_person_who_guesses_is_stopped() {
    let stage = stage().await;
    let good = code(&stage, &private(0)).await;
    for n in 0..5 {
        let help = stage.answer(&there(), "/link help").await;
        assert!(help.starts_with("Send /link to get a code"), "no try: {help}");
        let said = stage.answer(&there(), &format!("/link WRONG{n}22")).await;
        assert!(said.starts_with("That code is not valid"), "{said}");
    }
    let said = stage.answer(&there(), &format!("/link {good}")).await;
    assert!(said.starts_with("Too many of your codes were wrong"), "{said}");
    // Others are not stopped, and the person only for a while.
    stage.answer(&dm("abroad-bob"), "/link WRONG222").await;
    stage.clock.advance(Duration::from_secs(600));
    let good = code(&stage, &private(0)).await;
    send(&stage, &good).await;
}

#[tokio::test]
async fn codes_are_neither_shown_nor_taken_in_groups_and_not_stored_as_they_are() {
    let stage = stage().await;
    let crowd = group("abroad-crowd", "abroad-anna").mentioning();
    let bare = stage.answer(&crowd, "/link").await;
    assert!(bare.contains("in a direct chat with me only") && !bare.contains("shown"), "{bare}");
    let code = code(&stage, &private(0)).await;
    let sent = stage.answer(&crowd, &format!("/link {code}")).await;
    assert!(sent.contains("in a direct chat with me only"), "{sent}");
    assert!(sent.contains("should not be used any more"), "{sent}");
    let tasks = stage.house.store.tasks(stage.house.agent, &[]).await.unwrap();
    assert_eq!(tasks.len(), 1, "one code is open");
    assert!(!serde_json::to_string(&tasks).unwrap().contains(&code));
}

#[tokio::test]
async fn forgetting_one_side_ends_the_link_and_names_the_other() {
    let stage = stage().await;
    link(&stage).await;
    let said = stage.answer(&there(), "/privacy forget me").await;
    assert!(said.contains("You were linked with Anna (stage); that has ended."), "{said}");
    assert!(!knows(&stage, &there()).await);
    assert!(knows(&stage, &private(0)).await, "the other side is forgotten there");
    let here = stage.answer(&private(0), "/privacy forget me").await;
    assert!(here.starts_with("Done.") && !here.contains("linked"), "{here}");
    assert!(!knows(&stage, &private(0)).await);
}

#[tokio::test]
async fn a_link_outlives_the_program() {
    let store = Database::in_memory().await.unwrap();
    let stage = Stage::of(None, Some(platform()), Some(&store)).await;
    stage.say(&private(0), "My secret word is heliotrope").await;
    stage.until_learnt(SECRET).await;
    let first = code(&stage, &private(0)).await;
    assert!(stage.house.orchestrator.stop(Duration::from_secs(10)).await);
    drop(stage);

    // The code is good in the next run, in other direct chats of the same people.
    let again = |person: &'static str, room: &'static str| Spot { room, ..dm(person) };
    let here = again("5001", "5001-second-run");
    let stage = Stage::of(None, Some(platform()), Some(&store)).await;
    let abroad = again("abroad-anna", "abroad-2");
    let said = stage.answer(&abroad, &format!("/link {first}")).await;
    assert!(said.starts_with("This is a code of"), "{said}");
    let said = stage.answer(&abroad, "/link yes").await;
    assert!(said.starts_with("I have asked"), "{said}");
    stage.house.platform.until_shown("5001", 1).await;
    let elsewhere = stage.answer(&here, "/link yes").await;
    assert!(elsewhere.starts_with("I have not asked you"), "not in this room: {elsewhere}");
    let home = Spot { room: "5001", ..dm("5001") };
    for _ in 0..8 {
        // Numbers of messages begin again with each run; those of the first are duplicates.
        stage.say(&home, "/link yes").await;
    }
    assert!(stage.house.orchestrator.stop(Duration::from_secs(10)).await);
    drop(stage);

    let stage = Stage::of(None, Some(platform()), Some(&store)).await;
    assert!(knows(&stage, &again("abroad-anna", "abroad-3")).await);
    assert!(!knows(&stage, &again("abroad-bob", "abroad-4")).await);
}

#[tokio::test]
async fn an_export_says_which_accounts_are_linked_and_since_when() {
    let stage = stage().await;
    link(&stage).await;
    let agent = stage.house.agent;
    let (here, abroad) = (stage.house.entity(&private(0)), stage.house.entity(&there()));
    let [stored] = stage.house.store.links_of(agent, here).await.unwrap().try_into().unwrap();
    assert_eq!(stored.linked_id, abroad);
    let said = stage.answer(&private(0), "/privacy export").await;
    let records: Vec<Record> =
        said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let links: Vec<_> = records
        .iter()
        .filter_map(|record| match record {
            Record::Link(link) => Some(*link),
            _ => None,
        })
        .collect();
    assert_eq!(links, [stored]);
    assert!(stored.linked_at <= stage.house.clock.now() && stored.linked_at.0 > 0);
}
