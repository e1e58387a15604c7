//! Tests of sending: what people see, and what is reported after a fault.

mod read_back;

use galatea_core::{
    Content, Delivery, Error, ErrorKind, Media, MediaKind, Outgoing, ReadBackContext,
    ReadBackResult, RemoteId, Retry, SendHandler, Sent, Speak,
};
use galatea_telegram::TelegramConnector;
use galatea_testkit::{
    clock::ManualClock,
    telegram::{BotApi, Effect, ErrorBody, Fault, Standing},
};
use std::sync::Arc;

use super::support::{address, build, config, deliveries, send};

struct Scene {
    api: BotApi,
    connector: TelegramConnector,
    handler: Arc<dyn SendHandler>,
    folder: tempfile::TempDir,
    clock: ManualClock,
}

async fn scene() -> Scene {
    let api = BotApi::start().await;
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::new();
    let connector = build(config(&api), folder.path(), clock.shared());
    Scene { handler: connector.send_handler(), api, connector, folder, clock }
}

impl Scene {
    /// The same connector after a kill and a restart of its process.
    fn restarted(&self) -> Arc<dyn SendHandler> {
        build(config(&self.api), self.folder.path(), self.clock.shared()).send_handler()
    }
}

fn say(text: &str) -> Outgoing {
    Outgoing::Message { content: Content::text(text), reply_to: None }
}

fn reply(text: &str, to: String) -> Outgoing {
    Outgoing::Message { content: Content::text(text), reply_to: Some(RemoteId(to)) }
}

fn only_delivery(handler: &dyn SendHandler, room: &str, outgoing: &Outgoing) -> Delivery {
    let mut all = deliveries(handler, room, outgoing);
    assert_eq!(all.len(), 1);
    all.remove(0)
}

#[tokio::test]
async fn text_arrives_with_entities_as_a_reply() {
    let s = scene().await;
    let ann = s.api.user("Ann", "ann_b");
    let asked = ann.says(&ann.direct(), "hi").send();
    let receipt = send(
        &*s.handler,
        &ann.id.to_string(),
        &reply("🤖 **hello** [Ann](https://a.b/)", format!("{}:{asked}", ann.id)),
    )
    .await
    .remove(0)
    .unwrap();
    let shown = s.api.shown(ann.id);
    assert_eq!((shown[0].text.as_str(), shown[0].reply_to), ("🤖 hello Ann", Some(asked)));
    assert_eq!(shown[0].entities[0], serde_json::json!({"type": "bold", "offset": 3, "length": 5}));
    assert_eq!(receipt.id.unwrap().as_str(), format!("{}:{}", ann.id, shown[0].id));
    ann.deletes(&ann.direct(), asked);
    assert!(
        send(&*s.handler, &ann.id.to_string(), &reply("later", format!("{}:{asked}", ann.id)))
            .await
            .remove(0)
            .is_ok(),
        "the message replied to may be deleted"
    );
}

#[tokio::test]
async fn long_answers_come_in_parts_that_fit() {
    let s = scene().await;
    let ann = s.api.user("Ann", "ann_b");
    ann.says(&ann.direct(), "hi").send();
    let code = (0..2000).map(|n| format!("let x{n} = \"é🤖\";\n")).collect::<String>();
    let text = format!(
        "# Title\n\nWords **bold** and more.\n\n```rust\n{code}```\n\n- a\n- b\n\n> quote\n\n| a | b |\n|--|--|\n| 1 | 2 |"
    );
    for receipt in send(&*s.handler, &ann.id.to_string(), &say(&text)).await {
        receipt.unwrap();
    }
    assert!(s.api.shown(ann.id).len() > 5);
}

#[tokio::test]
async fn topics_get_their_messages_and_general_its_typing() {
    let s = scene().await;
    let ann = s.api.user("Ann", "ann_b");
    let forum = s.api.forum("Garden", &[&ann]);
    let topic = ann.opens_topic(&forum, "Roses");
    send(&*s.handler, &format!("{}-{topic}", forum.id), &say("in it")).await.remove(0).unwrap();
    send(&*s.handler, &forum.id.to_string(), &say("in general")).await.remove(0).unwrap();
    assert_eq!(
        s.api.shown(forum.id).iter().map(|m| m.thread).collect::<Vec<_>>(),
        [Some(topic), None]
    );
    s.handler.typing(&address(&format!("{}-{topic}", forum.id))).await.unwrap();
    assert_eq!(s.api.actions(), [(forum.id, Some(topic), "typing".to_owned())]);
    s.api.allow_violation("thread");
    ann.deletes_topic(&forum, topic);
    let receipt = send(&*s.handler, &format!("{}-{topic}", forum.id), &say("topic gone"))
        .await
        .remove(0)
        .unwrap();
    assert!(receipt.id.is_some());
    assert_eq!(
        s.api.shown(forum.id).last().map(|m| (m.text.clone(), m.thread)),
        Some(("topic gone".to_owned(), None))
    );
}

