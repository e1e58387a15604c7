//! Messages from one room to another: an owner on Telegram makes the agent write on Discord and on
//! X, and unreachable targets are reported.

use galatea_core::model::Finish;
use galatea_testkit::models::{Answer, OpenAiServer, Recorded, Reply};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

use super::Everywhere;

/// Makes the model call SEND_MESSAGE with these arguments, and then report the results. Returns the
/// later requests.
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

/// The results of its calls that the model was shown.
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
    let ann = "Ann (ann_b on telegram)";
    let wish = all.stage.ann.says(&direct, "Tell the garden and X that I say hello").send();
    tokio::join!(
        all.discord.wait_for("the message on Discord", |d| {
            d.shown(general.id)
                .last()
                .filter(|m| {
                    m.text == format!("**From {ann}:**\n\n> Ann on Telegram says **hello**")
                })
                .map(drop)
        }),
        all.x.wait_for("the post", |x| {
            let said = |p: &galatea_testkit::x::Shown| {
                p.text.starts_with(&format!("From {ann}:"))
                    && p.text.ends_with("> Ann on Telegram says hello")
            };
            x.shown().iter().any(|p| said(p) && p.reply_to == Some(asked)).then_some(())
        }),
        all.stage.wait_text(&direct, "That is what I did."),
    );
    let told = results(&later);
    for result in ["said it in general", "said it there"] {
        assert_eq!(told.matches(result).count(), 1, "{told}");
    }
    assert_eq!((all.discord.shown(general.id).len(), all.x.shown().len()), (2, 2), "once each");
    // Another person may not do this.
    let bob = all.stage.telegram.user("Bob", "bob_b");
    let later = speaks_elsewhere(&all.stage.model, std::slice::from_ref(&on_discord));
    bob.says(&bob.direct(), "Tell the garden that I say hello").send();
    all.stage.wait_text(&bob.direct(), "That is what I did.").await;
    assert!(results(&later).contains("there is no such place"), "{}", results(&later));

    galatea.terminate();
    assert_eq!(galatea.finish().await.code, Some(0));
    let reported = all.explain(&format!("{}:{wish}", direct.id)).await;
    assert_eq!(reported.matches("  sent  ").count(), 3, "three parts: {reported}");

    // The model learns that a target is not connected, and the verdict records it.
    let _again = {
        let running = owned.without_env("DISCORD_API_TOKEN").arg("start").spawn();
        running.wait_for_line("ready in").await;
        running
    };
    // An empty code block leaves nothing to post on X; the answer here is sent all the same.
    let nothing = json!({ "target": asked.to_string(), "text": "```\n```" });
    let later = speaks_elsewhere(&all.stage.model, &[on_discord, nothing]);
    let wish = all.stage.ann.says(&direct, "Once more").send();
    all.stage.telegram.wait_shown(direct.id, 2).await;
    assert!(
        results(&later).contains("nothing was said: discord is not connected"),
        "{}",
        results(&later)
    );
    let reported = all.explain(&format!("{}:{wish}", direct.id)).await;
    assert!(
        reported.contains("failed")
            && reported.contains("discord is not connected")
            && reported.contains("nothing was said on x"),
        "{reported}"
    );
    assert_eq!((all.discord.shown(general.id).len(), all.x.shown().len()), (2, 2));
}

/// An owner on each platform makes the agent write on the two others; each room's history contains
/// it afterwards.
#[tokio::test]
async fn from_every_platform_to_every_other_and_each_place_remembers() {
    let all = Everywhere::set().await;
    let owners =
        format!("telegram:{},discord:{},x:{}", all.stage.ann.id, all.dora.id, all.xenia.id);
    // Other people's words in these rooms would make each call need a confirmation, which other
    // tests cover.
    let _galatea = all
        .run(all.program().env("AGENT_OWNERS", owners).env("ACTION_CONFIRMATION", "never"))
        .await;
    let (on_telegram, on_discord) = (all.stage.ann.direct(), all.dora.direct());
    all.telegram_answers(1).await;
    all.discord_answers(2).await;
    let on_x = all.x_answers(3).await;
    let said = |target: String, source: &str, text: &str| json!({ "target": target, "source": source, "text": text });
    let places = [
        (on_telegram.id.to_string(), "telegram"),
        (on_discord.id.to_string(), "discord"),
        (on_x.to_string(), "x"),
    ];
    for (n, (_, from)) in places.iter().enumerate() {
        let others: Vec<Value> = places
            .iter()
            .filter(|(_, to)| to != from)
            .map(|(room, to)| said(room.clone(), to, &format!("plum{n} from {from}")))
            .collect();
        let later = speaks_elsewhere(&all.stage.model, &others);
        match *from {
            "telegram" => drop(all.stage.ann.says(&on_telegram, "Tell the others").send()),
            "discord" => drop(all.dora.says(&on_discord, "Tell the others").send()),
            _ => drop(all.xenia.posts("@galatea_test Tell the others")),
        }
        let text = format!("plum{n} from {from}");
        let telegram = async {
            all.stage
                .telegram
                .wait_for(&text, |t| {
                    t.shown(on_telegram.id).iter().any(|m| m.text.contains(&text)).then_some(())
                })
                .await
        };
        let discord = async {
            all.discord
                .wait_for(&text, |d| {
                    d.shown(on_discord.id).iter().any(|m| m.text.contains(&text)).then_some(())
                })
                .await
        };
        let x = async {
            all.x
                .wait_for(&text, |x| x.shown().iter().any(|p| p.text.contains(&text)).then_some(()))
                .await
        };
        match *from {
            "telegram" => drop(tokio::join!(discord, x)),
            "discord" => drop(tokio::join!(telegram, x)),
            _ => drop(tokio::join!(telegram, discord)),
        }
        let worked = |model: &OpenAiServer| model.requests().len();
        assert!(
            worked(&all.stage.model) > 0 && !results(&later).contains("SEND_MESSAGE failed"),
            "{}",
            results(&later)
        );
    }
    // Asked in the room where it wrote, the agent knows what it wrote.
    all.stage.model_wakes();
    let asked_after = [7, 8, 9];
    all.telegram_answers(asked_after[0]).await;
    all.discord_answers(asked_after[1]).await;
    let again = all.xenia.replies(on_x, &format!("@galatea_test Q{}", asked_after[2]));
    all.wait_x(again, "A9").await;
    for ((_, place), question) in places.iter().zip(asked_after) {
        let prompts: Vec<String> = all
            .stage
            .model
            .requests()
            .iter()
            .map(|r| r.body["messages"].to_string())
            .filter(|p| p.contains(&format!("Q{question}")))
            .collect();
        for (n, (_, from)) in places.iter().enumerate().filter(|(_, (_, from))| from != place) {
            let reported = format!("plum{n} from {from}");
            assert!(
                prompts.iter().any(|p| p.contains(&reported)),
                "on {place} it does not know that it said {reported:?} there"
            );
        }
    }
}
