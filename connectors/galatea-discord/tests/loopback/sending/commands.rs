//! Answers to commands and presses: acknowledged in time, and as private as the question.

use super::*;

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

/// The buttons of a question that was answered are switched off, but links; another person's press is
/// answered to that person alone. Both also by the next process.
#[tokio::test]
async fn used_buttons_are_switched_off_and_anothers_press_is_answered_in_a_whisper() {
    for restarted in [false, true] {
        let (api, ann, general, running) = stage().await;
        let bob = api.user("Bob", "bob_c");
        bob.joins(&api.guild_of(general.id));
        let room = general.id.to_string();
        let button =
            |text: &str, data: &str| Button { text: text.into(), press: Press::Data(data.into()) };
        let link = Button { text: "Rules".into(), press: Press::Url("https://example.org".into()) };
        let ask = Outgoing::ask("Well?", vec![vec![button("Yes", "y"), button("No", "n"), link]]);
        let posted = send(&*running.handler().await, &room, &ask).await.swap_remove(0).unwrap();
        let message: u64 = posted.id.unwrap().as_str().parse().unwrap();
        let presses = [bob.presses(&general, message, "n"), ann.presses(&general, message, "y")];
        for press in presses {
            let is_it = |e: &galatea_core::Incoming| {
                let id = format!("interaction:{press}");
                matches!(&e.event, galatea_core::IncomingEvent::Pressed { id: own, .. } if own.as_str() == id)
                    .then_some(())
            };
            running.event("the press", is_it).await;
        }
        let running = if restarted {
            let gateway = running.gateway.clone();
            running.kill().await;
            with(config(&api), gateway, Arc::new(SystemClock))
        } else {
            running
        };
        let handler = running.handler().await;
        let why = "this button is for the person who asked";
        handler.unanswered(&address(&room), &asked(presses[0], false), why).await.unwrap();
        assert_eq!(api.whispered(general.id), [why], "{restarted}");
        handler.used(&address(&room), &asked(presses[1], false)).await.unwrap();
        let calls = api.calls_of("PATCH /webhooks/{}/{}/messages/@original");
        let off = |at: usize| calls[0].body["components"][0]["components"][at]["disabled"].clone();
        assert_eq!((off(0), off(1)), (true.into(), true.into()));
        assert_ne!(off(2), true, "a link stays");
        let shown = api.shown(general.id);
        assert_eq!((shown.len(), shown[0].text.as_str()), (1, "Well?"), "nothing else changes");
        // Once more does nothing.
        handler.used(&address(&room), &asked(presses[1], false)).await.unwrap();
        assert_eq!(api.calls_of("PATCH /webhooks/{}/{}/messages/@original").len(), 1);
        assert!(api.violations().is_empty(), "{:?}", api.violations());
        running.end().await;
    }
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
            let case = format!("{effect:?} {command}");
            let (api, ann, general, running) = stage().await;
            let handler = running.handler().await;
            api.fault(Fault::new(effect.clone()).on(CALLBACK));
            let id = ann.uses(&general, command, None);
            running.heard(1).await;
            assert_eq!(api.acknowledged(id).is_some(), arrived, "{case}");
            let outgoing = Outgoing::Message {
                content: Content::text("what I store"),
                reply_to: Some(asked(id, private)),
            };
            let sent = send(&*handler, &general.id.to_string(), &outgoing).await.swap_remove(0);
            let (shown, whispered) = (api.shown(general.id).len(), api.whispered(general.id).len());
            match (private, arrived) {
                (true, true) => assert_eq!((shown, whispered), (0, 1), "{case}"),
                (true, false) => {
                    let error = sent.unwrap_err();
                    assert_eq!((error.code(), error.sent()), (Some("GAL-DC-404"), Sent::No));
                    assert_eq!((shown, whispered), (0, 0), "{case}");
                }
                (false, _) => {
                    sent.unwrap();
                    assert_eq!((shown, whispered, api.thinking(general.id)), (1, 0, 0), "{case}");
                    if !arrived {
                        let text = &api.shown(general.id)[0].text;
                        assert_eq!(*text, format!("<@{}> what I store", ann.id), "{case}");
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
                assert_eq!(api.shown(general.id).len(), 0, "{case}");
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
