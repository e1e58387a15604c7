//! sendMessage and the parameters all sends share: length, entities, replies, threads, keyboards.

use super::*;
use galatea_testkit::telegram::{BotApi, Options, Pace, User};
use std::sync::Arc;

async fn with_ann() -> (BotApi, User) {
    let api = BotApi::start().await;
    let ann = api.user("Ann", "ann_b");
    ann.says(&ann.direct(), "hi").send();
    (api, ann)
}

#[tokio::test]
async fn text_holds_1_to_4096_utf16_units_after_parsing() {
    let (api, ann) = with_ann().await;
    let send = |text: String| json!({ "chat_id": ann.id, "text": text });
    ok(&api, "sendMessage", send("🙂".repeat(2048))).await;
    assert_eq!(
        violates(&api, "sendMessage", send("🙂".repeat(2049))).await.1,
        "Bad Request: message is too long"
    );
    assert_eq!(
        violates(&api, "sendMessage", send(String::new())).await.1,
        "Bad Request: message text is empty"
    );
    assert_eq!(
        violates(&api, "sendMessage", send(" \n ".into())).await.1,
        "Bad Request: text must be non-empty"
    );
    assert_eq!(
        violates(&api, "sendMessage", json!({ "chat_id": ann.id })).await.1,
        "Bad Request: message text is empty"
    );
    let html = json!({ "chat_id": ann.id, "text": format!("<b>{}</b>", "x".repeat(4096)), "parse_mode": "HTML" });
    assert_eq!(
        ok(&api, "sendMessage", html).await["entities"][0]["length"],
        4096,
        "markup does not count"
    );
}

#[tokio::test]
async fn entities_and_parse_modes_are_checked() {
    let (api, ann) = with_ann().await;
    let split = json!({ "chat_id": ann.id, "text": "👉x", "entities": [{ "type": "bold", "offset": 1, "length": 1 }] });
    assert_eq!(
        violates(&api, "sendMessage", split).await.1,
        "Bad Request: entity begins in a middle of a UTF-16 symbol at byte offset 4"
    );
    let dot = json!({ "chat_id": ann.id, "text": "a.", "parse_mode": "MarkdownV2" });
    assert_eq!(
        violates(&api, "sendMessage", dot).await.1,
        "Bad Request: can't parse entities: Character '.' is reserved and must be escaped with the preceding '\\'"
    );
    violates(
        &api,
        "sendMessage",
        json!({ "chat_id": ann.id, "text": "a", "parse_mode": "BBCode" }),
    )
    .await;
    let before = api.violations().len();
    let overlap = json!({ "chat_id": ann.id, "text": "abcdef", "entities": [{ "type": "bold", "offset": 0, "length": 3 }, { "type": "italic", "offset": 2, "length": 3 }] });
    ok(&api, "sendMessage", overlap).await;
    assert_eq!(
        api.violations().len(),
        before + 1,
        "the real server mends overlaps; a correct client sends none"
    );
}

#[tokio::test]
async fn a_missing_reply_target_refuses_unless_allowed() {
    let (api, ann) = with_ann().await;
    let reply = |id: i64, lenient: bool| json!({ "chat_id": ann.id, "text": "x", "reply_parameters": { "message_id": id, "allow_sending_without_reply": lenient } });
    assert_eq!(
        refused(&api, "sendMessage", reply(999, false)).await,
        "Bad Request: message to be replied not found"
    );
    assert!(ok(&api, "sendMessage", reply(999, true)).await.get("reply_to_message").is_none());
    assert_eq!(ok(&api, "sendMessage", reply(1, false)).await["reply_to_message"]["text"], "hi");
}

#[tokio::test]
async fn threads_exist_and_general_is_left_out_when_sending() {
    let (api, ann) = with_ann().await;
    let forum = api.forum("Forum", &[&ann]);
    let topic = ann.opens_topic(&forum, "Cats");
    let send =
        |thread: i64| json!({ "chat_id": forum.id, "text": "x", "message_thread_id": thread });
    let sent = ok(&api, "sendMessage", send(topic)).await;
    assert_eq!(
        (sent["message_thread_id"].as_i64(), sent["is_topic_message"].as_bool()),
        (Some(topic), Some(true))
    );
    assert_eq!(
        refused(&api, "sendMessage", send(topic + 100)).await,
        "Bad Request: message thread not found"
    );
    assert_eq!(
        violates(&api, "sendMessage", send(1)).await.1,
        "Bad Request: message thread not found"
    );
    let action = |thread: i64| json!({ "chat_id": forum.id, "action": "typing", "message_thread_id": thread });
    ok(&api, "sendChatAction", action(1)).await;
    violates(&api, "sendChatAction", json!({ "chat_id": forum.id, "action": "thinking" })).await;
    ann.deletes_topic(&forum, topic);
    assert_eq!(
        refused(&api, "sendMessage", send(topic)).await,
        "Bad Request: message thread not found"
    );
}

#[tokio::test]
async fn a_reply_in_a_topic_stays_in_it() {
    let (api, ann) = with_ann().await;
    let forum = api.forum("Forum", &[&ann]);
    let topic = ann.opens_topic(&forum, "Cats");
    let asked = ann.says(&forum, "miaow").in_topic(topic).send();
    let sent = ok(
        &api,
        "sendMessage",
        json!({ "chat_id": forum.id, "text": "x", "reply_parameters": { "message_id": asked } }),
    )
    .await;
    assert_eq!(sent["message_thread_id"], topic);
}

#[tokio::test]
async fn buttons_are_checked_and_come_back_when_pressed() {
    let (api, ann) = with_ann().await;
    let keyboard = |data: &str| json!({ "chat_id": ann.id, "text": "?", "reply_markup": { "inline_keyboard": [[{ "text": "Yes", "callback_data": data }]] } });
    assert_eq!(
        violates(&api, "sendMessage", keyboard(&"x".repeat(65))).await.1,
        "Bad Request: BUTTON_DATA_INVALID"
    );
    let sent = ok(&api, "sendMessage", keyboard("yes")).await;
    let query = ann.presses(&ann.direct(), sent["message_id"].as_i64().unwrap(), "yes");
    let got = updates(&api, json!({ "offset": -1 })).await;
    assert_eq!(
        (got[0]["callback_query"]["id"].as_str(), got[0]["callback_query"]["data"].as_str()),
        (Some(query.as_str()), Some("yes"))
    );
    ok(&api, "answerCallbackQuery", json!({ "callback_query_id": query })).await;
    assert!(api.is_answered(&query));
    let again = refused(&api, "answerCallbackQuery", json!({ "callback_query_id": query })).await;
    assert_eq!(
        again,
        "Bad Request: query is too old and response timeout expired or query ID is invalid"
    );
}

#[tokio::test]
async fn pacing_answers_429_and_enforces_it() {
    let clock = galatea_testkit::clock::ManualClock::new();
    let api = BotApi::with(Options {
        clock: Arc::new(clock.clone()),
        pace: Pace::published(),
        ..Options::default()
    })
    .await;
    let ann = api.user("Ann", "");
    ann.says(&ann.direct(), "hi").send();
    let send = json!({ "chat_id": ann.id, "text": "x" });
    ok(&api, "sendMessage", send.clone()).await;
    let (status, body) = call(&api, "sendMessage", send.clone()).await;
    assert_eq!((status, &body["parameters"]["retry_after"]), (429, &json!(1)));
    assert_eq!(body["description"], "Too Many Requests: retry after 1");
    clock.advance(std::time::Duration::from_secs(1));
    ok(&api, "sendMessage", send).await;
}
