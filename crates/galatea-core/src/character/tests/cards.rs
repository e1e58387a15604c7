//! Character cards of other programs, as JSON and in pictures.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use miniz_oxide::deflate::compress_to_vec_zlib;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{error, loaded};
use crate::character::{
    Character, Generation, Knowledge, Loaded, MAX_PICTURE, MAX_SIZE, Refused, convert, load,
    load_bytes,
};

fn v1() -> Value {
    json!({
        "name": "Ada",
        "description": "{{char}} keeps the lighthouse. <USER> is a guest.",
        "personality": "curious, dry",
        "scenario": "{{user}} has missed the last boat.",
        "first_mes": "*{{char}} looks up.* You must be {{user}}.",
        "mes_example": "<START>\n{{user}}: Is it far?\n{{char}}: Far enough.\nTake a lamp.\n<START>\n{{char}}: Tea, <USER>?",
    })
}

fn v2() -> Value {
    let mut data = v1();
    for (key, value) in [
        ("creator_notes", json!("Do not show this.")),
        ("system_prompt", json!("Write {{char}}'s next reply. {{original}}")),
        ("post_history_instructions", json!("Keep it under fifty words.")),
        ("alternate_greetings", json!(["Back again, {{user}}?"])),
        ("tags", json!(["sea", "calm"])),
        ("creator", json!("somebody")),
        ("character_version", json!("1.2")),
        ("extensions", json!({ "depth": { "x": 1 } })),
        ("odd_field", json!([1, 2])),
        (
            "character_book",
            json!({ "name": "The island", "extensions": {}, "entries": [
                { "keys": ["boat", "ferry"], "content": "@@depth 4\nThe ferry leaves at six.", "enabled": true, "insertion_order": 5, "extensions": {} },
                { "keys": ["secret"], "content": "Not yet.", "enabled": false, "insertion_order": 1, "extensions": {} },
                { "keys": [], "content": "{{char}} was born here.", "enabled": true, "constant": true, "insertion_order": 9, "extensions": {} }
            ] }),
        ),
    ] {
        data[key] = value;
    }
    let mut card = json!({ "spec": "chara_card_v2", "spec_version": "2.0", "data": data });
    // Many programs repeat V1 beside it.
    card["name"] = json!("Ada");
    card["first_mes"] = json!("old");
    card["talkativeness"] = json!("0.5");
    card
}

fn v3() -> Value {
    let mut card = v2();
    card["spec"] = json!("chara_card_v3");
    card["spec_version"] = json!("3.0");
    for (key, value) in [
        ("nickname", json!("A.")),
        ("group_only_greetings", json!([])),
        ("creator_notes_multilingual", json!({ "de": "Nicht zeigen." })),
        ("source", json!(["https://example.org/1"])),
        ("creation_date", json!(1_700_000_000)),
        ("assets", json!([{ "type": "icon", "uri": "ccdefault:", "name": "main", "ext": "png" }])),
    ] {
        card["data"][key] = value;
    }
    card
}

fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let length = u32::try_from(data.len()).unwrap().to_be_bytes();
    [&length[..], kind, data, &[0; 4]].concat()
}

fn png(chunks: &[Vec<u8>]) -> Vec<u8> {
    let header = chunk(b"IHDR", &[0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0]);
    let mut picture = [b"\x89PNG\r\n\x1a\n".to_vec(), header].concat();
    chunks.iter().for_each(|chunk| picture.extend(chunk));
    picture.extend(chunk(b"IDAT", &[1, 2, 3]));
    picture.extend(chunk(b"IEND", &[]));
    picture
}

fn plain(keyword: &str, card: &Value) -> Vec<u8> {
    let text = BASE64_STANDARD.encode(card.to_string());
    chunk(b"tEXt", &[keyword.as_bytes(), &[0], text.as_bytes()].concat())
}

fn read(bytes: &[u8]) -> Result<Loaded, Refused> {
    load_bytes("card.png", bytes)
}

fn texts(character: &Character) -> String {
    format!("{character:?}")
}

