//! Calls that a correct client does not make.

use super::*;
use galatea_testkit::telegram::BotApi;

#[tokio::test]
async fn a_broken_rule_is_refused_and_noticed() {
    let api = BotApi::start().await;
    let ann = api.user("Ann", "ann_b");
    ann.says(&ann.direct(), "hi").send();
    let send = |field: &str, value: Value| {
        let mut body = json!({ "chat_id": ann.id, "text": "x" });
        body[field] = value;
        body
    };
    let keyboard =
        |data: &str| json!({ "inline_keyboard": [[{ "text": "Yes", "callback_data": data }]] });
    let item = |kind: &str| json!({ "type": kind, "media": "https://a.b/c" });
    let broken = [
        ("sendTelepathy", json!({})),
        ("sendMessage", send("text", json!("🙂".repeat(2049)))),
        ("sendMessage", send("text", json!(" \n "))),
        ("sendMessage", json!({ "chat_id": ann.id })),
        ("sendMessage", send("chat_id", json!({ "id": 1 }))),
        ("sendMessage", send("parse_mode", json!("BBCode"))),
        ("sendMessage", json!({ "chat_id": ann.id, "text": "a.", "parse_mode": "MarkdownV2" })),
        ("sendMessage", send("reply_markup", keyboard(&"x".repeat(65)))),
        ("sendDocument", json!({ "chat_id": ann.id, "document": "nope" })),
        ("sendPhoto", json!({ "chat_id": ann.id })),
        ("sendMediaGroup", json!({ "chat_id": ann.id, "media": vec![item("photo"); 11] })),
        (
            "sendMediaGroup",
            json!({ "chat_id": ann.id, "media": [item("photo"), item("document")] }),
        ),
        ("editMessageText", json!({ "text": "x" })),
        ("setWebhook", json!({ "url": "https://example.org/hook" })),
    ];
    for (method, params) in broken {
        violates(&api, method, params).await;
    }
    assert!(api.shown(ann.id).is_empty());
    // The longest text is no violation: the server counts UTF-16 units after parsing.
    ok(&api, "sendMessage", send("text", json!("🙂".repeat(2048)))).await;
}
