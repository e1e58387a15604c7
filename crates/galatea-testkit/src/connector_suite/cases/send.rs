//! Sends text of every length, and with every other capability the connector declares.

use galatea_core::{Button, Content, Outgoing, Press};

use super::{applies_if, scene_with_spot};
use crate::connector_suite::{ConnectorHarness, Outcome, Said, Scene, Shown, Spot};

/// Receives one message from the spot's person, so that the agent may answer. Returns its id.
async fn talking<H: ConnectorHarness>(scene: &Scene<H>, spot: &Spot) -> galatea_core::RemoteId {
    let id = scene.platform.say(spot, Said::text("hello")).await;
    scene.gateway.wait_messages(1).await;
    id
}

fn shown_words(shown: &[Shown]) -> Vec<&str> {
    shown.iter().flat_map(|s| s.text.split_whitespace()).collect()
}

/// The send handler is registered before the first event, so that an answer can be sent at once.
pub async fn registers_its_handler_before_the_first_event<H: ConnectorHarness>() -> Outcome {
    let (scene, spot) = scene_with_spot!(H, Direct);
    scene.platform.say(&spot, Said::text("hello")).await;
    scene.gateway.wait_messages(1).await;
    assert_eq!(scene.gateway.handler_came_first(), Some(true));
    Outcome::Holds
}

/// Encoding the same content twice gives the same parts.
pub async fn encoding_is_pure<H: ConnectorHarness>() -> Outcome {
    let scene = Scene::<H>::start().await;
    let handler = scene.handler().await;
    let text =
        "**bold** _it_ `code` [link](https://example.org) 👩‍👩‍👧 <b>&amp;\n\n- one\n- two\n\n> quote\n"
            .repeat(120);
    let outgoing = Outgoing::Message { content: Content::text(text), reply_to: None };
    let (one, two) = (handler.encode(&outgoing), handler.encode(&outgoing));
    assert_eq!(
        one.unwrap_or_else(|e| panic!("{}", e.report())),
        two.unwrap_or_else(|e| panic!("{}", e.report()))
    );
    Outcome::Holds
}

/// Text arrives unchanged, whatever characters it contains, in every kind of spot.
pub async fn sends_text<H: ConnectorHarness>() -> Outcome {
    let (scene, spot) = scene_with_spot!(H, Direct);
    talking(&scene, &spot).await;
    let text = "1 < 2 & 3 > 2; it's \"fine\" – naïve 日本語 👩‍👩‍👧 a.b!c (d) #e snake_case 100%";
    let id = scene.send_text(&spot, text).await;
    let shown = scene.platform.shown(&spot, 1).await;
    assert_eq!((shown[0].text.as_str(), &shown[0].id), (text, &id));
    for kind in [crate::connector_suite::SpotKind::Group, crate::connector_suite::SpotKind::Thread]
    {
        let Some(spot) = scene.platform.spot(kind).await else { continue };
        let heard = scene.gateway.messages().len();
        scene.platform.say(&spot, Said::text("hello")).await;
        scene.gateway.wait_messages(heard + 1).await;
        let id = scene.send_text(&spot, "here").await;
        assert_eq!(scene.platform.shown(&spot, 1).await[0].id, id, "{kind:?}");
    }
    Outcome::Holds
}

