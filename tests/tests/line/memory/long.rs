//! Messages of ordinary length: a prompt shows some six of them, and what it no longer shows is found
//! and summarised as well.

use super::stage::{Stage, club};

/// Messages after the one that is asked for: the prompt has room for 600 tokens.
const TALK: usize = 12;

/// Some sixty tokens about nothing that the questions ask for.
fn chatter(n: usize) -> String {
    format!(
        "The rowers of group {n} carried both boats over the wet meadow, waited until the rain had stopped, and then spent \
         the rest of the afternoon with mending oars, sorting ropes, and telling each other what had gone wrong at the last regatta."
    )
}

#[tokio::test]
async fn long_messages_that_left_the_prompt_are_found_and_summarised() {
    let stage = Stage::build(None).await;
    let bob = club(2).mentioning();
    stage
        .say(
            &bob,
            "The spare padlock is on the green shelf behind the paint, next to the lamp oil.",
        )
        .await;
    for n in 0..TALK {
        stage.say(&bob, &chatter(n)).await;
    }
    let prompt = stage.ask(&club(0).mentioning(), "Where is the spare padlock?").await;
    let (_, found) = prompt
        .split_once("# Earlier messages that may matter now")
        .unwrap_or_else(|| panic!("{prompt}"));
    assert!(found.contains("Bob: The spare padlock is on the green shelf"), "{prompt}");
    assert!(prompt.matches("telling each other").count() < TALK, "the prompt shows all: {prompt}");

    stage.house.quiet().await;
    assert!(stage.learner.requests().iter().any(|asked| {
        let text: String = asked.messages.iter().map(|message| message.text()).collect();
        text.contains("# Summary so far") && text.contains("green shelf")
    }));
}