#[test]
fn a_card_of_every_version_becomes_a_character() {
    for card in [v1(), v2(), v3()] {
        let Loaded { character, generation, warnings } = loaded(&card.to_string());
        assert_eq!(generation, Generation::Card);
        assert_eq!(character.name, "Ada");
        assert_eq!(
            character.bio,
            [
                "{{char}} keeps the lighthouse. <USER> is a guest.\n\nAda's personality: curious, dry\n\nThe situation: {{user}} has missed the last boat."
            ]
        );
        let talks: Vec<Vec<(&str, &str)>> = character
            .message_examples
            .iter()
            .map(|talk| talk.iter().map(|l| (l.name.as_str(), l.content.text.as_str())).collect())
            .collect();
        assert_eq!(talks[0], [("{{user1}}", "Is it far?"), ("Ada", "Far enough.\nTake a lamp.")]);
        assert_eq!(talks[1], [("Ada", "Tea, <USER>?")]);
        assert_eq!(talks[2], [("Ada", "*{{char}} looks up.* You must be {{user}}.")]);
        assert_eq!(character.greeting("Bo").as_deref(), Some("*Ada looks up.* You must be Bo."));
        if card["spec"].is_null() {
            assert!(warnings.is_empty(), "{warnings:#?}");
            continue;
        }
        assert_eq!(talks[3], [("Ada", "Back again, {{user}}?")]);
        assert_eq!(character.style.all, ["Keep it under fifty words."]);
        assert_eq!(
            character.knowledge,
            [
                Knowledge::Text("{{char}} was born here.".into()),
                Knowledge::Text("boat, ferry: The ferry leaves at six.".into())
            ]
        );
        let codes: Vec<_> = warnings.iter().map(|warning| warning.code).collect();
        assert_eq!(codes, ["GAL-CHAR-KEY"], "{warnings:#?}");
        assert!(warnings[0].message.contains("odd_field"));
    }
}

#[test]
fn what_models_read_has_names_and_no_note_of_the_maker() {
    let character = loaded(&v3().to_string()).character.filled();
    assert_eq!(character.system.as_deref(), Some("Write Ada's next reply. "));
    assert!(character.bio[0].starts_with("Ada keeps the lighthouse. the user is a guest."));
    assert_eq!(character.message_examples[1][0].content.text, "Tea, Person 1?");
    assert_eq!(character.knowledge[0], Knowledge::Text("Ada was born here.".into()));
    let Character { bio, system, message_examples, knowledge, style, topics, .. } = &character;
    let seen = format!("{bio:?}{system:?}{message_examples:?}{knowledge:?}{style:?}{topics:?}");
    for hidden in ["Do not show this", "Nicht zeigen", "{{", "<USER>", "somebody", "@@depth"] {
        assert!(!seen.contains(hidden), "{hidden}: {seen}");
    }
}

#[test]
fn nothing_of_a_card_is_lost_when_it_is_converted() {
    let before = loaded(&v3().to_string()).character;
    let written = convert(&before);
    let value: Value = serde_json::from_str(&written).unwrap();
    let kept = &value["settings"]["unmapped"];
    for key in [
        "creator_notes",
        "tags",
        "creator",
        "character_version",
        "extensions",
        "odd_field",
        "alternate_greetings",
        "character_book",
        "nickname",
        "group_only_greetings",
        "creator_notes_multilingual",
        "source",
        "creation_date",
        "assets",
        "first_mes",
    ] {
        assert_eq!(kept[key], v3()["data"][key], "{key}");
    }
    assert_eq!(kept["talkativeness"], "0.5");
    assert_eq!(kept["spec"], "chara_card_v3");
    let after = loaded(&written);
    assert_eq!((after.generation, convert(&after.character)), (Generation::Present, written));
    assert_eq!(after.character.greeting("Bo"), before.greeting("Bo"));
    assert_eq!(after.character.filled().bio, before.filled().bio);
}

#[test]
fn cards_of_before_v1_are_read() {
    let card = json!({
        "char_name": "Bo", "char_persona": "A fox.", "world_scenario": "A wood.",
        "char_greeting": "Hello.", "example_dialogue": "You: Hi\nBo: Ho",
    });
    let character = loaded(&card.to_string()).character;
    assert_eq!(
        (character.name.as_str(), character.bio[0].as_str()),
        ("Bo", "A fox.\n\nThe situation: A wood.")
    );
    assert_eq!(character.message_examples[0].len(), 2);
    assert_eq!(character.greeting("x").as_deref(), Some("Hello."));
}

