//! Tests of encoding: examples that a reader can check by eye. `media` has those with attachments,
//! `properties` what holds for any text.

mod media;
mod properties;

use galatea_core::{Button, ErrorKind, Press};

use super::{entities::entities, *};

fn say(text: &str) -> Vec<BotCall> {
    encode_parts(&Outgoing::Message { content: Content::text(text), reply_to: None }).unwrap()
}

/// Text and entities of rendered Markdown, written `kind(offset,length)`.
fn shown(markdown: &str) -> (String, Vec<String>) {
    let styled = render(markdown);
    let list = entities::to_json(&entities(&styled));
    let list = list.as_array().unwrap().iter().map(|e| {
        let more = ["url", "language"]
            .iter()
            .find_map(|f| e.get(*f))
            .and_then(Value::as_str)
            .map(|m| format!("={m}"))
            .unwrap_or_default();
        format!("{}({},{}){more}", e["type"].as_str().unwrap(), e["offset"], e["length"])
    });
    (styled.text.clone(), list.collect())
}

#[track_caller]
fn check(markdown: &str, text: &str, expect: &[&str]) {
    let (shown, list) = shown(markdown);
    assert_eq!(shown, text, "text of {markdown:?}");
    assert_eq!(list, expect, "entities of {markdown:?}");
}

fn parts_of(content: Content) -> Result<Vec<BotCall>> {
    encode_parts(&Outgoing::Message { content, reply_to: None })
}

#[test]
fn styles_become_entities() {
    check(
        "**b** *i* ~~s~~ ||h|| `c`",
        "b i s h c",
        &["bold(0,1)", "italic(2,1)", "strikethrough(4,1)", "spoiler(6,1)", "code(8,1)"],
    );
    check("# Title\n\nwords", "Title\n\nwords", &["bold(0,5)"]);
    check("***both***", "both", &["bold(0,4)", "italic(0,4)"]);
    check("**bold *both* bold**", "bold both bold", &["bold(0,14)", "italic(5,4)"]);
    check("# A **b** c", "A b c", &["bold(0,5)"]);
    check(
        "> quoted **b**\n> more\n\nafter",
        "quoted b\nmore\n\nafter",
        &["blockquote(0,13)", "bold(7,1)"],
    );
    check("> a\n>> b", "a\n\nb", &["blockquote(0,4)"]);
}

#[test]
fn offsets_count_utf16() {
    check("🤖 **é** `ü`", "🤖 é ü", &["bold(3,1)", "code(5,1)"]);
    check("**👩‍👩‍👧** x", "👩‍👩‍👧 x", &["bold(0,8)"]);
}

#[test]
fn code_contains_and_is_in_nothing() {
    check("**a `c` b**", "a c b", &["bold(0,1)", "code(2,1)", "bold(4,1)"]);
    check("[see `x`](https://a.b/)", "see x", &["text_link(0,5)=https://a.b/"]);
    check("```rust\nlet a = 1;\n\nb\n```\nafter", "let a = 1;\n\nb\n\nafter", &["pre(0,13)=rust"]);
    check("> ```\n> x\n> ```", "x", &["blockquote(0,1)", "pre(0,1)"]);
    check("```\n**not bold** <b>\n```", "**not bold** <b>", &["pre(0,16)"]);
}

#[test]
fn links_are_only_those_telegram_takes() {
    check("[a](https://x.y/z)", "a", &["text_link(0,1)=https://x.y/z"]);
    check("[me](tg://user?id=7)", "me", &["text_link(0,2)=tg://user?id=7"]);
    check("[a](javascript:alert)", "a (javascript:alert)", &[]);
    check("[a](/docs)", "a (/docs)", &[]);
    check("![pic](https://x.y/p.png)", "pic", &["text_link(0,3)=https://x.y/p.png"]);
    check("[](https://x.y/)", "https://x.y/", &["text_link(0,12)=https://x.y/"]);
    check("<https://x.y/>", "https://x.y/", &["text_link(0,12)=https://x.y/"]);
    check("[![pic](https://p.q/)](https://x.y/)", "pic", &["text_link(0,3)=https://x.y/"]);
}

