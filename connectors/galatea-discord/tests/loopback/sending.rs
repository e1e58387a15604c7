//! Tests of sending, with and without faults.

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

/// Injects a fault into the first attempt, repeats the delivery as the runtime does, and asserts
/// that the message is shown once.
async fn survives(effect: Effect, sent: Sent) {
    let (api, _, general, running) = stage().await;
    let handler = running.connector.send_handler();
    api.fault(Fault::new(effect.clone()).on(CREATE));
    let mut delivery = deliveries(&*handler, &general.id.to_string(), &text("once")).swap_remove(0);
    let error = handler.send(&delivery).await.unwrap_err();
    assert_eq!(error.sent(), sent, "{effect:?}: {}", error.report());
    assert_ne!(error.retry(), Retry::Never, "{effect:?}");
    api.apply_late();
    delivery.attempt = 1;
    let receipt = match handler.find(&delivery, &ReadBackContext::default()).await.unwrap() {
        ReadBackResult::Sent(receipt) => receipt,
        _ => handler.send(&delivery).await.unwrap(),
    };
    let shown = api.shown(general.id);
    assert_eq!((shown.len(), receipt.id), (1, Some(RemoteId::new(shown[0].id))), "{effect:?}");
}

#[tokio::test]
async fn nothing_is_said_twice() {
    for effect in [
        Effect::ServerError(502, ErrorBody::Html),
        Effect::ApplyThenError(500),
        Effect::LoseResponse,
        Effect::ApplyLate,
        Effect::CutAfter(0),
        Effect::CutAfter(40),
        Effect::CutAfter(400),
        Effect::Garbage,
    ] {
        survives(effect, Sent::Maybe).await;
    }
}

#[tokio::test]
async fn the_history_tells_after_the_nonce_is_forgotten() {
    // Two connectors run at once, and each begins a session.
    let (api, ann, general, running) =
        stage_with(Options { own_time: true, ..Options::default() }).await;
    let handler = running.connector.send_handler();
    let asked = ann.says(&general, "well?").send();
    for words in ["first", "first", "second"] {
        send(&*handler, &general.id.to_string(), &text(words)).await.pop().unwrap().unwrap();
    }
    let outgoing = Outgoing::Message {
        content: Content::text("  the answer "),
        reply_to: Some(RemoteId::new(asked)),
    };
    let delivery = deliveries(&*handler, &general.id.to_string(), &outgoing).swap_remove(0);
    assert_eq!(
        handler.find(&delivery, &ReadBackContext::default()).await.unwrap(),
        ReadBackResult::NotSent
    );
    handler.send(&delivery).await.unwrap();
    api.forget_nonces();
    // Another process knows neither the receipt nor the echo.
    let other = start(config(&api));
    let found =
        other.connector.send_handler().find(&delivery, &ReadBackContext::default()).await.unwrap();
    let shown = api.shown(general.id);
    assert_eq!(
        found,
        ReadBackResult::Sent(galatea_core::Receipt {
            id: Some(RemoteId::new(shown[3].id)),
            moved_to: None
        })
    );
    let mut old = delivery.clone();
    (old.attempt, old.created_at.0) = (1, old.created_at.0 - 300_000);
    other.connector.send_handler().send(&old).await.unwrap();
    assert_eq!(api.shown(general.id).len(), 4, "an old attempt is read back before it is repeated");
    general.allows(1 << 10 | 1 << 11);
    // While Discord remembers the nonce, a repeat is harmless. After that the outcome is unknown,
    // because an empty history proves nothing without Read Message History.
    let mut lost = deliveries(&*handler, &general.id.to_string(), &text("x")).swap_remove(0);
    let finds = async |delivery: &galatea_core::Delivery| {
        other.connector.send_handler().find(delivery, &ReadBackContext::default()).await.unwrap()
    };
    assert_eq!(finds(&lost).await, ReadBackResult::NotSent);
    lost.created_at.0 -= 300_000;
    assert_eq!(finds(&lost).await, ReadBackResult::Unknown);
    general.allows(1 << 10 | 1 << 11 | 1 << 16);
    assert_eq!(
        finds(&lost).await,
        ReadBackResult::NotSent,
        "the history can be read, and the message is not there"
    );
}