#[test]
fn pictures_hold_cards_in_every_kind_of_text_chunk() {
    let card = v2().to_string();
    let base64 = BASE64_STANDARD.encode(&card);
    let packed = compress_to_vec_zlib(base64.as_bytes(), 6);
    let unpadded = base64.trim_end_matches('=').replace('+', "-").replace('/', "_");
    let lines: String = base64
        .as_bytes()
        .chunks(76)
        .map(|l| format!("{}\r\n", String::from_utf8_lossy(l)))
        .collect();
    let text = |kind: &[u8; 4], head: &[u8], text: &[u8]| chunk(kind, &[head, text].concat());
    for (what, chunks) in [
        ("tEXt", vec![plain("chara", &v2())]),
        ("capitals", vec![plain("Chara", &v2())]),
        ("zTXt", vec![text(b"zTXt", b"chara\0\0", &packed)]),
        ("iTXt", vec![text(b"iTXt", b"chara\0\0\0\0\0", base64.as_bytes())]),
        ("iTXt, packed", vec![text(b"iTXt", b"chara\0\x01\0en\0name\0", &packed)]),
        ("plain JSON", vec![text(b"iTXt", b"chara\0\0\0\0\0", card.as_bytes())]),
        ("unpadded", vec![text(b"tEXt", b"chara\0", unpadded.as_bytes())]),
        ("lines", vec![text(b"tEXt", b"chara\0", lines.as_bytes())]),
        ("after the picture", vec![chunk(b"IDAT", &[0; 900]), plain("chara", &v2())]),
        ("among others", vec![text(b"tEXt", b"Software\0", b"x"), plain("chara", &v2())]),
        ("a broken newer one", vec![text(b"tEXt", b"ccv3\0", b"!!!"), plain("chara", &v2())]),
    ] {
        let read = read(&png(&chunks)).unwrap_or_else(|refused| panic!("{what}: {refused}"));
        assert_eq!(read.character, loaded(&card).character, "{what}");
    }
    let both = png(&[plain("chara", &v1()), plain("ccv3", &v3())]);
    assert_eq!(read(&both).unwrap().character, loaded(&v3().to_string()).character);
    let mut older = v2();
    older["data"]["name"] = json!("Old");
    let twice = png(&[plain("chara", &older), plain("chara", &v2())]);
    assert_eq!(read(&twice).unwrap().character.name, "Ada", "the last one counts");
}

#[test]
fn hostile_pictures_are_refused_with_a_fix() {
    let bomb = compress_to_vec_zlib(&vec![b'A'; 32 << 20], 9);
    let lying = [&u32::MAX.to_be_bytes()[..], b"tEXtchara\0"].concat();
    let large = BASE64_STANDARD.encode(vec![b' '; MAX_SIZE * 2]);
    let text = |kind: &[u8; 4], head: &[u8], text: &[u8]| chunk(kind, &[head, text].concat());
    for (what, code, bytes) in [
        ("no card", "GAL-CHAR-CARD", png(&[])),
        ("a bomb", "GAL-CHAR-CARD", png(&[text(b"zTXt", b"chara\0\0", &bomb)])),
        ("no base64", "GAL-CHAR-CARD", png(&[text(b"tEXt", b"chara\0", b"\xff\xfe()")])),
        ("no UTF-8", "GAL-CHAR-CARD", png(&[text(b"tEXt", b"chara\0", b"//79")])),
        ("no text", "GAL-CHAR-CARD", png(&[chunk(b"tEXt", b"chara")])),
        ("a lie of its length", "GAL-CHAR-CARD", [b"\x89PNG\r\n\x1a\n".to_vec(), lying].concat()),
        ("cut", "GAL-CHAR-CARD", png(&[plain("chara", &v1())])[..60].to_vec()),
        ("too long", "GAL-CHAR-SIZE", png(&[text(b"tEXt", b"chara\0", large.as_bytes())])),
        (
            "too large",
            "GAL-CHAR-SIZE",
            [b"\x89PNG\r\n\x1a\n".to_vec(), vec![0; MAX_PICTURE]].concat(),
        ),
        ("no object", "GAL-CHAR-TYPE", png(&[plain("chara", &json!([1]))])),
        ("JPEG", "GAL-CHAR-CARD", b"\xff\xd8\xff\xe0rest".to_vec()),
        ("WebP", "GAL-CHAR-CARD", b"RIFF\0\0\0\0WEBPVP8 ".to_vec()),
        ("CHARX", "GAL-CHAR-CARD", b"PK\x03\x04rest".to_vec()),
    ] {
        let refused = read(&bytes).expect_err(what);
        assert_eq!(refused.diagnostics[0].code, code, "{what}: {refused}");
        assert!(refused.diagnostics.iter().any(|d| d.help.is_some()), "{what}: {refused}");
    }
}

