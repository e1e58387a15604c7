//! Tests of rendering, splitting and Discord's rules for a message.

use super::*;
use galatea_core::{Button, MediaKind, Press, split::length};
use proptest::prelude::*;

/// Body, files and target of a post.
type Post = (Map<String, Value>, Vec<FileUpload>, Option<RemoteId>);

fn posts(content: Content) -> Vec<Post> {
    let outgoing = Outgoing::Message { content, reply_to: Some(RemoteId("77".into())) };
    let parts = encode(&outgoing).unwrap();
    parts
        .iter()
        .map(|p| match Part::read(p).unwrap() {
            Part::Post { body, files, reply_to, .. } => (body, files, reply_to),
            other => panic!("{other:?}"),
        })
        .collect()
}

fn text(markdown: &str) -> Vec<String> {
    posts(Content::text(markdown))
        .into_iter()
        .map(|(b, ..)| b["content"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn plain_words_stay_as_they_are() {
    let plain = "1 < 2 & 3 > 2; it's \"fine\" – naïve 日本語 👩‍👩‍👧 a.b!c (d) #e snake_case 100% **bold** _it_ ~~no~~ `x` [l](https://e.org)\n- a\n> q";
    assert_eq!(text(plain), [plain]);
}

#[test]
fn an_answer_notifies_no_person() {
    let (body, _, reply) = posts(Content::text("hello @everyone <@1> <@&2>")).swap_remove(0);
    assert_eq!(body["allowed_mentions"]["parse"], json!([]));
    assert_eq!(
        (&body["allowed_mentions"]["users"], &body["allowed_mentions"]["roles"]),
        (&json!([]), &json!([]))
    );
    assert_eq!(reply, Some(RemoteId("77".into())));
    let edit =
        encode(&Outgoing::Edit { id: RemoteId("5".into()), content: Content::text("x @here") })
            .unwrap();
    let Part::Edit { body, .. } = Part::read(&edit[0]).unwrap() else { panic!("an edit") };
    assert_eq!(body["allowed_mentions"]["parse"], json!([]));
}

fn edited(content: Content) -> Vec<Part> {
    let parts = encode(&Outgoing::Edit { id: RemoteId("5".into()), content }).unwrap();
    parts.iter().map(|part| Part::read(part).unwrap()).collect()
}

#[test]
fn an_edit_that_takes_several_messages_has_its_buttons_on_the_last() {
    let button = |data: &str| Button { text: data.into(), press: Press::Data(data.into()) };
    let rows = |part: &Part| match part {
        Part::Edit { body, .. } | Part::Post { body, .. } => body.get("components").cloned(),
        other => panic!("{other:?}"),
    };
    let long = vec!["word"; 600].join(" ");
    let parts = edited(Content { buttons: vec![vec![button("yes")]], ..Content::text(&long) });
    assert_eq!(parts.len(), 2);
    assert_eq!(rows(&parts[0]), Some(json!([])), "the buttons of before are removed");
    assert!(rows(&parts[1]).is_some_and(|rows| rows.as_array().is_some_and(|r| r.len() == 1)));
    let parts = edited(Content { buttons: vec![vec![button("yes")]], ..Content::text("short") });
    assert!(rows(&parts[0]).is_some_and(|rows| rows.as_array().is_some_and(|r| r.len() == 1)));
    assert_eq!(rows(&edited(Content::text("short"))[0]), Some(json!([])));
}

#[test]
fn files_of_an_edit_follow_in_a_new_message() {
    let media = |url: &str| Media { url: url.into(), ..Media::default() };
    let with = |media: Media| Content { attachments: vec![media], ..Content::text("see") };
    let parts = edited(with(media("data:image/png;base64,AAAA")));
    let [Part::Edit { .. }, Part::Post { files, .. }] = &parts[..] else { panic!("{parts:?}") };
    assert_eq!(files.len(), 1);
    let outgoing =
        Outgoing::Edit { id: RemoteId("5".into()), content: with(media("ftp://example.org/x")) };
    assert_eq!(encode(&outgoing).unwrap_err().code(), Some(codes::INVALID));
}

#[test]
fn what_discord_cannot_show_is_turned_into_what_it_can() {
    assert_eq!(text("#### Deep\ntext"), ["### Deep\ntext"]);
    assert_eq!(text("see ![cat](https://e.org/c.png)"), ["see [cat](https://e.org/c.png)"]);
    assert_eq!(text("~~~py\nx = 1\n~~~\nend"), ["```py\nx = 1\n```\nend"]);
    assert_eq!(text("````\n```\ninner\n```\n````"), ["```\n``\u{200b}`\ninner\n``\u{200b}`\n```"]);
    assert_eq!(
        text("a\n\n| x | y |\n|---|---|\n| 1 | 2 |\n\nb"),
        ["a\n\n```\nx | y\n--+--\n1 | 2\n```\nb"]
    );
    let ragged = "| name | [n](https://x.y) |\n|---|---|\n| **a**long one | `1` |\n| b |";
    assert_eq!(
        text(ragged),
        [
            "```\nname      | n (https://x.y)\n----------+----------------\nalong one | 1\nb         |\n```"
        ]
    );
    assert_eq!(text("say ```x``` inline"), ["say `x` inline"]);
    assert_eq!(text("- item\n  ```js\n  f()\n  ```"), ["- item\n```js\nf()\n```"]);
}

#[test]
fn arithmetic_keeps_its_stars() {
    for (written, sent) in [
        ("2*3*4=24", "2\\*3\\*4=24"),
        ("x**2 + y**2 is it", "x\\*\\*2 + y\\*\\*2 is it"),
        ("*really* un*frigging*believable **x**", "*really* un*frigging*believable **x**"),
        ("`2*3*4` and 5*6*7", "`2*3*4` and 5\\*6\\*7"),
        ("| a |\n|---|\n| 2*3*4 |", "```\na\n-----\n2*3*4\n```"),
    ] {
        assert_eq!(text(written), [sent], "{written}");
    }
}

#[test]
fn a_table_that_is_split_repeats_its_head() {
    let rows: String = (0..300).map(|n| format!("| row {n} | {} |\n", n * n)).collect();
    let parts = text(&format!("| name | square |\n|---|---|\n{rows}"));
    assert!(parts.len() > 2);
    for part in &parts {
        assert!(part.starts_with("```\nname    | square\n--------+-------\n"), "{part}");
        assert!(length(part, char::len_utf16) <= MAX_TEXT && part.trim_end().ends_with("```"));
    }
    let found: Vec<_> =
        parts.iter().flat_map(|p| p.lines()).filter(|l| l.starts_with("row ")).collect();
    assert_eq!(found.len(), 300, "each row once");
}

#[test]
fn long_answers_and_long_code_arrive_whole() {
    let words: Vec<String> = (0..1_400).map(|n| format!("word{n}")).collect();
    let long = words.join(" ");
    assert!(long.len() > 9_800);
    let parts = text(&long);
    assert!(parts.iter().all(|p| length(p, char::len_utf16) <= MAX_TEXT));
    assert_eq!(parts.join(" ").split_whitespace().collect::<Vec<_>>(), words);
    let lines: Vec<String> = (0..300).map(|n| format!("let line_{n} = {n};")).collect();
    let parts = text(&format!("Look:\n\n```rust\n{}\n```\nDone.", lines.join("\n")));
    assert!(parts.len() > 2);
    let code: Vec<_> =
        parts.iter().flat_map(|p| p.lines()).filter(|l| l.starts_with("let ")).collect();
    assert_eq!(code, lines);
    assert!(parts.iter().all(|p| p.matches("```").count() % 2 == 0));
}

#[test]
fn buttons_follow_the_last_part() {
    let data =
        |text: &str, data: &str| Button { text: text.into(), press: Press::Data(data.into()) };
    let content = |buttons| Content { buttons, ..Content::text("word ".repeat(600)) };
    let parts = posts(content(vec![
        vec![data("Yes", "y"), data("No", "n")],
        vec![Button { text: "Read".into(), press: Press::Url("https://e.org/".into()) }],
    ]));
    assert!(parts[0].0.get("components").is_none());
    let rows = parts.last().unwrap().0["components"].as_array().unwrap().clone();
    assert_eq!(
        (rows.len(), rows[0]["type"].as_u64(), rows[0]["components"][1]["custom_id"].as_str()),
        (2, Some(1), Some("n"))
    );
    assert_eq!(
        (rows[1]["components"][0]["style"].as_u64(), rows[1]["components"][0]["url"].as_str()),
        (Some(5), Some("https://e.org/"))
    );
    for wrong in [
        vec![vec![data("", "y")]],
        vec![vec![data("a", "y"), data("b", "y")]],
        vec![vec![data("a", &"x".repeat(101))]],
        vec![vec![data("a", "")]],
        vec![vec![Button { text: "x".into(), press: Press::Url("javascript:x".into()) }]],
        (0..6).map(|n| vec![data("a", &n.to_string())]).collect(),
    ] {
        let error =
            encode(&Outgoing::Message { content: content(wrong), reply_to: None }).unwrap_err();
        assert_eq!(error.code(), Some("GAL-DC-400"));
    }
}

#[test]
fn files_go_with_the_last_part_ten_at_a_time_and_links_into_the_text() {
    let file = |n: usize| Media {
        url: "data:text/plain,x".into(),
        title: format!("f{n}/../x"),
        content_type: MediaKind::Document,
        ..Media::default()
    };
    let parts =
        posts(Content { attachments: (0..12).map(file).collect(), ..Content::text("here") });
    assert_eq!(parts.iter().map(|p| p.1.len()).collect::<Vec<_>>(), [10, 2]);
    assert_eq!(parts[0].1[0].name, "f0_.._x");
    let link = Media {
        url: "https://e.org/c.png".into(),
        content_type: MediaKind::Image,
        ..Media::default()
    };
    assert_eq!(
        posts(Content { attachments: vec![link], ..Content::text("see") })[0].0["content"],
        json!("see\nhttps://e.org/c.png")
    );
    for url in ["telegram:abc", "ftp://x", "https://e.org/a b"] {
        let bad = Media { url: url.into(), ..Media::default() };
        assert!(
            encode(&Outgoing::Message {
                content: Content { attachments: vec![bad], ..Content::text("x") },
                reply_to: None
            })
            .is_err(),
            "{url}"
        );
    }
    assert!(encode(&Outgoing::Message { content: Content::text(" \n "), reply_to: None }).is_err());
}

#[test]
fn reactions_take_characters_and_custom_emoji() {
    for (from, to) in [
        ("👍", "👍"),
        ("<:wave:12>", "wave:12"),
        ("<a:wave:12>", "wave:12"),
        ("wave:12", "wave:12"),
        ("custom:wave:12", "wave:12"),
    ] {
        assert_eq!(emoji_path(from).unwrap(), to);
    }
    for wrong in ["", "x", ":", "a/b:1", "wave:x"] {
        assert!(emoji_path(wrong).is_err(), "{wrong}");
    }
}

fn markdown() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        Just("```\n".to_owned()),
        Just("```rust\n".to_owned()),
        Just("\n```\n".to_owned()),
        Just("~~~~\n".to_owned()),
        Just("````".to_owned()),
        Just("\n\n".to_owned()),
        Just("| a | b |\n|---|---|\n".to_owned()),
        Just("#### h\n".to_owned()),
        Just("  - ".to_owned()),
        Just("> ".to_owned()),
        Just("![i](u)".to_owned()),
        Just("👩‍👩‍👧 ".to_owned()),
        "[a-z` ]{1,30}",
        Just("word ".repeat(120)),
        Just("x".repeat(700)),
        "\\PC{0,12}",
    ];
    proptest::collection::vec(token, 1..24).prop_map(|tokens| tokens.concat())
}

/// The letters and digits that people read, without fence lines.
fn letters(text: &str) -> String {
    let lines = text.lines().filter(|l| !l.trim_start().starts_with("```"));
    lines.flat_map(str::chars).filter(|c| c.is_alphanumeric()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn parts_fit_and_fences_are_whole(source in markdown()) {
        let Ok(parts) = encode(&Outgoing::Message { content: Content::text(&source), reply_to: None }) else {
            prop_assert!(source.trim().is_empty() || texts(&Content::text(&source)).is_empty());
            return Ok(());
        };
        for part in &parts {
            let Part::Post { body, .. } = Part::read(part).unwrap() else { panic!("a post") };
            let text = body["content"].as_str().unwrap();
            prop_assert!(length(text, char::len_utf16) <= MAX_TEXT);
            prop_assert_eq!(text.matches("```").count() % 2, 0, "{:?}", text);
        }
    }

    #[test]
    fn splitting_loses_no_letter(source in markdown()) {
        let rendered = markdown::render(&source);
        let parts = texts(&Content::text(&source));
        prop_assert_eq!(letters(&parts.join("\n")), letters(&rendered));
    }

    #[test]
    fn without_markup_every_character_arrives(words in proptest::collection::vec(prop_oneof!["[a-zA-Z0-9äöü日本👍]{1,12}", Just("wörd👍".repeat(90))], 1..30)) {
        let source = words.join(" ");
        prop_assert_eq!(markdown::render(&source), source.clone());
        let parts = texts(&Content::text(&source)).concat();
        prop_assert_eq!(parts, source);
    }
}
