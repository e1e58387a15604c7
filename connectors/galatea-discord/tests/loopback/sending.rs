//! Tests of sending, with and without faults.

mod commands;
mod read_back;

use crate::support::{self, Running, address, config, deliveries, send, start, with};
use galatea_core::{
    Button, Content, ErrorKind, Health, Outgoing, Press, ReadBackContext, ReadBackResult, RemoteId,
    Retry, Sent, Speak, SystemClock,
};
use galatea_testkit::discord::{Channel, DiscordApi, Effect, ErrorBody, Fault, Options, User};
use std::{sync::Arc, time::Duration};

const CREATE: &str = "POST /channels/{}/messages";
const CALLBACK: &str = "POST /interactions/{}/{}/callback";

async fn stage() -> (DiscordApi, User, Channel, Running) {
    stage_with(Options::default()).await
}

async fn stage_with(options: Options) -> (DiscordApi, User, Channel, Running) {
    let api = DiscordApi::with(options).await;
    let ann = api.user("Ann", "ann_b");
    let general = api.guild("Garden", &[&ann]).general();
    let running = start(config(&api));
    api.wait_connected(1).await;
    (api, ann, general, running)
}

fn text(words: &str) -> Outgoing {
    Outgoing::Message { content: Content::text(words), reply_to: None }
}

#[tokio::test]
async fn a_message_carries_its_nonce_and_notifies_no_person() {
    let (api, ann, general, running) = stage().await;
    let asked = ann.says(&general, "well?").send();
    let handler = running.connector.send_handler();
    let outgoing = Outgoing::Message {
        content: Content::text("@everyone <@1> listen"),
        reply_to: Some(RemoteId::new(asked)),
    };
    let delivery = deliveries(&*handler, &general.id.to_string(), &outgoing).swap_remove(0);
    handler.send(&delivery).await.unwrap();
    let body = api.calls_of(CREATE)[0].body.clone();
    assert_eq!(
        (body["nonce"].as_str(), body["enforce_nonce"].as_bool()),
        (Some(delivery.key.as_str()), Some(true))
    );
    assert_eq!(
        (&body["allowed_mentions"]["parse"], &body["message_reference"]["fail_if_not_exists"]),
        (&serde_json::json!([]), &serde_json::json!(false))
    );
    assert_eq!(api.shown(general.id)[0].reply_to, Some(asked));
    // Sending the same delivery again gives the same message.
    let again = handler.send(&delivery).await.unwrap();
    assert_eq!(
        (api.shown(general.id).len(), again.id),
        (1, Some(RemoteId::new(api.shown(general.id)[0].id)))
    );
}

#[tokio::test]
async fn limits_are_obeyed_before_discord_has_to_say_so() {
    let (api, _, general, running) =
        stage_with(Options { bucket: (5, Duration::from_secs(4)), ..Options::default() }).await;
    let handler = running.connector.send_handler();
    let mut waited = 0;
    for n in 0..12 {
        let delivery =
            deliveries(&*handler, &general.id.to_string(), &text(&format!("number {n}")))
                .swap_remove(0);
        while let Err(error) = handler.send(&delivery).await {
            let Retry::After(wait) = error.retry() else { panic!("{}", error.report()) };
            assert_eq!(
                (error.kind(), error.sent(), error.code()),
                (ErrorKind::RateLimited, Sent::No, Some("GAL-DC-429"))
            );
            waited += 1;
            tokio::time::sleep(wait).await;
        }
    }
    assert_eq!(api.shown(general.id).len(), 12);
    assert!(waited >= 1, "some calls had to wait");
    let refused = api
        .calls_of(CREATE)
        .iter()
        .filter(|c| c.answer.as_ref().is_some_and(|a| a.0 == 429))
        .count();
    assert_eq!(refused, 0, "the headers announce the limit beforehand");
}