#[test]
fn lists_keep_their_shape() {
    check("- a\n- b\n  - c\n\nend", "• a\n• b\n  • c\n\nend", &[]);
    check("3. a\n4. b", "3. a\n4. b", &[]);
    check("- [ ] open\n- [x] done", "• ☐ open\n• ☑ done", &[]);
    check("before\n\n- a\n\n- b", "before\n\n• a\n• b", &[]);
    check("- **a**\n  more", "• a\n  more", &["bold(2,1)"]);
}

#[test]
fn tables_are_aligned_blocks() {
    check(
        "| n | word |\n|---|---|\n| 1 | **é** |\n| 22 | [x](https://a.b/) |\n\nend",
        "n  | word\n---+-----------------\n1  | é\n22 | x (https://a.b/)\n\nend",
        &["pre(0,60)"],
    );
}

#[test]
fn arithmetic_keeps_its_stars() {
    check("2*3*4=24", "2*3*4=24", &[]);
    check("x**2 + y**2 is it", "x**2 + y**2 is it", &[]);
    check("2*3*4*5*6", "2*3*4*5*6", &[]);
    check("un*frigging*believable", "unfriggingbelievable", &["italic(2,8)"]);
    check("| a |\n|---|\n| 2*3*4 |", "a\n-----\n2*3*4", &["pre(0,13)"]);
}

#[test]
fn a_table_that_is_split_repeats_its_head() {
    let rows: String = (0..600).map(|n| format!("| row {n} | {} |\n", n * n)).collect();
    let styled = markdown::render(&format!("| name | square |\n|---|---|\n{rows}"));
    let parts = split::split(&styled, split::MAX_CAPTION, split::MAX_TEXT);
    assert!(parts.len() > 2);
    for (at, part) in parts.iter().enumerate() {
        assert!(part.text.starts_with("name    | square\n--------+-------\n"), "{}", part.text);
        assert!(
            split::units(&part.text) <= if at == 0 { split::MAX_CAPTION } else { split::MAX_TEXT }
        );
        assert!(part.spans.len() == 1 && part.spans[0].range == (0..part.text.len()), "one block");
    }
    assert_eq!(
        parts.iter().flat_map(|p| p.text.lines()).filter(|l| l.starts_with("row ")).count(),
        600,
        "each row once"
    );
}

#[test]
fn no_word_is_lost() {
    check("[note]: hello", "[note]: hello", &[]);
    check("see [it][r]\n\n[r]: https://a.b/", "see it", &["text_link(4,2)=https://a.b/"]);
    check("<div>x</div> & <b>y</b>", "<div>x</div> & <b>y</b>", &[]);
    check("about ~5~ of them", "about ~5~ of them", &[]);
    check("a || b || c", "a || b || c", &[]);
    check("snake_case_name 2*3*4", "snake_case_name 2*3*4", &[]);
    check("one\ntwo", "one\ntwo", &[]);
    check("a\n\n---\n\nb", "a\n\n———\n\nb", &[]);
}

#[test]
fn a_message_is_plain_text_with_entities_and_no_preview() {
    let [part] = &say("hi **you**")[..] else { panic!("one part") };
    assert_eq!(part.method, Method::SendMessage);
    assert_eq!(
        Value::Object(part.params.clone()),
        json!({"text": "hi you", "link_preview_options": {"is_disabled": true}, "entities": [{"type": "bold", "offset": 3, "length": 3}]})
    );
    assert_eq!(
        BotCall::read(
            &encode(&Outgoing::Message { content: Content::text("hi **you**"), reply_to: None })
                .unwrap()[0]
        )
        .unwrap(),
        *part
    );
}

