//! Tests read-backs: whether a message arrived whose outcome is unknown.

use super::*;

#[tokio::test]
async fn a_lost_answer_is_found_by_asking() {
    let s = scene().await;
    let ann = s.api.user("Ann", "ann_b");
    let asked = ann.says(&ann.direct(), "hi").send();
    let outgoing = reply("only once", format!("{}:{asked}", ann.id));
    s.api.fault(Fault::new(Effect::LoseResponse).on("sendMessage"));
    let delivery = only_delivery(&*s.handler, &ann.id.to_string(), &outgoing);
    let error = s.handler.send(&delivery).await.unwrap_err();
    assert_eq!((error.sent(), error.retry()), (Sent::Maybe, Retry::Soon), "{error}");
    let ReadBackResult::Sent(receipt) =
        s.handler.find(&delivery, &ReadBackContext::default()).await.unwrap()
    else {
        panic!("it is there")
    };
    assert_eq!(receipt.id.unwrap().as_str(), format!("{}:{}", ann.id, s.api.shown(ann.id)[0].id));
    let calls = s.api.calls().len();
    assert!(matches!(
        s.handler.find(&delivery, &ReadBackContext::default()).await.unwrap(),
        ReadBackResult::Sent(_)
    ));
    assert_eq!(s.api.calls().len(), calls, "the result is cached");
    assert_eq!(s.api.shown(ann.id).len(), 1);
}

#[tokio::test]
async fn what_never_arrived_is_provably_not_there() {
    let s = scene().await;
    let ann = s.api.user("Ann", "ann_b");
    let asked = ann.says(&ann.direct(), "hi").send();
    s.api.fault(Fault::new(Effect::ApplyLate).on("sendMessage"));
    let delivery =
        only_delivery(&*s.handler, &ann.id.to_string(), &reply("x", format!("{}:{asked}", ann.id)));
    assert_eq!(s.handler.send(&delivery).await.unwrap_err().sent(), Sent::Maybe);
    assert_eq!(
        s.handler.find(&delivery, &ReadBackContext::default()).await.unwrap(),
        ReadBackResult::NotSent
    );
    assert!(s.api.shown(ann.id).is_empty());
}

#[tokio::test]
async fn a_killed_process_concludes_after_its_restart() {
    let s = scene().await;
    let ann = s.api.user("Ann", "ann_b");
    let (first_asked, second_asked) =
        (ann.says(&ann.direct(), "one").send(), ann.says(&ann.direct(), "two").send());
    let room = ann.id.to_string();
    // A message whose receipt was stored, and one whose response was lost.
    let first =
        only_delivery(&*s.handler, &room, &reply("to one", format!("{}:{first_asked}", ann.id)));
    s.handler.send(&first).await.unwrap();
    s.api.fault(Fault::new(Effect::LoseResponse).on("sendMessage"));
    let second =
        only_delivery(&*s.handler, &room, &reply("to two", format!("{}:{second_asked}", ann.id)));
    s.handler.send(&second).await.unwrap_err();
    s.api.fault(Fault::new(Effect::ApplyLate).on("sendMessage"));
    let third = only_delivery(
        &*s.handler,
        &room,
        &reply("to two, more", format!("{}:{second_asked}", ann.id)),
    );
    let after = s.restarted();
    let shown = s.api.shown(ann.id);
    let id = |n: usize| {
        ReadBackResult::Sent(galatea_core::Receipt {
            id: Some(RemoteId(format!("{}:{}", ann.id, shown[n].id))),
            moved_to: None,
        })
    };
    let own = |n: usize| RemoteId(format!("{}:{}", ann.id, shown[n].id));
    let second_trail = ReadBackContext { ours: vec![own(0)], ..ReadBackContext::default() };
    assert_eq!(
        after.find(&second, &second_trail).await.unwrap(),
        id(1),
        "the earlier message belongs to another delivery"
    );
    let third_trail = ReadBackContext { ours: vec![own(1), own(0)], ..ReadBackContext::default() };
    assert_eq!(
        after.find(&third, &third_trail).await.unwrap(),
        ReadBackResult::NotSent,
        "it was never sent"
    );
}

#[tokio::test]
async fn an_answer_that_quotes_nothing_is_found_above_what_was_stored() {
    let s = scene().await;
    let ann = s.api.user("Ann", "ann_b");
    let asked = ann.says(&ann.direct(), "hi").send();
    s.api.fault(Fault::new(Effect::LoseResponse).on("sendMessage"));
    let delivery = only_delivery(&*s.handler, &ann.id.to_string(), &say("an answer"));
    s.handler.send(&delivery).await.unwrap_err();
    let context = ReadBackContext {
        received: vec![RemoteId(format!("{}:{asked}", ann.id))],
        ..ReadBackContext::default()
    };
    let ReadBackResult::Sent(receipt) = s.restarted().find(&delivery, &context).await.unwrap()
    else {
        panic!("it is there")
    };
    assert_eq!(receipt.id.unwrap().as_str(), format!("{}:{}", ann.id, s.api.shown(ann.id)[0].id));
}