#[tokio::test]
async fn a_global_limit_holds_everything_and_a_shared_one_only_its_channel() {
    let (api, ann, general, running) = stage().await;
    let handler = running.connector.send_handler();
    api.fault(Fault::new(Effect::GlobalLimit(Duration::from_secs(4))).on(CREATE));
    assert!(send(&*handler, &general.id.to_string(), &text("x")).await[0].is_err());
    let direct = ann.direct().id.to_string();
    let held = send(&*handler, &direct, &text("x")).await.swap_remove(0).unwrap_err();
    assert!(
        matches!(held.retry(), Retry::After(wait) if wait <= Duration::from_millis(4_050)),
        "{}",
        held.report()
    );
    assert_eq!(api.calls_of(CREATE).len(), 1, "no call is made during the wait");
    let Retry::After(wait) = held.retry() else { panic!("After") };
    tokio::time::sleep(wait).await;
    let invalid = api.invalid_calls();
    api.fault(Fault::new(Effect::SharedLimit(Duration::from_secs(30))).on(CREATE).at(general.id));
    assert!(send(&*handler, &general.id.to_string(), &text("x")).await[0].is_err());
    send(&*handler, &direct, &text("x")).await.swap_remove(0).unwrap();
    assert_eq!(api.invalid_calls(), invalid, "a shared limit does not count against the address");
}

#[tokio::test]
async fn refusals_are_said_in_plain_words() {
    let (api, ann, general, running) = stage().await;
    let handler = running.connector.send_handler();
    let refused = async |room: u64| {
        send(&*handler, &room.to_string(), &text("x")).await.swap_remove(0).unwrap_err()
    };
    let side = general.clone();
    side.silences_bot();
    let error = refused(general.id).await;
    assert_eq!(
        (error.code(), error.retry(), error.sent()),
        (Some("GAL-DC-50013"), Retry::Never, Sent::No)
    );
    assert!(error.message().contains("Send Messages") && error.fix().is_some());
    general.allows(0);
    assert_eq!(refused(general.id).await.code(), Some("GAL-DC-50001"));
    ann.takes_direct(false);
    assert_eq!(refused(ann.direct().id).await.code(), Some("GAL-DC-50007"));
    let gone = refused(4711).await;
    assert_eq!((gone.code(), gone.kind()), (Some("GAL-DC-404"), ErrorKind::NotFound));
    assert!(api.violations().is_empty());
}

#[tokio::test]
async fn without_the_history_it_answers_without_pointing() {
    let (api, ann, general, running) = stage().await;
    let asked = ann.says(&general, "well?").send();
    general.allows(1 << 10 | 1 << 11);
    let outgoing =
        Outgoing::Message { content: Content::text("so"), reply_to: Some(RemoteId::new(asked)) };
    send(&*running.connector.send_handler(), &general.id.to_string(), &outgoing)
        .await
        .pop()
        .unwrap()
        .unwrap();
    assert_eq!((api.shown(general.id).len(), api.shown(general.id)[0].reply_to), (1, None));
}

#[tokio::test]
async fn typing_and_a_hanging_call_do_not_stop_others() {
    let (api, ann, general, running) = stage().await;
    let handler = running.connector.send_handler();
    handler.typing(&address(&general.id.to_string())).await.unwrap();
    assert_eq!(api.typing(), [general.id]);
    api.fault(Fault::new(Effect::Hang).on(CREATE).at(general.id));
    let (slow, room) = (Arc::clone(&handler), general.id.to_string());
    let hanging = tokio::spawn(async move { send(&*slow, &room, &text("slow")).await });
    api.wait_for("the hanging call", |h| (!h.calls_of(CREATE).is_empty()).then_some(())).await;
    send(&*handler, &ann.direct().id.to_string(), &text("fast")).await.swap_remove(0).unwrap();
    assert!(!hanging.is_finished());
    hanging.abort();
}

#[tokio::test]
async fn a_file_is_described_and_a_reaction_taken_back() {
    use galatea_core::{Media, MediaKind};
    let (api, ann, general, running) = stage().await;
    let handler = running.connector.send_handler();
    let file = |n: usize| Media {
        url: "data:text/plain;base64,aGVsbG8gd29ybGQ=".into(),
        title: format!("n{n}.txt"),
        content_type: MediaKind::Document,
        mime: Some("text/plain".into()),
        description: "a note".into(),
        ..Media::default()
    };
    let content = Content { attachments: (0..12).map(file).collect(), ..Content::text("notes") };
    for receipt in
        send(&*handler, &general.id.to_string(), &Outgoing::Message { content, reply_to: None })
            .await
    {
        receipt.unwrap();
    }
    let shown = api.shown(general.id);
    assert_eq!(shown.iter().map(|s| s.files.len()).collect::<Vec<_>>(), [10, 2]);
    assert_eq!(
        (shown[0].files[0].0.as_str(), &shown[0].files[0].1[..]),
        ("n0.txt", &b"hello world"[..])
    );
    let said = RemoteId::new(ann.says(&general, "nice").send());
    for emoji in ["👍", "<:wave:12>"] {
        let react = Outgoing::React { id: said.clone(), emoji: Some(emoji.into()) };
        send(&*handler, &general.id.to_string(), &react).await.swap_remove(0).unwrap();
    }
    assert_eq!(api.bot_reactions(general.id, said.as_str().parse().unwrap()), ["👍", "wave:12"]);
    send(&*handler, &general.id.to_string(), &Outgoing::React { id: said.clone(), emoji: None })
        .await
        .swap_remove(0)
        .unwrap();
    assert!(api.bot_reactions(general.id, said.as_str().parse().unwrap()).is_empty());
}