#[test]
fn a_card_without_a_name_or_with_a_wrong_type_is_refused_where_it_stands() {
    let mut card = v2();
    card["data"]["name"] = json!(" ");
    assert_eq!(error(&card.to_string()).code, "GAL-CHAR-MISSING");
    let text = "{\n  \"name\": \"Ada\",\n  \"description\": [1],\n  \"first_mes\": \"x\"\n}";
    let fault = error(text);
    assert_eq!((fault.code, fault.line), ("GAL-CHAR-TYPE", 3));
    // A card that says so but has nothing in it.
    assert_eq!(error("{\"spec\": \"chara_card_v2\"}").code, "GAL-CHAR-MISSING");
    let empty = loaded("{\"spec\": \"chara_card_v2\", \"data\": {\"name\": \"A\"}}");
    assert_eq!(empty.warnings[0].code, "GAL-CHAR-EMPTY");
}

#[test]
fn placeholders_of_every_program_are_replaced_and_unknown_ones_remarked() {
    let file = |bio: &str| json!({ "name": "Ada", "bio": [bio] }).to_string();
    for (written, meant) in [
        ("{{char}} and {{ Char }} and {{CHAR}}", "Ada and Ada and Ada"),
        ("<BOT> talks to <USER>.", "Ada talks to the user."),
        ("{{agentName}}, {{name}}, {{bot}}, {{agent_name}}", "Ada, Ada, Ada, Ada"),
        ("{{user}} {{userName}} {{senderName}}", "the user the user the user"),
        ("{{user1}} {{name2}} {{user9}}", "Person 1 Person 2 Person 9"),
        ("{{{char}}}", "{Ada}"),
        ("a{{// a comment}}b{{trim}}", "ab"),
        ("<b>bold</b> <user> {x} {{", "<b>bold</b> <user> {x} {{"),
        ("é{{char}}é", "éAdaé"),
    ] {
        let loaded = loaded(&file(written));
        assert!(loaded.warnings.is_empty(), "{written}: {:#?}", loaded.warnings);
        assert_eq!(loaded.character.bio, [written], "as it is written");
        assert_eq!(loaded.character.filled().bio, [meant]);
    }
    for unknown in ["{{random:a,b}}", "{{time}}", "{{user10}}", "{{wieder}}"] {
        let loaded = loaded(&file(&format!("x {unknown} y {unknown}")));
        assert_eq!(loaded.warnings.len(), 1, "{unknown}: once");
        let warning = &loaded.warnings[0];
        assert_eq!(warning.code, "GAL-CHAR-PLACEHOLDER");
        assert!(warning.message.contains(unknown) && warning.help.is_some());
        let line = file(&format!("x {unknown} y {unknown}"));
        assert_eq!(warning.column, line.find(unknown).unwrap() + 1, "its place");
        assert_eq!(loaded.character.filled().bio, [format!("x {unknown} y {unknown}")]);
    }
    // Templates have values of their own.
    let templates = json!({ "name": "A", "bio": "b", "templates": { "replyTemplate": "{{recentMessages}} {{agentName}}" } });
    let loaded = loaded(&templates.to_string());
    assert!(loaded.warnings.is_empty(), "{:#?}", loaded.warnings);
    assert!(loaded.character.filled().templates["replyTemplate"].contains("{{agentName}}"));
    assert!(texts(&loaded.character).contains("recentMessages"));
}

