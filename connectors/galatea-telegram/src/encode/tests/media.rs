//! Tests of messages with attachments.

use super::*;

fn photo(url: &str) -> Media {
    Media { url: url.into(), content_type: MediaKind::Image, ..Media::default() }
}

fn with_media(text: &str, attachments: Vec<Media>) -> Content {
    Content { attachments, ..Content::text(text) }
}

fn message_of(content: Content) -> Vec<BotCall> {
    encode_parts(&Outgoing::Message { content, reply_to: Some(RemoteId("5:7".into())) }).unwrap()
}

#[test]
fn a_picture_carries_its_caption() {
    let parts = message_of(with_media("**look**", vec![photo("https://x.y/p.png")]));
    assert_eq!(parts.len(), 1);
    assert_eq!(parts[0].method, Method::SendPhoto);
    assert_eq!(
        Value::Object(parts[0].params.clone()),
        json!({"photo": "https://x.y/p.png", "caption": "look", "caption_entities": [{"type": "bold", "offset": 0, "length": 4}]})
    );
    assert_eq!(parts[0].reply_to, Some(RemoteId("5:7".into())));
}

#[test]
fn what_a_caption_cannot_hold_follows() {
    let parts = message_of(with_media(&"word ".repeat(1500), vec![photo("telegram:abc")]));
    assert!(parts.len() >= 3);
    assert_eq!(parts[0].params["photo"], "abc");
    assert!(units(parts[0].params["caption"].as_str().unwrap()) <= 1024);
    assert!(parts[1..].iter().all(|p| p.method == Method::SendMessage && p.reply_to.is_none()));
    let together: String = parts
        .iter()
        .map(|p| p.params.get("caption").or(p.params.get("text")).unwrap().as_str().unwrap())
        .collect();
    assert_eq!(together.trim_end(), "word ".repeat(1500).trim_end());
}

#[test]
fn pictures_travel_as_albums_of_ten() {
    let parts = message_of(with_media(
        "hi",
        (0..13).map(|n| photo(&format!("https://x.y/{n}.png"))).collect(),
    ));
    assert_eq!(
        parts.iter().map(|p| p.method).collect::<Vec<_>>(),
        [Method::SendMediaGroup, Method::SendMediaGroup]
    );
    let sizes: Vec<_> = parts.iter().map(|p| p.params["media"].as_array().unwrap().len()).collect();
    assert_eq!(sizes, [10, 3]);
    assert_eq!(parts[0].params["media"][0]["caption"], "hi");
    assert_eq!(parts[0].params["media"][1].get("caption"), None);
}

#[test]
fn albums_do_not_mix_kinds_or_carry_buttons() {
    let document = Media { url: "https://x.y/a.pdf".into(), ..Media::default() };
    let methods = |content| message_of(content).iter().map(|p| p.method).collect::<Vec<_>>();
    assert_eq!(
        methods(with_media("", vec![photo("https://x.y/1"), document.clone(), document.clone()])),
        [Method::SendPhoto, Method::SendMediaGroup]
    );
    let buttons = vec![vec![Button { text: "ok".into(), press: Press::Data("1".into()) }]];
    let parts = message_of(Content {
        buttons,
        ..with_media("hi", vec![photo("https://x.y/1"), photo("https://x.y/2")])
    });
    assert_eq!(
        parts.iter().map(|p| p.method).collect::<Vec<_>>(),
        [Method::SendPhoto, Method::SendPhoto]
    );
    assert!(
        !parts[0].params.contains_key("reply_markup")
            && parts[1].params.contains_key("reply_markup")
    );
}

#[test]
fn uploads_are_named_files() {
    let parts = message_of(with_media(
        "",
        vec![Media { mime: Some("image/png".into()), ..photo("data:image/png;base64,AAAA") }],
    ));
    assert_eq!(
        parts[0].files,
        [Upload {
            field: "photo".into(),
            url: "data:image/png;base64,AAAA".into(),
            name: "photo.png".into(),
            mime: Some("image/png".into()),
            description: String::new(),
        }]
    );
    let parts = message_of(with_media(
        "",
        vec![photo("data:,x"), Media { title: "../a/b\n.png".into(), ..photo("file:///tmp/x") }],
    ));
    assert_eq!(parts[0].params["media"][1]["media"], "attach://file1");
    assert_eq!(parts[0].files[1].name, ".._a_b_.png");
    for wrong in ["", "ftp://x", "relative.png", "javascript:x"] {
        assert!(parts_of(with_media("", vec![photo(wrong)])).is_err(), "{wrong:?}");
    }
}

#[test]
fn attached_links_become_lines() {
    let link = Media {
        url: "https://x.y/".into(),
        title: "The page".into(),
        content_type: MediaKind::Link,
        ..Media::default()
    };
    let parts = message_of(with_media("see", vec![link]));
    assert_eq!(parts[0].params["text"], "see\nThe page");
    assert_eq!(parts[0].params["entities"][0]["url"], "https://x.y/");
}