#[tokio::test]
async fn a_group_that_became_a_supergroup_is_followed_once() {
    let s = scene().await;
    let ann = s.api.user("Ann", "ann_b");
    let group = s.api.group("Garden", &[&ann]);
    let moved = ann.migrates(&group);
    s.api.allow_violation("upgraded");
    let receipt =
        send(&*s.handler, &group.id.to_string(), &reply("hello", format!("{}:1", group.id)))
            .await
            .remove(0)
            .unwrap();
    assert_eq!(receipt.moved_to, Some(RemoteId::new(moved.id)));
    assert!(receipt.id.unwrap().as_str().starts_with(&format!("{}:", moved.id)));
    assert_eq!(s.api.shown(moved.id).len(), 1);
}

#[tokio::test]
async fn refusals_are_final() {
    let s = scene().await;
    let ann = s.api.user("Ann", "ann_b");
    ann.says(&ann.direct(), "hi").send();
    ann.blocks_bot();
    let error = send(&*s.handler, &ann.id.to_string(), &say("hello")).await.remove(0).unwrap_err();
    assert_eq!(
        (error.code(), error.kind(), error.retry(), error.sent()),
        (Some("GAL-TG-403"), ErrorKind::Forbidden, Retry::Never, Sent::No)
    );
    let error = send(&*s.handler, "-100999", &say("hello")).await.remove(0).unwrap_err();
    assert_eq!((error.code(), error.retry()), (Some("GAL-TG-404"), Retry::Never));
}

#[tokio::test]
async fn edits_reactions_and_deletions_work_and_may_be_repeated() {
    let s = scene().await;
    let ann = s.api.user("Ann", "ann_b");
    let asked = ann.says(&ann.direct(), "hi").send();
    let room = ann.id.to_string();
    let id = send(&*s.handler, &room, &say("first")).await.remove(0).unwrap().id.unwrap();
    let edit = Outgoing::Edit { id: id.clone(), content: Content::text("**second**") };
    for _ in 0..2 {
        assert_eq!(send(&*s.handler, &room, &edit).await.remove(0).unwrap().id, Some(id.clone()));
    }
    assert_eq!(
        (s.api.shown(ann.id)[0].text.as_str(), s.api.shown(ann.id)[0].edited),
        ("second", true)
    );
    let react =
        Outgoing::React { id: RemoteId(format!("{}:{asked}", ann.id)), emoji: Some("👍".into()) };
    send(&*s.handler, &room, &react).await.remove(0).unwrap();
    assert_eq!(s.api.bot_reactions(ann.id, asked), ["👍"]);
    for _ in 0..2 {
        send(&*s.handler, &room, &Outgoing::Delete { id: id.clone() }).await.remove(0).unwrap();
    }
    assert!(s.api.shown(ann.id).is_empty());
}

#[tokio::test]
async fn files_are_uploaded_and_come_back() {
    let s = scene().await;
    let ann = s.api.user("Ann", "ann_b");
    let direct = ann.direct();
    ann.says(&direct, "hi").send();
    let data = |kind, mime: &str, title: &str, url: &str| Media {
        url: url.into(),
        content_type: kind,
        mime: Some(mime.into()),
        title: title.into(),
        ..Media::default()
    };
    let report =
        data(MediaKind::Document, "text/plain", "report.txt", "data:text/plain;base64,aGVsbG8=");
    let content = Content { attachments: vec![report.clone()], ..Content::text("the *report*") };
    send(&*s.handler, &ann.id.to_string(), &Outgoing::Message { content, reply_to: None })
        .await
        .remove(0)
        .unwrap();
    let shown = s.api.shown(ann.id);
    let (kind, name, bytes) = shown[0].file.clone().unwrap();
    assert_eq!(
        (kind.as_str(), name.as_str(), &bytes[..], shown[0].text.as_str()),
        ("document", "report.txt", &b"hello"[..], "the report")
    );
    std::fs::write(s.folder.path().join("b.txt"), "bye").unwrap();
    let file = data(
        MediaKind::Document,
        "text/plain",
        "b.txt",
        &format!("file://{}/b.txt", s.folder.path().display()),
    );
    let content = Content { attachments: vec![report, file], ..Content::text("both") };
    let receipt =
        send(&*s.handler, &ann.id.to_string(), &Outgoing::Message { content, reply_to: None })
            .await
            .remove(0)
            .unwrap();
    let shown = s.api.shown(ann.id);
    assert_eq!(shown.len(), 3, "an album of two");
    assert_eq!(receipt.id.unwrap().as_str(), format!("{}:{}", ann.id, shown[1].id));
    let file_id = shown[2].json["document"]["file_id"].as_str().unwrap();
    assert_eq!(s.connector.download(&format!("telegram:{file_id}")).await.unwrap(), &b"bye"[..]);
    let error = s.connector.download("telegram:no-such-file").await.unwrap_err();
    assert!(!format!("{error} {}", error.report()).contains("canary"));
    assert!(s.connector.download("https://x.y/").await.is_err());
    let media = Media { url: format!("telegram:{file_id}"), ..Media::default() };
    assert_eq!(s.handler.fetch(&media, 2).await.unwrap_err().kind(), ErrorKind::TooLong);
}