#[test]
fn long_text_is_split_at_paragraphs_lines_sentences_words() {
    let texts = |text: &str| {
        say(text).iter().map(|p| p.params["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (a, b) = ("a".repeat(3000), "b".repeat(3000));
    assert_eq!(texts(&format!("{a}\n\n{b}")), [format!("{a}\n\n"), b.clone()]);
    assert_eq!(texts(&format!("{a}\n{b}")), [format!("{a}\n"), b.clone()]);
    assert_eq!(texts(&format!("{a}. x {b}")), [format!("{a}. "), format!("x {b}")]);
    assert_eq!(texts(&format!("{a} {b}")), [format!("{a} "), b.clone()]);
    assert_eq!(texts(&"é".repeat(5000)).iter().map(|t| units(t)).collect::<Vec<_>>(), [4096, 904]);
    let families = texts(&"👩‍👩‍👧".repeat(600));
    assert!(
        families.iter().all(|t| t.starts_with('👩') && t.ends_with('👧')),
        "graphemes are not cut"
    );
}

#[test]
fn a_code_block_is_one_in_each_part() {
    let code = (0..900).map(|n| format!("line {n}\n")).collect::<String>();
    let parts = say(&format!("intro\n\n```rust\n{code}```\n\nend"));
    assert!(parts.len() >= 2);
    for part in &parts {
        assert_eq!(part.params["entities"][0]["type"], "pre");
        assert_eq!(part.params["entities"][0]["language"], "rust");
    }
}

#[test]
fn a_block_that_fits_moves_as_a_whole() {
    let words = "word ".repeat(500);
    let block = "code\n".repeat(500);
    let parts = say(&format!("{words}\n\n```\n{block}```"));
    assert_eq!(parts.len(), 2);
    assert_eq!(parts[0].params.get("entities"), None);
    assert_eq!(parts[1].params["entities"][0]["length"], 2499);
}

#[test]
fn nothing_to_say_is_an_error() {
    for text in ["", "  \n ", "&#32;"] {
        let error =
            encode_parts(&Outgoing::Message { content: Content::text(text), reply_to: None })
                .unwrap_err();
        assert_eq!(
            (error.kind(), error.code()),
            (ErrorKind::Invalid, Some("GAL-TG-400")),
            "{text:?}"
        );
    }
}

#[test]
fn buttons_become_a_keyboard_under_the_last_part() {
    let button = |press| Button { text: "go".into(), press };
    let content = |press: Press, text: &str| Content {
        buttons: vec![vec![button(press)], vec![]],
        ..Content::text(text)
    };
    let parts = parts_of(content(Press::Data("x".repeat(64)), &"word ".repeat(1000))).unwrap();
    assert!(!parts[0].params.contains_key("reply_markup"));
    assert_eq!(
        parts[1].params["reply_markup"],
        json!({"inline_keyboard": [[{"text": "go", "callback_data": "x".repeat(64)}]]})
    );
    for wrong in [
        Press::Data("x".repeat(65)),
        Press::Data("é".repeat(33)),
        Press::Data(String::new()),
        Press::Url("javascript:x".into()),
    ] {
        let error = parts_of(content(wrong.clone(), "hi")).unwrap_err();
        assert_eq!(error.code(), Some("GAL-TG-400"), "{wrong:?}");
        assert!(error.to_string().contains("row=1"), "{error}");
    }
}

#[test]
fn edits_deletions_and_reactions_name_their_message() {
    let id = RemoteId("-1005:7".into());
    let edit =
        encode_parts(&Outgoing::Edit { id: id.clone(), content: Content::text("*new*") }).unwrap();
    assert_eq!(edit[0].method, Method::EditMessageText);
    assert_eq!(
        (&edit[0].params["chat_id"], &edit[0].params["message_id"], &edit[0].params["text"]),
        (&json!(-1005), &json!(7), &json!("new"))
    );
    let long = encode_parts(&Outgoing::Edit {
        id: id.clone(),
        content: Content::text("word ".repeat(1000)),
    })
    .unwrap();
    assert_eq!((long[1].method, long[1].params.get("message_id")), (Method::SendMessage, None));
    let delete = encode_parts(&Outgoing::Delete { id: id.clone() }).unwrap();
    assert_eq!(Value::Object(delete[0].params.clone()), json!({"message_id": 7, "chat_id": -1005}));
    let react = |emoji: Option<&str>| {
        encode_parts(&Outgoing::React { id: id.clone(), emoji: emoji.map(str::to_owned) }).unwrap()
            [0]
        .params["reaction"]
            .clone()
    };
    assert_eq!(react(Some("👍")), json!([{"type": "emoji", "emoji": "👍"}]));
    assert_eq!(react(Some("custom:5")), json!([{"type": "custom_emoji", "custom_emoji_id": "5"}]));
    assert_eq!(react(None), json!([]));
    assert!(encode_parts(&Outgoing::Delete { id: RemoteId("abc".into()) }).is_err());
}