/// Text over the limit is split: every part fits (the platform checks), nothing is lost, and the
/// order is kept.
pub async fn sends_long_text_whole<H: ConnectorHarness>() -> Outcome {
    let (scene, spot) = scene_with_spot!(H, Direct);
    talking(&scene, &spot).await;
    let max = scene.can().max_text;
    let mut text = String::new();
    let (mut sent, mut length) = (0, 0);
    while length < max * 4 {
        let word = format!("word{sent} 👩‍👩‍👧 ");
        length += word.chars().count();
        text.push_str(&word);
        if sent % 40 == 39 {
            text.push_str("\n\n");
        }
        sent += 1;
    }
    let parts = scene
        .send(&spot, &Outgoing::Message { content: Content::text(&text), reply_to: None })
        .await;
    assert!(parts.len() > 2, "{} parts", parts.len());
    let shown = scene.platform.shown(&spot, parts.len()).await;
    assert_eq!(shown_words(&shown), text.split_whitespace().collect::<Vec<_>>());
    let unbroken = "x".repeat(max + max / 2);
    let parts = scene
        .send(&spot, &Outgoing::Message { content: Content::text(&unbroken), reply_to: None })
        .await;
    let all = scene.platform.shown(&spot, shown.len() + parts.len()).await;
    assert_eq!(
        all[shown.len()..].iter().map(|s| s.text.as_str()).collect::<String>(),
        unbroken,
        "a word longer than a message"
    );
    Outcome::Holds
}

/// A code block over the limit is shown as code in every part.
pub async fn sends_long_code_as_code<H: ConnectorHarness>() -> Outcome {
    let (scene, spot) = scene_with_spot!(H, Direct);
    talking(&scene, &spot).await;
    let lines: Vec<String> =
        (0..scene.can().max_text / 10).map(|n| format!("let line_{n} = \"*{n}*\";")).collect();
    let text = format!("Look:\n\n```rust\n{}\n```\n\nThat is all.", lines.join("\n"));
    let parts = scene
        .send(&spot, &Outgoing::Message { content: Content::text(text), reply_to: None })
        .await;
    assert!(parts.len() > 1);
    let shown = scene.platform.shown(&spot, parts.len()).await;
    let expect = format!("Look: {} That is all.", lines.join(" "));
    let plain: Vec<_> = shown_words(&shown).into_iter().filter(|w| !w.starts_with("```")).collect();
    assert_eq!(plain, expect.split_whitespace().collect::<Vec<_>>(), "nothing lost, nothing added");
    for part in &shown {
        assert_eq!(part.text.matches("```").count() % 2, 0, "an open fence in {:?}", part.text);
    }
    let code: Option<String> = shown
        .iter()
        .map(|s| s.code.as_ref().map(|c| c.join("\n")))
        .collect::<Option<Vec<_>>>()
        .map(|c| c.join("\n"));
    if let Some(code) = code {
        let kept: Vec<_> = code.lines().map(str::trim_end).filter(|l| !l.is_empty()).collect();
        assert_eq!(kept, lines, "every line is shown as code");
    }
    Outcome::Holds
}

/// A reply refers to the message it answers.
pub async fn replies_to_the_right_message<H: ConnectorHarness>() -> Outcome {
    let (scene, spot) = scene_with_spot!(H, Direct);
    let asked = talking(&scene, &spot).await;
    scene.platform.say(&spot, Said::text("something else")).await;
    scene
        .send(
            &spot,
            &Outgoing::Message {
                content: Content::text("to the first"),
                reply_to: Some(asked.clone()),
            },
        )
        .await;
    assert_eq!(scene.platform.shown(&spot, 1).await[0].reply_to, Some(asked));
    Outcome::Holds
}

/// The agent's message is edited in place.
pub async fn edits<H: ConnectorHarness>() -> Outcome {
    let (scene, spot) = scene_with_spot!(H, Direct);
    applies_if!(scene.can().edit, "the platform has no edits");
    talking(&scene, &spot).await;
    let id = scene.send_text(&spot, "one").await;
    let edit = Outgoing::Edit { id: id.clone(), content: Content::text("two") };
    scene.send(&spot, &edit).await;
    let shown = scene.platform.shown(&spot, 1).await;
    assert_eq!((shown.len(), shown[0].text.as_str(), &shown[0].id), (1, "two", &id));
    // Edits are idempotent, so a repeated one succeeds.
    scene.send(&spot, &edit).await;
    Outcome::Holds
}