#[tokio::test]
async fn an_unreachable_server_means_not_sent_and_a_broken_answer_maybe() {
    let s = scene().await;
    let ann = s.api.user("Ann", "ann_b");
    ann.says(&ann.direct(), "hi").send();
    let room = ann.id.to_string();
    let cases: [(Effect, &str, Sent); 5] = [
        (Effect::ServerError(500, ErrorBody::Json), "GAL-TG-CONNECT", Sent::Maybe),
        (Effect::ServerError(502, ErrorBody::Html), "GAL-TG-CONNECT", Sent::Maybe),
        (Effect::Garbage, "GAL-TG-GARBAGE", Sent::Maybe),
        (Effect::CutAfter(40), "GAL-TG-CONNECT", Sent::Maybe),
        (Effect::LoseResponse, "GAL-TG-CONNECT", Sent::Maybe),
    ];
    for (effect, code, sent) in cases {
        s.api.fault(Fault::new(effect.clone()).on("sendMessage"));
        let error: Error = send(&*s.handler, &room, &say("x")).await.remove(0).unwrap_err();
        assert_eq!(
            (error.code(), error.sent(), error.retry()),
            (Some(code), sent, Retry::Soon),
            "{effect:?}: {error}"
        );
        assert!(!format!("{error} {} {error:?}", error.report()).contains("canary"), "{error:?}");
    }
    s.api.fault(Fault::new(Effect::WrongType).on("sendMessage"));
    assert!(
        send(&*s.handler, &room, &say("x")).await.remove(0).is_ok(),
        "content types are ignored"
    );
}

#[tokio::test]
async fn who_may_write_in_a_chat_is_asked_of_telegram() {
    let s = scene().await;
    let (ann, bob, zoe) =
        (s.api.user("Ann", "ann_b"), s.api.user("Bob", "bob_b"), s.api.user("Zoe", "zoe_z"));
    let group = s.api.supergroup("Garden", &[&ann, &bob]);
    ann.adds_bot(&group);
    let asks = async |room: i64, who: i64| {
        s.handler.may_speak(&address(&room.to_string()), &RemoteId::new(who)).await.unwrap()
    };
    assert_eq!(
        (asks(group.id, ann.id).await, asks(group.id, bob.id).await),
        (Speak::Yes, Speak::Yes)
    );
    assert_eq!(asks(group.id, zoe.id).await, Speak::No, "not in it");
    for (standing, said) in [
        (Standing::Restricted, Speak::No),
        (Standing::Kicked, Speak::No),
        (Standing::Left, Speak::No),
        (Standing::Member, Speak::Yes),
    ] {
        group.sets(&bob, standing);
        assert_eq!(asks(group.id, bob.id).await, said, "{standing:?}");
    }
    group.lets_members_write(false);
    assert_eq!(
        (asks(group.id, bob.id).await, asks(group.id, ann.id).await),
        (Speak::No, Speak::Yes),
        "only administrators may write"
    );
    assert_eq!((asks(bob.id, bob.id).await, asks(bob.id, ann.id).await), (Speak::Yes, Speak::No));
    // The group itself as the sender, and a chat that the bot is not in.
    assert_eq!(asks(group.id, group.id).await, Speak::Unknown);
    assert_eq!(asks(-100_999, ann.id).await, Speak::Unknown);
}
