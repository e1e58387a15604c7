//! Errors of a send: the person blocked the bot, the group moved, a flood wait.

use galatea_testkit::telegram::{Chat, Effect, Fault, Handle};

use super::{Scene, says};

/// Output of `explain` for a message.
async fn explained(scene: &Scene, chat: i64, message: i64) -> String {
    let output = scene.run(&["explain", &format!("{chat}:{message}")]).await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    output.stdout
}

/// Ann asks, and flood waits delay the answer until this has happened. Returns the message's id and
/// what happened.
async fn ask_until<T>(
    scene: &Scene,
    chat: &Chat,
    text: &str,
    happens: impl FnOnce() -> T,
) -> (i64, T) {
    let limited = Fault::new(Effect::RateLimited(1)).on("sendMessage");
    scene.stage.telegram.fault(limited.times(usize::MAX));
    let asked = scene.stage.ann.says(chat, text).send();
    scene.stage.telegram.wait_calls("sendMessage", 1).await;
    let happened = happens();
    scene.stage.telegram.end_faults();
    (asked, happened)
}

#[tokio::test]
async fn a_person_who_blocked_the_bot_is_reported_and_others_are_answered() {
    let scene = Scene::set().await;
    let running = scene.start().await;
    let ann = &scene.stage.ann;
    let (asked, ()) = ask_until(&scene, &ann.direct(), "Q1", || ann.blocks_bot()).await;
    running.wait_for_line("a part ended").await;
    let bob = scene.stage.telegram.user("Bob", "");
    bob.says(&bob.direct(), "Q2").send();
    assert_eq!(scene.stage.wait_text(&bob.direct(), "A2").await, ["A2"]);
    let why = explained(&scene, ann.id, asked).await;
    says(
        &why,
        &[
            "1 of 1 parts are not delivered",
            "dead",
            "blocked",
            "cause: sendMessage answered 403 Forbidden: bot was blocked by the user",
        ],
    );
    assert_eq!(
        scene
            .stage
            .telegram
            .calls_of("sendMessage")
            .iter()
            .filter(|c| c.chat() == Some(ann.id))
            .filter(|c| c.answer.as_ref().is_some_and(|answer| answer["error_code"] == 403))
            .count(),
        1,
        "a final refusal is not retried"
    );
    says(
        &scene.run(&["explain", "GAL-TG-403"]).await.stdout,
        &["The person blocked the bot", "Fix"],
    );
    // A person who unblocks the bot is answered again.
    ann.unblocks_bot();
    ann.says(&ann.direct(), "Q3").send();
    scene.stage.wait_text(&ann.direct(), "A3").await;
    scene.end(running).await;
}

#[tokio::test]
async fn a_flood_wait_is_waited_for_and_is_no_error() {
    let scene = Scene::set().await;
    let running = scene.start().await;
    let ann = &scene.stage.ann;
    let limited = Fault::new(Effect::RateLimited(3)).on("sendMessage");
    scene.stage.telegram.fault(limited.times(usize::MAX));
    let asked = ann.says(&ann.direct(), "Q1").send();
    running.wait_for_line("GAL-TG-429").await;
    let waiting = explained(&scene, ann.id, asked).await;
    says(
        &waiting,
        &["Telegram asked to wait", "cause: sendMessage answered 429 Too Many Requests"],
    );
    scene.stage.telegram.end_faults();
    // A send to the chat before its deadline would be a violation.
    assert_eq!(scene.stage.wait_text(&ann.direct(), "A1").await, ["A1"]);
    assert_eq!(scene.run(&["status"]).await.code, Some(0), "nothing is wrong");
    let said = scene.end(running).await.stderr;
    assert!(
        !said.contains("error[") && !said.contains("ERROR") && !said.contains("WARN"),
        "{said}"
    );
}

#[tokio::test]
async fn a_flood_wait_in_one_topic_holds_the_whole_chat() {
    let scene = Scene::set().await;
    let (telegram, ann) = (&scene.stage.telegram, &scene.stage.ann);
    let forum = telegram.forum("Forum", &[ann]);
    let topic = ann.opens_topic(&forum, "Cats");
    let running = scene.start().await;
    let mention = format!("@{}", telegram.bot_username());
    telegram.fault(Fault::new(Effect::RateLimited(3)).on("sendMessage"));
    ann.says(&forum, &format!("{mention} Q1 about cats")).in_topic(topic).send();
    running.wait_for_line("GAL-TG-429").await;
    // A send to any topic before the deadline would be a violation.
    ann.says(&forum, &format!("{mention} Q2 in General")).send();
    let bob = telegram.user("Bob", "");
    bob.says(&bob.direct(), "Q3").send();
    assert_eq!(scene.stage.wait_text(&bob.direct(), "A3").await, ["A3"]);
    let both = |_: &Handle| {
        let shown = scene.stage.texts(&forum);
        ["A1", "A2"].iter().all(|answer| shown.iter().any(|text| text == answer)).then_some(())
    };
    telegram.wait_for("both answers, in either order", both).await;
    scene.end(running).await;
}

#[tokio::test]
async fn a_flood_wait_of_polling_is_a_countdown() {
    let scene = Scene::set().await;
    scene.stage.telegram.fault(Fault::new(Effect::RateLimited(2)).on("getUpdates"));
    let running = scene.start().await;
    running.wait_for_line("note[GAL-TG-429]").await;
    running.wait_for_line("more:").await;
    let ann = &scene.stage.ann;
    ann.says(&ann.direct(), "Q1").send();
    assert_eq!(scene.stage.wait_text(&ann.direct(), "A1").await, ["A1"]);
    let said = scene.end(running).await.stderr;
    says(
        &said,
        &[
            "note[GAL-TG-429]: telegram: Telegram asked to wait",
            "cause: getUpdates answered 429",
            "fix: nothing has to be done",
            "Next try in 2 s.",
        ],
    );
    assert!(!said.contains("error["), "{said}");
}

#[tokio::test]
async fn a_group_that_moved_is_followed_without_a_word() {
    let scene = Scene::set().await;
    let ann = &scene.stage.ann;
    let group = scene.stage.telegram.group("Band", &[ann]);
    let running = scene.start().await;
    let mention = format!("@{}", scene.stage.telegram.bot_username());
    let question = format!("{mention} Q1");
    let (asked, new) = ask_until(&scene, &group, &question, || ann.migrates(&group)).await;
    assert_eq!(
        scene.stage.wait_text(&new, "A1").await,
        ["A1"],
        "the answer to the old group arrives in the new one"
    );
    says(&explained(&scene, group.id, asked).await, &["answered", "sent", &new.id.to_string()]);
    let said = scene.end(running).await.stderr;
    assert!(
        !said.contains("error[") && !said.contains("ERROR") && !said.contains("WARN"),
        "{said}"
    );
}