#[tokio::test]
async fn limits_are_obeyed_before_discord_has_to_say_so() {
    let (api, _, general, running) =
        stage_with(Options { bucket: (5, Duration::from_secs(2)), ..Options::default() }).await;
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
    assert!(waited >= 2, "some calls had to wait");
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
    api.fault(Fault::new(Effect::GlobalLimit(Duration::from_millis(700))).on(CREATE));
    assert!(send(&*handler, &general.id.to_string(), &text("x")).await[0].is_err());
    let direct = ann.direct().id.to_string();
    let held = send(&*handler, &direct, &text("x")).await.swap_remove(0).unwrap_err();
    assert!(
        matches!(held.retry(), Retry::After(wait) if wait <= Duration::from_millis(750)),
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
async fn a_command_is_answered_where_it_was_asked_and_after_fifteen_minutes_in_the_channel() {
    let (api, ann, general, running) = stage().await;
    let handler = running.connector.send_handler();
    let room = general.id.to_string();
    for (words, expired) in [("in time", false), ("too late", true)] {
        let id = ann.uses(&general, "ask", Some("well?"));
        let asked = format!("interaction:{id}");
        let is_it = |e: &galatea_core::Incoming| {
            matches!(&e.event, galatea_core::IncomingEvent::Message(m) if m.id.as_str() == asked)
                .then_some(())
        };
        running.event("the command", is_it).await;
        if expired {
            api.expire_interactions();
        }
        let reply_to = Some(RemoteId(format!("interaction:{id}")));
        let outgoing = Outgoing::Message {
            content: Content::text(format!(
                "{words} {}\n\n{}",
                "word ".repeat(300),
                "word ".repeat(300)
            )),
            reply_to,
        };
        for receipt in send(&*handler, &room, &outgoing).await {
            receipt.unwrap();
        }
    }
    let shown = api.shown(general.id);
    assert_eq!(shown.len(), 4);
    let late = format!("<@{}> too late", ann.id);
    assert!(shown[0].text.starts_with("in time") && shown[2].text.starts_with(&late), "{shown:?}");
    assert_eq!(api.calls_of("PATCH /webhooks/{}/{}/messages/@original").len(), 2);
    assert_eq!(api.calls_of(CREATE).len(), 3, "the rest of the first, and the whole second");
}

#[tokio::test]
async fn a_lost_answer_to_a_command_is_not_doubled() {
    let (api, ann, general, running) = stage().await;
    let handler = running.connector.send_handler();
    let id = ann.uses(&general, "ask", Some("well?"));
    running.heard(1).await;
    api.fault(Fault::new(Effect::LoseResponse).on("PATCH /webhooks/{}/{}/messages/@original"));
    let outgoing = Outgoing::Message {
        content: Content::text("here"),
        reply_to: Some(RemoteId(format!("interaction:{id}"))),
    };
    let delivery = deliveries(&*handler, &general.id.to_string(), &outgoing).swap_remove(0);
    assert_eq!(handler.send(&delivery).await.unwrap_err().sent(), Sent::Maybe);
    if handler.find(&delivery, &ReadBackContext::default()).await.unwrap()
        == ReadBackResult::NotSent
    {
        handler.send(&delivery).await.unwrap();
    }
    assert_eq!(api.shown(general.id).iter().map(|s| s.text.as_str()).collect::<Vec<_>>(), ["here"]);
}

#[tokio::test]
async fn a_button_is_acknowledged_at_once() {
    let (api, ann, general, running) = stage().await;
    let button = Button { text: "Yes".into(), press: Press::Data("y".into()) };
    let ask = Outgoing::ask("Well?", vec![vec![button]]);
    let receipt = send(&*running.connector.send_handler(), &general.id.to_string(), &ask)
        .await
        .swap_remove(0)
        .unwrap();
    let press = ann.presses(&general, receipt.id.unwrap().as_str().parse().unwrap(), "y");
    api.wait_for("the acknowledgement", |h| h.acknowledged(press)).await;
    assert_eq!(api.acknowledged(press), Some(6));
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

/// A process is killed between the command and its answer. The next process answers through the
/// interaction or, if it expired, mentions the caller.
#[tokio::test]
async fn a_command_that_a_crash_cut_off_is_answered_by_the_next_process() {
    for expired in [false, true] {
        let (api, ann, general, running) = stage().await;
        let id = ann.uses(&general, "ask", Some("well?"));
        running.heard(1).await;
        assert_eq!(api.thinking(general.id), 1);
        let gateway = running.gateway.clone();
        running.kill().await;
        let again = with(config(&api), gateway, Arc::new(galatea_core::SystemClock));
        let handler = again.handler().await;
        if expired {
            api.expire_interactions();
        }
        let outgoing = Outgoing::Message {
            content: Content::text("Well indeed."),
            reply_to: Some(RemoteId(format!("interaction:{id}"))),
        };
        let delivery = deliveries(&*handler, &general.id.to_string(), &outgoing).swap_remove(0);
        handler.send(&delivery).await.unwrap();
        let shown: Vec<String> = api.shown(general.id).into_iter().map(|m| m.text).collect();
        if expired {
            assert_eq!(shown, [format!("<@{}> Well indeed.", ann.id)]);
            api.forget_nonces();
            let fresh = with(config(&api), support::gateway(), Arc::new(galatea_core::SystemClock));
            let found = fresh
                .connector
                .send_handler()
                .find(&delivery, &ReadBackContext::default())
                .await
                .unwrap();
            assert!(
                matches!(found, ReadBackResult::Sent(_)),
                "it is found by its text, though it begins with a mention"
            );
            fresh.kill().await;
        } else {
            assert_eq!((shown, api.thinking(general.id)), (vec!["Well indeed.".to_owned()], 0));
        }
        again.end().await;
    }
}

/// The id of an interaction, as the connector hands it over.
fn asked(id: u64, private: bool) -> RemoteId {
    RemoteId(format!("interaction:{}{id}", if private { "private:" } else { "" }))
}

#[tokio::test]
async fn what_only_one_person_asked_for_only_they_read() {
    let (api, ann, general, running) = stage().await;
    let bob = api.user("Bob", "bob_c");
    bob.joins(&api.guild_of(general.id));
    let handler = running.handler().await;
    let hidden = |name: &str| {
        api.commands().into_iter().find(|c| c["name"] == name).unwrap()["default_member_permissions"].clone()
    };
    assert_eq!(
        ["reset", "mute", "unmute"].map(hidden),
        ["32", "32", "32"].map(serde_json::Value::from)
    );
    assert!(
        ["ask", "help", "memory", "privacy"].map(hidden).iter().all(serde_json::Value::is_null)
    );
    let words = |name: &str| {
        let command = api.commands().into_iter().find(|c| c["name"] == name).unwrap();
        let words = command["options"].as_array().cloned().unwrap_or_default();
        words.iter().map(|w| (w["name"].clone(), w["required"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(words("ask"), [("question".into(), true.into())]);
    assert_eq!(words("link"), [("code".into(), false.into())]);
    assert_eq!(words("unlink"), []);
    let mut heard = 0;
    // Bob is not an admin, so "mute" will be refused. Ann owns the server.
    for (who, command, private) in [
        (&bob, "help", true),
        (&bob, "privacy", true),
        (&bob, "memory", true),
        (&bob, "link", true),
        (&bob, "unlink", true),
        (&bob, "mute", true),
        (&ann, "mute", false),
        (&ann, "help", true),
    ] {
        let before = (api.whispered(general.id).len(), api.shown(general.id).len());
        let id = who.uses(&general, command, None);
        heard += 1;
        running.heard(heard).await;
        let outgoing = Outgoing::Message {
            content: Content::text(format!("{command} {heard}")),
            reply_to: Some(asked(id, private)),
        };
        send(&*handler, &general.id.to_string(), &outgoing).await.swap_remove(0).unwrap();
        let after =
            (api.whispered(general.id).len() - before.0, api.shown(general.id).len() - before.1);
        assert_eq!(after, if private { (1, 0) } else { (0, 1) }, "{command}");
    }
    // If it is too late, the answer is not posted publicly instead.
    let id = bob.uses(&general, "privacy", None);
    running.heard(heard + 1).await;
    api.expire_interactions();
    let outgoing = Outgoing::Message {
        content: Content::text("what I store"),
        reply_to: Some(asked(id, true)),
    };
    let error =
        send(&*handler, &general.id.to_string(), &outgoing).await.swap_remove(0).unwrap_err();
    assert_eq!((error.code(), error.sent()), (Some("GAL-DC-404"), Sent::No));
    running.end().await;
}

/// The acknowledgement fails, surely or perhaps. A private answer is given where only the caller
/// reads it or not at all, also by a process that knows nothing of the interaction; a public one is
/// given once.
#[tokio::test]
async fn a_private_answer_stays_private_when_the_acknowledgement_fails() {
    for (effect, arrived) in [
        (Effect::Refuse(404, 10062), false),
        (Effect::ServerError(500, ErrorBody::Json), false),
        (Effect::LoseResponse, true),
        (Effect::ApplyThenError(500), true),
        (Effect::ApplyAndHang, true),
    ] {
        for (command, private) in [("privacy", true), ("ask", false)] {
            let told = format!("{effect:?} {command}");
            let (api, ann, general, running) = stage().await;
            let handler = running.handler().await;
            api.fault(Fault::new(effect.clone()).on(CALLBACK));
            let id = ann.uses(&general, command, None);
            running.heard(1).await;
            assert_eq!(api.acknowledged(id).is_some(), arrived, "{told}");
            let outgoing = Outgoing::Message {
                content: Content::text("what I store"),
                reply_to: Some(asked(id, private)),
            };
            let sent = send(&*handler, &general.id.to_string(), &outgoing).await.swap_remove(0);
            let (shown, whispered) = (api.shown(general.id).len(), api.whispered(general.id).len());
            match (private, arrived) {
                (true, true) => assert_eq!((shown, whispered), (0, 1), "{told}"),
                (true, false) => {
                    let error = sent.unwrap_err();
                    assert_eq!((error.code(), error.sent()), (Some("GAL-DC-404"), Sent::No));
                    assert_eq!((shown, whispered), (0, 0), "{told}");
                }
                (false, _) => {
                    sent.unwrap();
                    assert_eq!((shown, whispered, api.thinking(general.id)), (1, 0, 0), "{told}");
                    if !arrived {
                        let text = &api.shown(general.id)[0].text;
                        assert_eq!(*text, format!("<@{}> what I store", ann.id), "{told}");
                    }
                }
            }
            if private {
                let other = with(config(&api), support::gateway(), Arc::new(SystemClock));
                let handler = other.handler().await;
                send(&*handler, &general.id.to_string(), &outgoing)
                    .await
                    .swap_remove(0)
                    .unwrap_err();
                assert_eq!(api.shown(general.id).len(), 0, "{told}");
                other.end().await;
            }
            running.end().await;
        }
    }
}

#[tokio::test]
async fn a_long_private_answer_is_private_to_its_end() {
    let (api, ann, general, running) = stage().await;
    let handler = running.handler().await;
    let id = ann.uses(&general, "privacy", None);
    running.heard(1).await;
    let words = format!("{}\n\n{}", "one ".repeat(400), "two ".repeat(400));
    let outgoing =
        Outgoing::Message { content: Content::text(words), reply_to: Some(asked(id, true)) };
    let receipts = send(&*handler, &general.id.to_string(), &outgoing).await;
    assert!(receipts.len() > 1 && receipts.iter().all(Result::is_ok), "{receipts:?}");
    assert_eq!((api.whispered(general.id).len(), api.shown(general.id).len()), (receipts.len(), 0));
    assert!(api.violations().is_empty(), "{:?}", api.violations());
    running.end().await;
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