#[tokio::test]
async fn who_may_write_in_a_channel_is_asked_of_discord() {
    let api = DiscordApi::with(Options::default()).await;
    let (ann, bob, zoe) =
        (api.user("Ann", "ann_b"), api.user("Bob", "bob_b"), api.user("Zoe", "zoe_z"));
    let guild = api.guild("Garden", &[&ann, &bob]);
    let general = guild.general();
    let running = start(config(&api));
    api.wait_connected(1).await;
    let handler = running.connector.send_handler();
    let asks = async |who: u64| {
        handler.may_speak(&address(&general.id.to_string()), &RemoteId::new(who)).await.unwrap()
    };
    assert_eq!(
        (asks(ann.id).await, asks(bob.id).await, asks(zoe.id).await),
        (Speak::Yes, Speak::Yes, Speak::No)
    );
    guild.times_out(&bob, Some("2099-01-01T00:00:00+00:00"));
    assert_eq!(asks(bob.id).await, Speak::No, "timed out");
    guild.times_out(&bob, Some("2001-01-01T00:00:00+00:00"));
    assert_eq!(asks(bob.id).await, Speak::Yes, "that is over");
    general.silences(bob.id);
    assert_eq!(
        (asks(bob.id).await, asks(ann.id).await),
        (Speak::No, Speak::Yes),
        "the guild's owner may write anywhere"
    );
}

#[tokio::test]
async fn where_it_may_not_write_no_answer_is_asked_for_and_status_names_the_channel() {
    let (api, ann, general, running) = stage().await;
    let thread = ann.opens_thread(&general, "Roses");
    let asked = RemoteId::new(ann.says(&thread, "hello?").send());
    running.heard(1).await;
    let handler = running.handler().await;
    let code = |channel: &Channel, asked: &RemoteId| {
        handler.barred(&address(&channel.id.to_string()), asked).and_then(|error| error.code())
    };
    assert_eq!(
        (code(&general, &asked), code(&thread, &asked), code(&ann.direct(), &asked)),
        (None, None, None)
    );
    let changed = |channel: &Channel, wanted: Option<&'static str>| {
        let (channel, asked) = (channel.clone(), asked.clone());
        let handler = handler.clone();
        async move {
            // Wait until the event arrives.
            for _ in 0..600 {
                if handler
                    .barred(&address(&channel.id.to_string()), &asked)
                    .and_then(|error| error.code())
                    == wanted
                {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            panic!("never {wanted:?}");
        }
    };
    general.silences_bot();
    changed(&general, Some("GAL-DC-50013")).await;
    assert_eq!(code(&thread, &asked), Some("GAL-DC-50013"));
    assert_eq!(
        code(&general, &RemoteId("interaction:1".into())),
        None,
        "a command is answered through its interaction"
    );
    let degraded = |h: &Health| matches!(h, Health::Degraded { reason } if reason.contains("#general") && reason.contains("Send Messages"));
    running
        .until("status to name it", |g| g.health().last().is_some_and(degraded).then_some(()))
        .await;
    general.allows(0);
    changed(&general, Some("GAL-DC-50001")).await;
    general.allows(274_878_024_768);
    changed(&general, None).await;
    running
        .until("status to be well again", |g| {
            g.health().last().is_some_and(|h| matches!(h, Health::Up { .. })).then_some(())
        })
        .await;
    // A refusal that the permissions do not explain counts for a while.
    api.fault(Fault::new(Effect::Refuse(403, 50013)).on(CREATE));
    assert!(send(&*handler, &general.id.to_string(), &text("hi")).await.swap_remove(0).is_err());
    assert_eq!(code(&general, &asked), Some("GAL-DC-50013"));
    running.end().await;
}
