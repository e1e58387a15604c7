//! Editing, deleting, reacting.

use super::*;
use galatea_testkit::{
    clock::ManualClock,
    telegram::{BotApi, Options},
};
use std::{sync::Arc, time::Duration};

const NOT_MODIFIED: &str = "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message";

#[tokio::test]
async fn the_edit_probe_tells_landed_from_missing_from_foreign() {
    let api = BotApi::start().await;
    let ann = api.user("Ann", "");
    let theirs = ann.says(&ann.direct(), "hi").send();
    let ours =
        ok(&api, "sendMessage", json!({ "chat_id": ann.id, "text": "x" })).await["message_id"]
            .clone();
    let probe = |id: Value| json!({ "chat_id": ann.id, "message_id": id });
    assert_eq!(refused(&api, "editMessageReplyMarkup", probe(ours)).await, NOT_MODIFIED);
    assert_eq!(
        refused(&api, "editMessageReplyMarkup", probe(json!(777))).await,
        "Bad Request: message to edit not found"
    );
    assert_eq!(
        refused(&api, "editMessageReplyMarkup", probe(json!(theirs))).await,
        "Bad Request: message can't be edited"
    );
}

#[tokio::test]
async fn text_and_captions_are_edited_each_in_its_own_way() {
    let api = BotApi::start().await;
    let ann = api.user("Ann", "");
    ann.says(&ann.direct(), "hi").send();
    let text =
        ok(&api, "sendMessage", json!({ "chat_id": ann.id, "text": "one" })).await["message_id"]
            .clone();
    let edit =
        |text: &str, id: &Value| json!({ "chat_id": ann.id, "message_id": id, "text": text });
    assert_eq!(ok(&api, "editMessageText", edit("two", &text)).await["text"], "two");
    assert_eq!(refused(&api, "editMessageText", edit("two", &text)).await, NOT_MODIFIED);
    assert!(api.shown(ann.id)[0].edited);
    let photo = ok(
        &api,
        "sendPhoto",
        json!({ "chat_id": ann.id, "photo": "https://a.b/c.png", "caption": "one" }),
    )
    .await["message_id"]
        .clone();
    assert_eq!(
        refused(&api, "editMessageText", edit("two", &photo)).await,
        "Bad Request: there is no text in the message to edit"
    );
    let caption = json!({ "chat_id": ann.id, "message_id": photo, "caption": "two" });
    assert_eq!(ok(&api, "editMessageCaption", caption).await["caption"], "two");
    violates(&api, "editMessageText", json!({ "text": "x" })).await;
    let long = json!({ "chat_id": ann.id, "message_id": photo, "caption": "x".repeat(1025) });
    assert_eq!(
        violates(&api, "editMessageCaption", long).await.1,
        "Bad Request: message caption is too long"
    );
}

#[tokio::test]
async fn deleting_has_its_own_rights_and_times() {
    let clock = ManualClock::new();
    let api = BotApi::with(Options { clock: Arc::new(clock.clone()), ..Options::default() }).await;
    let ann = api.user("Ann", "");
    let group = api.supergroup("Band", &[&ann]);
    let theirs = ann.says(&group, "hi").send();
    let delete = |id: Value| json!({ "chat_id": group.id, "message_id": id });
    assert_eq!(
        refused(&api, "deleteMessage", delete(json!(theirs))).await,
        "Bad Request: message can't be deleted"
    );
    let ours =
        ok(&api, "sendMessage", json!({ "chat_id": group.id, "text": "x" })).await["message_id"]
            .clone();
    ok(&api, "deleteMessage", delete(ours.clone())).await;
    assert_eq!(
        refused(&api, "deleteMessage", delete(ours)).await,
        "Bad Request: message to delete not found"
    );
    let old =
        ok(&api, "sendMessage", json!({ "chat_id": group.id, "text": "x" })).await["message_id"]
            .clone();
    clock.advance(Duration::from_secs(48 * 3600 + 1));
    assert_eq!(
        refused(&api, "deleteMessage", delete(old)).await,
        "Bad Request: message can't be deleted for everyone"
    );
    ann.promotes_bot(&group);
    ok(&api, "deleteMessage", delete(json!(theirs))).await;
}

#[tokio::test]
async fn reactions_are_one_of_the_documented_emoji() {
    let api = BotApi::start().await;
    let ann = api.user("Ann", "");
    let id = ann.says(&ann.direct(), "hi").send();
    let react =
        |list: Value, id: i64| json!({ "chat_id": ann.id, "message_id": id, "reaction": list });
    ok(&api, "setMessageReaction", react(json!([{ "type": "emoji", "emoji": "👍" }]), id)).await;
    assert_eq!(api.bot_reactions(ann.id, id), ["👍"]);
    assert_eq!(
        violates(
            &api,
            "setMessageReaction",
            react(json!([{ "type": "emoji", "emoji": "🧦" }]), id)
        )
        .await
        .1,
        "Bad Request: REACTION_INVALID"
    );
    let two = json!([{ "type": "emoji", "emoji": "👍" }, { "type": "emoji", "emoji": "🔥" }]);
    violates(&api, "setMessageReaction", react(two, id)).await;
    assert_eq!(
        refused(&api, "setMessageReaction", react(json!([]), 99)).await,
        "Bad Request: message to react not found"
    );
    ok(&api, "setMessageReaction", react(json!([]), id)).await;
    assert!(api.bot_reactions(ann.id, id).is_empty());
}
