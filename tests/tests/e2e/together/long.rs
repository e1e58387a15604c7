//! Long answers and code arrive whole and in order on every platform at once, within its limits.

use galatea_testkit::models::Reply;

use super::Everywhere;

#[tokio::test]
async fn long_answers_and_code_arrive_whole_everywhere_at_once() {
    let all = Everywhere::set().await;
    let _galatea = all.start().await;
    let words: Vec<String> = (0..1_200).map(|n| format!("word{n:04}")).collect();
    let lines: Vec<String> = (0..250).map(|n| format!("let line_{n} = {n}; // line")).collect();
    let (text, code) = (words.join(" "), lines.join("\n"));
    assert!(text.len() >= 9_800 && code.len() >= 6_000, "{} {}", text.len(), code.len());
    let long = format!("{text}\n\n```rust\n{code}\n```\n\nThe end.");
    all.stage.model.answer_with(move |_| Reply::text(long.clone()));

    let (chat, channel) = (all.stage.ann.direct(), all.dora.direct());
    all.stage.ann.says(&chat, "tell me everything").send();
    all.dora.says(&channel, "tell me everything").send();
    let asked = all.xenia.posts("@galatea_test tell me everything");
    let (telegram, discord, x) = tokio::join!(
        all.stage.telegram.wait_for("the end", |t| Some(t.shown(chat.id))
            .filter(|s| s.last().is_some_and(|m| m.text.ends_with("The end.")))),
        all.discord.wait_for("the end", |d| Some(d.shown(channel.id))
            .filter(|s| s.last().is_some_and(|m| m.text.ends_with("The end.")))),
        all.x.wait_for("the end", |x| Some(x.shown())
            .filter(|s| s.last().is_some_and(|p| p.text.ends_with("The end.")))),
    );

    let heard = |texts: &mut dyn Iterator<Item = &str>| -> Vec<String> {
        texts
            .flat_map(str::split_whitespace)
            .filter(|w| w.starts_with("word"))
            .map(str::to_owned)
            .collect()
    };
    // Telegram: at most 4,096 each; a code block that continues is a block of the same language
    // again.
    assert!(telegram.iter().all(|m| m.text.encode_utf16().count() <= 4_096));
    assert_eq!(heard(&mut telegram.iter().map(|m| m.text.as_str())), words);
    let blocks: Vec<_> = telegram
        .iter()
        .flat_map(|m| {
            m.entities.iter().filter(|e| e["type"] == "pre").map(|e| (m.text.as_str(), e))
        })
        .collect();
    assert!(blocks.len() > 1 && blocks.iter().all(|(_, e)| e["language"] == "rust"), "{blocks:?}");
    let within = blocks.iter().flat_map(|(text, e)| {
        // The text is ASCII, so that UTF-16 units equal bytes.
        let at = |name: &str| usize::try_from(e[name].as_u64().unwrap()).unwrap();
        text[at("offset")..at("offset") + at("length")].lines()
    });
    assert_eq!(within.filter(|l| !l.is_empty()).collect::<Vec<_>>(), lines);

    // Discord: at most 2,000 each, and every fence is closed in the message that opened it.
    assert!(
        discord
            .iter()
            .all(|m| m.text.chars().count() <= 2_000 && m.text.matches("```").count() % 2 == 0)
    );
    assert_eq!(heard(&mut discord.iter().map(|m| m.text.as_str())), words);
    let blocks: Vec<_> = discord.iter().flat_map(|m| &m.code).collect();
    assert!(
        blocks.len() > 1
            && discord.iter().map(|m| m.text.matches("```rust\n").count()).sum::<usize>()
                == blocks.len()
    );
    assert_eq!(
        blocks.iter().flat_map(|c| c.lines()).filter(|l| !l.is_empty()).collect::<Vec<_>>(),
        lines
    );

    // X: a thread in which each post replies to the one before; the server refuses posts heavier
    // than 280.
    assert_eq!(x[0].reply_to, Some(asked));
    assert!(x.windows(2).all(|pair| pair[1].reply_to == Some(pair[0].id)), "a thread");
    assert!(x.iter().all(|p| p.text.chars().count() <= 280));
    let posted: Vec<&str> = x.iter().flat_map(|p| p.text.split_whitespace()).collect();
    let expected = format!("{text} {code} The end.");
    assert_eq!(posted, expected.split_whitespace().collect::<Vec<_>>());
}
