//! From any room to any other: an owner on Telegram has it speak on Discord and on X; what cannot be reached is told.

use galatea_core::model::Finish;
use galatea_testkit::models::{Answer, OpenAiServer, Recorded, Reply};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

use super::Everywhere;

/// The model calls SEND_MESSAGE with these arguments, and then puts the results into words.
fn speaks_elsewhere(model: &OpenAiServer, messages: &[Value]) -> Arc<Mutex<Vec<Recorded>>> {
    let tools = messages.iter().map(|m| ("SEND_MESSAGE".to_owned(), m.to_string())).collect();
    let mut call = Some(Answer { tools, finish: Finish::Tools, ..Answer::default() });
    let later = Arc::new(Mutex::new(Vec::new()));
    let seen = later.clone();
    model.answer_with(move |request| match call.take() {
        Some(call) => Reply::Answer(call),
        None => {
            seen.lock().unwrap().push(request.clone());
            Reply::text("That is what I did.")
        }
    });
    later
}

/// What the model was told of its calls.
fn results(later: &Mutex<Vec<Recorded>>) -> String {
    later.lock().unwrap().iter().map(|r| r.body["messages"].to_string()).collect()
}

#[tokio::test]
async fn an_owner_posts_from_telegram_to_discord_and_x() {
    let all = Everywhere::set().await;
    let owned = all.program().env("AGENT_OWNERS", format!("telegram:{}", all.stage.ann.id));
    let mut galatea = all.run(owned.clone()).await;
    let (general, direct) = (all.guild.general(), all.stage.ann.direct());
    all.dora.says(&general, &format!("{} Q1", all.discord.mention())).send();
    all.wait_discord(&general, "A1").await;
    let asked = all.x_answers(2).await;

    let on_discord = json!({ "target": "#general", "source": "discord", "text": "Ann on Telegram says **hello**" });
    let on_x = json!({ "target": asked.to_string(), "text": "Ann on Telegram says hello" });
    let later = speaks_elsewhere(&all.stage.model, &[on_discord.clone(), on_x]);
    let wish = all.stage.ann.says(&direct, "Tell the garden and X that I say hello").send();
    tokio::join!(
        all.wait_discord(&general, "Ann on Telegram says **hello**"),
        all.wait_x(asked, "Ann on Telegram says hello"),
        all.stage.wait_text(&direct, "That is what I did."),
    );
    assert_eq!(results(&later).matches("SEND_MESSAGE worked").count(), 2, "{}", results(&later));
    assert_eq!((all.discord.shown(general.id).len(), all.x.shown().len()), (2, 2), "once each");
    // Somebody else may not.
    let bob = all.stage.telegram.user("Bob", "bob_b");
    let later = speaks_elsewhere(&all.stage.model, std::slice::from_ref(&on_discord));
    bob.says(&bob.direct(), "Tell the garden that I say hello").send();
    all.stage.wait_text(&bob.direct(), "That is what I did.").await;
    assert!(results(&later).contains("SEND_MESSAGE failed"), "{}", results(&later));

    galatea.terminate();
    assert_eq!(galatea.finish().await.code, Some(0));
    let told = all.explain(&format!("{}:{wish}", direct.id)).await;
    assert_eq!(told.matches("  sent  ").count(), 3, "three parts: {told}");

    // What is not connected is told to the model and kept in the verdict.
    let _again = {
        let running = owned.without_env("DISCORD_API_TOKEN").arg("start").spawn();
        running.wait_for_line("ready in").await;
        running
    };
    // X finds nothing to say in an empty block; that costs nobody the answer here.
    let nothing = json!({ "target": asked.to_string(), "text": "```\n```" });
    let later = speaks_elsewhere(&all.stage.model, &[on_discord, nothing]);
    let wish = all.stage.ann.says(&direct, "Once more").send();
    all.stage.telegram.wait_shown(direct.id, 2).await;
    assert!(results(&later).contains("SEND_MESSAGE failed: nothing was said: discord is not connected"), "{}", results(&later));
    let told = all.explain(&format!("{}:{wish}", direct.id)).await;
    assert!(told.contains("failed") && told.contains("discord is not connected") && told.contains("nothing was said on x"), "{told}");
    assert_eq!((all.discord.shown(general.id).len(), all.x.shown().len()), (2, 2));
}