#[test]
fn knowledge_as_an_object_is_read_in_every_form() {
    let text = |text: &str| Knowledge::Text(text.to_owned());
    let file = |path: &str| Knowledge::File { path: path.to_owned(), shared: false };
    let folder =
        |directory: &str, shared| Knowledge::Directory { directory: directory.to_owned(), shared };
    for (knowledge, expected) in [
        (json!({ "path": "a.md" }), vec![file("a.md")]),
        (json!({ "directory": "docs", "shared": true }), vec![folder("docs", true)]),
        (json!({ "items": ["a", { "path": "b.md" }] }), vec![text("a"), file("b.md")]),
        (
            json!({ "documents": [{ "dir": "docs" }], "facts": ["c"] }),
            vec![folder("docs", false), text("c")],
        ),
        (
            json!({ "Fees": ["are low", "are due"], "Hours": "nine to six" }),
            vec![text("Fees: are low"), text("Fees: are due"), text("Hours: nine to six")],
        ),
        (json!([{ "item": { "case": "path", "value": "a.md" } }]), vec![file("a.md")]),
        (
            json!([{ "item": { "case": "directory", "value": { "directory": "d" } }, "shared": true }]),
            vec![folder("d", true)],
        ),
        (json!([{ "text": "plain" }, { "content": "words" }]), vec![text("plain"), text("words")]),
        (json!({}), vec![]),
        (json!(null), vec![]),
    ] {
        let file = json!({ "name": "A", "bio": "b", "knowledge": knowledge });
        let mut read = loaded(&file.to_string()).character.knowledge;
        let mut expected = expected;
        let key = |known: &Knowledge| format!("{known:?}");
        read.sort_by_key(key);
        expected.sort_by_key(key);
        assert_eq!(read, expected, "{file}");
    }
    let odd = loaded(&json!({ "name": "A", "bio": "b", "knowledge": { "count": 3 } }).to_string());
    assert_eq!(odd.character.extra["knowledge.count"], 3, "kept");
}

#[test]
fn typographic_quotation_marks_are_named_with_their_place() {
    for (text, line, column) in [
        ("{\n  “name”: \"Ada\"\n}", 2, 3),
        ("{\n  \"name\": “Ada”,\n  \"bio\": \"x\"\n}", 2, 11),
        ("{\n  \"name\": \"Ada”,\n  \"bio\": \"x\"\n}", 2, 15),
        ("{ \"name\": „Ada“ }", 1, 11),
        ("{ «name»: 1 }", 1, 3),
        ("{ ‘name’: 'x' }", 1, 3),
    ] {
        let fault = error(text);
        assert_eq!(
            (fault.code, fault.line, fault.column),
            ("GAL-CHAR-SYNTAX", line, column),
            "{text}"
        );
        assert!(fault.message.contains("typographic"), "{fault}");
        assert!(fault.help.unwrap().contains("replace"), "{text}");
    }
    let fine = loaded("{ \"name\": \"Ada\", \"bio\": \"She says “hi” and ‘ho’.\" }");
    assert!(fine.warnings.is_empty());
    let comment = loaded("{ // “quoted”\n \"name\": \"Ada\", \"bio\": \"x\" }");
    assert!(comment.warnings.iter().all(|warning| warning.code == "GAL-CHAR-LOOSE"));
}

#[test]
fn a_long_book_is_searched_and_not_shown_whole() {
    let entries: Vec<Value> = (0..200)
        .map(|n| json!({ "keys": [format!("k{n}")], "content": "word ".repeat(100), "enabled": true, "insertion_order": n }))
        .collect();
    let mut card = v2();
    card["data"]["character_book"] = json!({ "entries": entries });
    let character = loaded(&card.to_string()).character;
    let lines = character.known_lines();
    let shown: usize = lines.shown.iter().map(|line| line.chars().count()).sum();
    assert!(shown <= 6_000 && !lines.shown.is_empty(), "{shown}");
    assert_eq!(lines.shown.len() + lines.found.len(), 200);
    // World books number their entries.
    card["data"]["character_book"] = json!({ "entries": { "0": { "key": ["a"], "content": "b", "disable": false }, "1": { "content": "c", "disable": true } } });
    let numbered = loaded(&card.to_string()).character;
    assert_eq!(numbered.knowledge, [Knowledge::Text("a: b".into())]);
}

proptest! {
    #[test]
    fn no_picture_breaks_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let _ = read(&[b"\x89PNG\r\n\x1a\n".to_vec(), bytes.clone()].concat());
        let _ = read(&png(&[chunk(b"tEXt", &[b"chara\0", bytes.as_slice()].concat())]));
        let _ = read(&png(&[chunk(b"zTXt", &[b"chara\0\0", bytes.as_slice()].concat())]));
        let _ = read(&png(&[chunk(b"iTXt", &[b"ccv3\0", bytes.as_slice()].concat())]));
    }

    #[test]
    fn no_text_breaks_the_placeholders(text in "[{}<>a-zA-Z/:é ]{0,80}") {
        let file = json!({ "name": "Ada", "bio": [text] }).to_string();
        if let Ok(loaded) = load("c.json", &file) {
            let filled = loaded.character.filled();
            let _ = filled.filled();
        }
    }
}
