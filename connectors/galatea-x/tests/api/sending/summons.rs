//! Who is answered and mentioned: people who summoned the account, and those the operator allows.

use super::*;

/// The loopback server records a violation for every mention of a person outside the conversation.
#[tokio::test]
async fn only_who_is_answered_and_who_the_operator_allows_is_mentioned() {
    let allowed = Options { may_mention: vec!["harbour".to_owned()], ..Options::default() };
    let s = scene_with(allowed, |config| config.may_mention = vec!["harbour".to_owned()]).await;
    s.api.user("Victim", "victim");
    s.send(&reply("@victim ＠victim RT@victim: @ann_b, ask @Harbour or ann@victim.org", s.asked))
        .await
        .remove(0)
        .unwrap();
    let shown = s.api.shown().remove(0);
    assert_eq!(shown.text, "@ victim @ victim RT@ victim: @ann_b, ask @Harbour or ann@victim.org");
    s.send(&Outgoing::Message {
        content: Content::text("Good morning @victim"),
        reply_to: Some(RemoteId::new(s.asked)),
    })
    .await
    .remove(0)
    .unwrap();
    s.running.end().await;
}

#[tokio::test]
async fn only_those_who_summoned_are_answered() {
    let s = scene().await;
    let bob = s.api.user("Bob", "bob_c");
    let apart = bob.posts("a post without a question");
    let error = s.error(&reply("unasked", apart)).await;
    assert_eq!(
        (error.code(), error.kind(), error.sent()),
        (Some("GAL-X-NOT-SUMMONED"), ErrorKind::Forbidden, Sent::No)
    );
    let error =
        send(&*s.handler, &s.api, &apart.to_string(), &say("unasked")).await.remove(0).unwrap_err();
    assert_eq!(error.code(), Some("GAL-X-NOT-SUMMONED"));
    let ours =
        s.send(&reply("ours", s.asked)).await.remove(0).unwrap().id.unwrap().0.parse().unwrap();
    let quoted = bob.quotes(ours, "look at that");
    assert!(
        send(&*s.handler, &s.api, &quoted.to_string(), &reply("thank you", quoted))
            .await
            .remove(0)
            .is_ok(),
        "a quotation summons"
    );
    assert_eq!(s.api.calls_of("POST /2/tweets").len(), 2, "no further call was made to X");
    s.running.end().await;
}

#[tokio::test]
async fn with_lost_notes_x_is_asked_whether_we_were_summoned() {
    let s = scene().await;
    let gateway = successor(&s.running.gateway);
    s.running.kill().await;
    gateway.put_state("summons", serde_json::Value::Null);
    let mut config = config(&s.api);
    // The mention is not read again, either.
    config.replies = false;
    let again = start(config, s.folder.path(), &gateway);
    let handler = again.handler().await;
    send(&*handler, &s.api, &s.asked.to_string(), &reply("still here", s.asked))
        .await
        .remove(0)
        .unwrap();
    assert_eq!(s.api.calls_of("GET /2/tweets/:id").len(), 1);
    let apart = s.ann.posts("to everyone");
    let error = send(&*handler, &s.api, &apart.to_string(), &reply("unasked", apart))
        .await
        .remove(0)
        .unwrap_err();
    assert_eq!(error.code(), Some("GAL-X-NOT-SUMMONED"));
    again.end().await;
}

#[tokio::test]
async fn people_who_are_not_to_be_answered_are_not() {
    let s = scene_with(Options::default(), |c| c.target_users = People::parse(["@someone"])).await;
    let error = s.error(&reply("hello", s.asked)).await;
    assert_eq!((error.code(), error.retry()), (Some("GAL-X-TARGET"), Retry::Never));
    assert!(s.api.shown().is_empty());
    s.running.end().await;
}

#[tokio::test]
async fn enterprise_may_like_and_speak_unasked() {
    let s = scene_with(Options { enterprise: true, ..Options::default() }, |c| {
        c.tier = Tier::Enterprise
    })
    .await;
    assert!(
        s.running
            .connector
            .send_handler()
            .encode(&Outgoing::React { id: RemoteId::new(s.asked), emoji: Some("❤".into()) })
            .is_ok()
    );
    s.send(&Outgoing::React { id: RemoteId::new(s.asked), emoji: Some("❤".into()) })
        .await
        .remove(0)
        .unwrap();
    assert!(s.api.likes(s.asked));
    s.send(&Outgoing::React { id: RemoteId::new(s.asked), emoji: None }).await.remove(0).unwrap();
    assert!(!s.api.likes(s.asked));
    let apart = s.ann.posts("to everyone");
    assert!(
        send(&*s.handler, &s.api, &apart.to_string(), &reply("unasked", apart))
            .await
            .remove(0)
            .is_ok()
    );
    s.running.end().await;
}
