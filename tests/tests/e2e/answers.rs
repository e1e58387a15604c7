//! Answers as a person on Telegram sees them.

use crate::stage::Stage;

#[tokio::test]
async fn a_direct_message_is_answered() {
    let stage = Stage::set().await;
    let _galatea = stage.start().await;
    let direct = stage.ann.direct();
    stage.ann.says(&direct, "Q1: are you there?").send();
    assert_eq!(stage.wait_text(&direct, "A1").await, ["A1"]);
}

#[tokio::test]
async fn a_slow_answer_is_seen_coming() {
    let stage = Stage::set().await;
    stage.model_hangs();
    let _galatea = stage.start().await;
    let direct = stage.ann.direct();
    stage.ann.says(&direct, "Q1: are you there?").send();
    stage
        .telegram
        .wait_for("typing", |t| {
            t.actions()
                .iter()
                .find(|(chat, _, action)| *chat == direct.id && action == "typing")
                .map(drop)
        })
        .await;
}

#[tokio::test]
async fn in_a_group_only_what_is_addressed_is_answered() {
    let stage = Stage::set().await;
    stage.telegram.set_privacy(false);
    let group = stage.telegram.supergroup("Band", &[&stage.ann]);
    let _galatea = stage.start().await;
    stage.ann.says(&group, "Q1 to everyone").send();
    let asked =
        stage.ann.says(&group, &format!("@{} Q2 to you", stage.telegram.bot_username())).send();
    assert_eq!(
        stage.wait_text(&group, "A2").await,
        ["A2"],
        "turns of one room run in order, so an answer to Q1 would be there"
    );
    let shown = stage.telegram.shown(group.id);
    assert!(
        shown[0].reply_to.is_none_or(|id| id == asked),
        "if it replies, it replies to the question"
    );
    stage.ann.says(&group, "Q3 as a reply").reply_to(shown[0].id).send();
    assert_eq!(stage.wait_text(&group, "A3").await, ["A2", "A3"]);
}

#[tokio::test]
async fn an_edit_that_mentions_the_bot_is_answered_once() {
    let stage = Stage::set().await;
    stage.telegram.set_privacy(false);
    let group = stage.telegram.supergroup("Band", &[&stage.ann]);
    let _galatea = stage.start().await;
    let mention = format!("@{}", stage.telegram.bot_username());
    let forgot = stage.ann.says(&group, "Q1 to everyone").send();
    stage.ann.says(&group, &format!("{mention} Q2 to you")).send();
    stage.wait_text(&group, "A2").await;
    stage.ann.edits(&group, forgot, &format!("{mention} Q3 to you, I forgot"));
    assert_eq!(stage.wait_text(&group, "A3").await, ["A2", "A3"]);
    assert_eq!(
        stage.telegram.shown(group.id)[1].reply_to,
        Some(forgot),
        "it answers what was edited"
    );
    stage.ann.edits(&group, forgot, &format!("{mention} Q4 to you, once more"));
    stage.ann.says(&group, &format!("{mention} Q5 at last")).send();
    assert_eq!(
        stage.wait_text(&group, "A5").await,
        ["A2", "A3", "A5"],
        "turns of one room run in order, so an answer to Q4 would be there"
    );
}

#[tokio::test]
async fn a_topic_is_answered_in_the_topic() {
    let stage = Stage::set().await;
    let forum = stage.telegram.forum("Forum", &[&stage.ann]);
    let topic = stage.ann.opens_topic(&forum, "Cats");
    let _galatea = stage.start().await;
    let mention = format!("@{}", stage.telegram.bot_username());
    stage.ann.says(&forum, &format!("{mention} Q1 about cats")).in_topic(topic).send();
    stage.wait_text(&forum, "A1").await;
    assert_eq!(stage.telegram.shown(forum.id)[0].thread, Some(topic));
    stage.ann.says(&forum, &format!("{mention} Q2 in General")).send();
    stage.wait_text(&forum, "A2").await;
    assert_eq!(stage.telegram.shown(forum.id)[1].thread, None);
}

#[tokio::test]
async fn a_long_answer_arrives_whole() {
    let stage = Stage::set().await;
    let _galatea = stage.start().await;
    let words: Vec<String> = (0..1_500).map(|n| format!("word{n}")).collect();
    let long = words.join(" ");
    stage.model.answer_with(move |_| galatea_testkit::models::Reply::text(long.clone()));
    let direct = stage.ann.direct();
    stage.ann.says(&direct, "tell me everything").send();
    let all = stage
        .telegram
        .wait_for("the last word", |_| {
            Some(stage.texts(&direct)).filter(|t| t.last().is_some_and(|t| t.ends_with("word1499")))
        })
        .await;
    assert!(all.len() > 1);
    assert_eq!(all.join(" ").split_whitespace().collect::<Vec<_>>(), words);
}
