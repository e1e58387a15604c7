//! Permission to write, privacy mode, ids, migration, members.

use super::*;
use galatea_testkit::telegram::{BotApi, Standing};

#[tokio::test]
async fn a_refused_write_names_its_reason() {
    let api = BotApi::start().await;
    let ann = api.user("Ann", "");
    let send = |chat: i64| json!({ "chat_id": chat, "text": "x" });
    assert_eq!(refused(&api, "sendMessage", send(12345)).await, "Bad Request: chat not found");
    ann.direct();
    assert_eq!(
        refused(&api, "sendMessage", send(ann.id)).await,
        "Forbidden: bot can't initiate conversation with a user"
    );
    ann.says(&ann.direct(), "hi").send();
    ann.blocks_bot();
    assert_eq!(
        refused(&api, "sendMessage", send(ann.id)).await,
        "Forbidden: bot was blocked by the user"
    );
    ann.unblocks_bot();
    ok(&api, "sendMessage", send(ann.id)).await;
    let group = api.supergroup("Band", &[&ann]);
    ann.removes_bot(&group);
    assert_eq!(
        refused(&api, "sendMessage", send(group.id)).await,
        "Forbidden: bot was kicked from the supergroup chat"
    );
    ann.adds_bot(&group);
    ann.sets_bot(&group, Standing::Restricted);
    assert_eq!(
        refused(&api, "sendMessage", send(group.id)).await,
        "Bad Request: not enough rights to send text messages to the chat"
    );
    ok(&api, "leaveChat", json!({ "chat_id": group.id })).await;
    assert_eq!(
        refused(&api, "sendMessage", send(group.id)).await,
        "Forbidden: bot is not a member of the supergroup chat"
    );
    violates(&api, "sendMessage", json!({ "chat_id": { "id": 1 }, "text": "x" })).await;
}

#[tokio::test]
async fn a_migrated_group_names_its_new_id() {
    let api = BotApi::start().await;
    let ann = api.user("Ann", "");
    let group = api.group("Band", &[&ann]);
    let new = ann.migrates(&group);
    let (status, body) =
        call(&api, "sendMessage", json!({ "chat_id": group.id, "text": "x" })).await;
    assert_eq!(status, 400);
    assert_eq!(body["description"], "Bad Request: group chat was upgraded to a supergroup chat");
    assert_eq!(body["parameters"]["migrate_to_chat_id"], new.id);
    ok(&api, "sendMessage", json!({ "chat_id": new.id, "text": "x" })).await;
    let got = updates(&api, json!({})).await;
    assert_eq!(got[0]["message"]["migrate_to_chat_id"], new.id);
    assert_eq!(got[1]["message"]["migrate_from_chat_id"], group.id);
}

#[tokio::test]
async fn privacy_mode_hides_what_is_not_addressed() {
    let api = BotApi::start().await;
    let ann = api.user("Ann", "");
    let group = api.supergroup("Band", &[&ann]);
    let ours =
        ok(&api, "sendMessage", json!({ "chat_id": group.id, "text": "x" })).await["message_id"]
            .as_i64()
            .unwrap();
    let mention = format!("👋 @{} hello", api.bot_username());
    ann.says(&group, "nothing for you").send();
    ann.says(&group, &mention).send();
    ann.says(&group, "to you").reply_to(ours).send();
    ann.says(&group, "/help").send();
    ann.says(&group, "/help@another_bot").send();
    let texts = |got: Vec<Value>| {
        got.iter().map(|u| u["message"]["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let got = updates(&api, json!({})).await;
    assert_eq!(
        got[0]["message"]["entities"][0],
        json!({ "type": "mention", "offset": 3, "length": 17 })
    );
    assert_eq!(texts(got), [mention.as_str(), "to you", "/help"]);
    api.set_privacy(false);
    ann.says(&group, "now seen").send();
    assert_eq!(texts(updates(&api, json!({ "offset": -1 })).await), ["now seen"]);
    api.set_privacy(true);
    ann.promotes_bot(&group);
    ann.says(&group, "admins see all").send();
    assert_eq!(texts(updates(&api, json!({ "offset": -1 })).await), ["admins see all"]);
}

#[tokio::test]
async fn message_ids_ascend_per_supergroup_and_are_shared_elsewhere() {
    let api = BotApi::start().await;
    let (ann, bob) = (api.user("Ann", ""), api.user("Bob", ""));
    let (one, two) = (api.supergroup("One", &[&ann]), api.supergroup("Two", &[&ann]));
    let ids = [ann.says(&one, "a").send(), ann.says(&two, "b").send(), ann.says(&one, "c").send()];
    assert_eq!(ids, [1, 1, 2]);
    let ids = [
        ann.says(&ann.direct(), "a").send(),
        bob.says(&bob.direct(), "b").send(),
        ann.says(&api.group("G", &[&ann]), "c").send(),
    ];
    assert_eq!(ids, [1, 2, 3]);
}

#[tokio::test]
async fn members_and_administrators_are_reported() {
    let api = BotApi::start().await;
    let (ann, bob) = (api.user("Ann", ""), api.user("Bob", ""));
    let group = api.supergroup("Band", &[&ann, &bob]);
    let chat = json!({ "chat_id": group.id });
    let admins = ok(&api, "getChatAdministrators", chat.clone()).await;
    assert_eq!(
        (admins.as_array().unwrap().len(), admins[0]["status"].as_str()),
        (1, Some("creator"))
    );
    assert_eq!(ok(&api, "getChatMemberCount", chat.clone()).await, json!(3));
    assert_eq!(
        ok(&api, "getChatMember", json!({ "chat_id": group.id, "user_id": bob.id })).await["status"],
        "member"
    );
    bob.leaves(&group);
    assert_eq!(
        ok(&api, "getChatMember", json!({ "chat_id": group.id, "user_id": bob.id })).await["status"],
        "left"
    );
    assert_eq!(ok(&api, "getChat", chat).await["title"], "Band");
    group.publish("band_chat");
    assert_eq!(ok(&api, "getChat", json!({ "chat_id": "@Band_Chat" })).await["id"], group.id);
}

#[tokio::test]
async fn topic_messages_point_at_the_topic_not_at_a_reply() {
    let api = BotApi::start().await;
    let ann = api.user("Ann", "");
    let forum = api.forum("Forum", &[&ann]);
    ann.promotes_bot(&forum);
    let topic = ann.opens_topic(&forum, "Cats");
    ann.says(&forum, "in it").in_topic(topic).send();
    ann.says(&forum, "in General").send();
    let got = updates(&api, json!({})).await;
    let messages: Vec<_> = got.iter().filter_map(|u| u.get("message")).collect();
    assert_eq!(messages[1]["reply_to_message"]["forum_topic_created"]["name"], "Cats");
    assert_eq!(
        (messages[1]["message_thread_id"].as_i64(), messages[1]["is_topic_message"].as_bool()),
        (Some(topic), Some(true))
    );
    assert!(messages[2].get("message_thread_id").is_none());
}
