//! `explain`: why a message was not answered.

use crate::stage::Stage;

#[tokio::test]
async fn explain_tells_why_a_group_message_was_not_answered() {
    let stage = Stage::set().await;
    stage.telegram.set_privacy(false);
    let group = stage.telegram.supergroup("Band", &[&stage.ann]);
    let _galatea = stage.start().await;
    let ignored = stage.ann.says(&group, "Q1 to everyone").send();
    stage.ann.says(&group, &format!("@{} Q2", stage.telegram.bot_username())).send();
    stage.wait_text(&group, "A2").await;
    let output =
        stage.program().args(["explain".to_owned(), format!("{}:{ignored}", group.id)]).run().await;
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    assert!(
        output.stdout.contains("GROUP_POLICY") || output.stdout.contains("mention"),
        "{}",
        output.stdout
    );
}

#[tokio::test]
async fn the_link_of_a_public_group_and_of_a_topic_is_understood() {
    let stage = Stage::set().await;
    stage.telegram.set_privacy(false);
    let forum = stage.telegram.forum("Band", &[&stage.ann]);
    forum.publish("the_band");
    let topic = stage.ann.opens_topic(&forum, "Cats");
    let _galatea = stage.start().await;
    let ignored = stage.ann.says(&forum, "Q1 to everyone").in_topic(topic).send();
    stage
        .ann
        .says(&forum, &format!("@{} Q2", stage.telegram.bot_username()))
        .in_topic(topic)
        .send();
    stage.wait_text(&forum, "A2").await;
    let internal = forum.id.to_string().trim_start_matches("-100").to_owned();
    for link in [
        format!("https://t.me/the_band/{topic}/{ignored}"),
        format!("t.me/The_Band/{topic}/{ignored}?single"),
        format!("https://t.me/c/{internal}/{topic}/{ignored}"),
    ] {
        let output = stage.program().args(["explain", link.as_str()]).run().await;
        assert_eq!(output.code, Some(0), "{link}: {}{}", output.stdout, output.stderr);
        assert!(
            output.stdout.starts_with("not answered")
                && output.stdout.contains("To change it: GROUP_POLICY="),
            "{}",
            output.stdout
        );
    }
    let elsewhere = stage
        .program()
        .args(["explain", &format!("https://t.me/another_band/{topic}/{ignored}")])
        .run()
        .await;
    assert_eq!(elsewhere.code, Some(1));
    assert!(elsewhere.stderr.contains("GAL-EXPLAIN-UNKNOWN"), "{}", elsewhere.stderr);
}

#[tokio::test]
async fn the_beginning_of_several_ids_lists_them() {
    let stage = Stage::set().await;
    let _galatea = stage.start().await;
    let direct = stage.ann.direct();
    for n in 1..=6 {
        stage.ann.says(&direct, &format!("Q{n}")).send();
        stage.wait_text(&direct, &format!("A{n}")).await;
    }
    // Ids of answers begin with the time: their first four digits stay the same for seven weeks.
    let millis =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    let beginning = format!("{millis:012x}")[..4].to_owned();
    let several = stage.program().args(["explain", beginning.as_str()]).run().await;
    assert_eq!(several.code, Some(1), "{}{}", several.stdout, several.stderr);
    crate::errors::says(
        &several.stderr,
        &["GAL-EXPLAIN-SEVERAL", "several messages begin like this", "give more of the id"],
    );
    let is_of_id = |c: char| c.is_ascii_hexdigit() || c == '-';
    let ids: Vec<&str> =
        several.stderr.split(|c| !is_of_id(c)).filter(|word| word.len() == 36).collect();
    assert!(
        ids.len() == 5
            && ids.iter().all(|id| id.starts_with(&beginning))
            && several.stderr.contains('…'),
        "five of six: {}",
        several.stderr
    );
    let more = stage.program().args(["explain", ids[0]]).run().await;
    assert!(
        !more.stderr.contains("GAL-EXPLAIN-SEVERAL"),
        "a whole id means one message: {}",
        more.stderr
    );
}

/// Asked about the agent's own words, by any id that people have of them.
#[tokio::test]
async fn an_answer_leads_to_the_message_that_it_answers() {
    let stage = Stage::set().await;
    let group = stage.telegram.supergroup("Band", &[&stage.ann]);
    let _galatea = stage.start().await;
    let asked = stage.ann.says(&group, &format!("@{} Q1", stage.telegram.bot_username())).send();
    stage.wait_text(&group, "A1").await;
    let answer = stage.telegram.shown(group.id).pop().unwrap().id;
    let internal = group.id.to_string().trim_start_matches("-100").to_owned();
    let explain = async |what: &str| {
        let output = stage.program().args(["explain", what]).run().await;
        assert_eq!(output.code, Some(0), "{what}: {}{}", output.stdout, output.stderr);
        output.stdout
    };
    for what in [format!("{}:{answer}", group.id), format!("https://t.me/c/{internal}/{answer}")] {
        let story = explain(&what).await;
        assert!(
            story.starts_with("the agent's own words, in answer to this message: answered")
                && story.contains(&format!("{}:{asked}", group.id))
                && story.contains("1 attempt"),
            "{what}: {story}"
        );
    }
    let unknown = stage.program().args(["explain", &format!("{}:999", group.id)]).run().await;
    assert!(unknown.stderr.contains("GAL-EXPLAIN-UNKNOWN"), "{}", unknown.stderr);
}