#[tokio::test]
async fn topics_of_one_chat_do_not_take_each_others_message() {
    let s = scene().await;
    let ann = s.api.user("Ann", "ann_b");
    let group = s.api.forum("Garden", &[&ann]);
    let asked = ann.says(&group, "hi").send();
    s.api.fault(Fault::new(Effect::LoseResponse).on("sendMessage"));
    let there = only_delivery(&*s.handler, &group.id.to_string(), &say("arrived"));
    s.handler.send(&there).await.unwrap_err();
    let known = ReadBackContext {
        received: vec![RemoteId(format!("{}:{asked}", group.id))],
        ..ReadBackContext::default()
    };
    let rival = ReadBackContext {
        outcome_unknown: vec![RemoteId(format!("{}-42", group.id))],
        ..known.clone()
    };
    let after = s.restarted();
    assert_eq!(
        after.find(&there, &rival).await.unwrap(),
        ReadBackResult::Unknown,
        "one message, two deliveries that may have sent it"
    );
    s.api.fault(Fault::new(Effect::LoseResponse).on("sendMessage"));
    s.handler
        .send(&only_delivery(&*s.handler, &group.id.to_string(), &say("too")))
        .await
        .unwrap_err();
    assert_eq!(
        after.find(&there, &rival).await.unwrap(),
        ReadBackResult::Sent(galatea_core::Receipt::default()),
        "two messages for two deliveries"
    );
    assert!(matches!(after.find(&there, &known).await.unwrap(), ReadBackResult::Sent(_)));
}

#[tokio::test]
async fn nothing_is_claimed_when_nothing_is_known() {
    let s = scene().await;
    let ann = s.api.user("Ann", "ann_b");
    ann.says(&ann.direct(), "hi").send();
    let delivery = only_delivery(&*s.handler, &ann.id.to_string(), &say("unasked"));
    assert_eq!(
        s.handler.find(&delivery, &ReadBackContext::default()).await.unwrap(),
        ReadBackResult::Unknown
    );
    assert_eq!(s.api.calls().len(), 0);
    let edit = only_delivery(
        &*s.handler,
        &ann.id.to_string(),
        &Outgoing::Edit { id: RemoteId("5:1".into()), content: Content::text("x") },
    );
    assert_eq!(
        s.handler.find(&edit, &ReadBackContext::default()).await.unwrap(),
        ReadBackResult::NotSent,
        "edits can be repeated"
    );
}

/// All private chats share one count. A new process knows the stored numbers of other chats, here
/// 200, but not the latest 20.
#[tokio::test]
async fn other_peoples_chats_do_not_hide_what_was_sent() {
    let s = scene().await;
    let (ann, bob) = (s.api.user("Ann", "ann_b"), s.api.user("Bob", "bob_b"));
    let chatter = |count: usize| {
        (0..count)
            .map(|n| {
                RemoteId(format!(
                    "{}:{}",
                    bob.id,
                    bob.says(&bob.direct(), &format!("chatter {n}")).send()
                ))
            })
            .collect()
    };
    let asked = ann.says(&ann.direct(), "hi").send();
    let others: Vec<RemoteId> = chatter(200);
    let context = ReadBackContext {
        received: vec![RemoteId(format!("{}:{asked}", ann.id))],
        others,
        ..ReadBackContext::default()
    };
    let _: Vec<RemoteId> = chatter(20);
    let delivery = only_delivery(&*s.handler, &ann.id.to_string(), &say("only once"));
    assert_eq!(s.restarted().find(&delivery, &context).await.unwrap(), ReadBackResult::NotSent);
    s.api.fault(Fault::new(Effect::LoseResponse).on("sendMessage"));
    s.handler.send(&delivery).await.unwrap_err();
    let _: Vec<RemoteId> = chatter(20);
    let ReadBackResult::Sent(receipt) = s.restarted().find(&delivery, &context).await.unwrap()
    else {
        panic!("it is there")
    };
    assert_eq!(receipt.id.unwrap().as_str(), format!("{}:{}", ann.id, s.api.shown(ann.id)[0].id));
}

/// Forty messages to as many people were in flight when the process was killed, and all arrived.
#[tokio::test]
async fn what_was_under_way_to_others_does_not_hide_what_was_sent() {
    let s = scene().await;
    let ann = s.api.user("Ann", "ann_b");
    let people: Vec<_> =
        (0..40).map(|n| s.api.user(&format!("P{n}"), &format!("person_{n}"))).collect();
    let asked = ann.says(&ann.direct(), "hi").send();
    let others = people
        .iter()
        .map(|person| {
            RemoteId(format!("{}:{}", person.id, person.says(&person.direct(), "hi").send()))
        })
        .collect();
    let stored = RemoteId(format!("{}:{asked}", ann.id));
    for person in &people {
        s.handler
            .send(&only_delivery(&*s.handler, &person.id.to_string(), &say("for someone else")))
            .await
            .unwrap();
    }
    let delivery = only_delivery(&*s.handler, &ann.id.to_string(), &say("only once"));
    let outcome_unknown = people.iter().map(|person| RemoteId::new(person.id)).collect();
    let context = ReadBackContext {
        received: vec![stored],
        outcome_unknown,
        others,
        ..ReadBackContext::default()
    };
    s.api.fault(Fault::new(Effect::LoseResponse).on("sendMessage"));
    s.handler.send(&delivery).await.unwrap_err();
    let ReadBackResult::Sent(_) = s.restarted().find(&delivery, &context).await.unwrap() else {
        panic!("it is there")
    };
}

#[tokio::test]
async fn a_busy_group_ends_in_unknown_rather_than_a_guess() {
    let s = scene().await;
    let ann = s.api.user("Ann", "ann_b");
    let group = s.api.supergroup("Garden", &[&ann]);
    let asked = ann.says(&group, "hi").send();
    for n in 0..25 {
        ann.says(&group, &format!("chatter {n}")).send();
    }
    let delivery = only_delivery(
        &*s.handler,
        &group.id.to_string(),
        &reply("x", format!("{}:{asked}", group.id)),
    );
    assert_eq!(
        s.handler.find(&delivery, &ReadBackContext::default()).await.unwrap(),
        ReadBackResult::Unknown
    );
    assert!(s.api.calls_of("editMessageReplyMarkup").len() <= 20);
}