/// The agent's message is deleted; deleting it again is not an error.
pub async fn deletes<H: ConnectorHarness>() -> Outcome {
    let (scene, spot) = scene_with_spot!(H, Direct);
    applies_if!(scene.can().delete, "the platform has no deletions");
    talking(&scene, &spot).await;
    let id = scene.send_text(&spot, "one").await;
    scene.send(&spot, &Outgoing::Delete { id: id.clone() }).await;
    assert!(scene.platform.shown(&spot, 0).await.is_empty());
    scene.send(&spot, &Outgoing::Delete { id }).await;
    Outcome::Holds
}

/// A reaction is set and removed.
pub async fn reacts<H: ConnectorHarness>() -> Outcome {
    let (scene, spot) = scene_with_spot!(H, Direct);
    applies_if!(scene.can().react, "the platform has no reactions");
    let id = talking(&scene, &spot).await;
    scene.send(&spot, &Outgoing::React { id: id.clone(), emoji: Some("👍".into()) }).await;
    assert_eq!(scene.platform.reactions(&spot, &id).await, ["👍"]);
    scene.send(&spot, &Outgoing::React { id: id.clone(), emoji: None }).await;
    assert!(scene.platform.reactions(&spot, &id).await.is_empty());
    Outcome::Holds
}

/// Buttons appear once, in their rows, also under a text of several parts.
pub async fn shows_buttons<H: ConnectorHarness>() -> Outcome {
    let (scene, spot) = scene_with_spot!(H, Direct);
    applies_if!(scene.can().buttons, "the platform has no buttons");
    talking(&scene, &spot).await;
    let data =
        |text: &str, data: &str| Button { text: text.into(), press: Press::Data(data.into()) };
    let link = Button { text: "Read".into(), press: Press::Url("https://example.org/".into()) };
    let buttons = vec![vec![data("Yes", "y"), data("No", &"n".repeat(64))], vec![link]];
    let long = "word ".repeat(scene.can().max_text / 3);
    let parts = scene
        .send(
            &spot,
            &Outgoing::Message {
                content: Content { buttons, ..Content::text(long) },
                reply_to: None,
            },
        )
        .await;
    let shown = scene.platform.shown(&spot, parts.len()).await;
    let with: Vec<_> = shown.iter().filter(|s| !s.buttons.is_empty()).collect();
    assert_eq!(with.len(), 1, "buttons belong to one part");
    assert_eq!(with[0].id, shown[shown.len() - 1].id, "the last");
    let texts: Vec<Vec<_>> =
        with[0].buttons.iter().map(|r| r.iter().map(|b| b.0.as_str()).collect()).collect();
    assert_eq!(texts, [vec!["Yes", "No"], vec!["Read"]]);
    Outcome::Holds
}

/// A file arrives with its name, bytes and text.
pub async fn sends_files<H: ConnectorHarness>() -> Outcome {
    let (scene, spot) = scene_with_spot!(H, Direct);
    applies_if!(scene.can().files, "the platform has no files");
    talking(&scene, &spot).await;
    let (file, bytes) = scene.platform.file();
    let name = file.title.clone();
    let content = Content { attachments: vec![file], ..Content::text("Here it is") };
    let parts = scene.send(&spot, &Outgoing::Message { content, reply_to: None }).await;
    let shown = scene.platform.shown(&spot, parts.len()).await;
    let files: Vec<_> = shown.iter().flat_map(|s| &s.files).collect();
    assert_eq!(files.len(), 1);
    assert_eq!((&files[0].0, &files[0].1), (&name, &bytes));
    assert_eq!(shown_words(&shown), ["Here", "it", "is"]);
    Outcome::Holds
}

/// The typing indicator is shown.
pub async fn shows_typing<H: ConnectorHarness>() -> Outcome {
    let (scene, spot) = scene_with_spot!(H, Direct);
    applies_if!(scene.can().typing, "the platform has no typing");
    talking(&scene, &spot).await;
    assert!(!scene.platform.typing(&spot).await);
    let outcome = scene.handler().await.typing(&scene.address(&spot)).await;
    outcome.unwrap_or_else(|e| panic!("{}", e.report()));
    assert!(scene.platform.typing(&spot).await);
    Outcome::Holds
}
