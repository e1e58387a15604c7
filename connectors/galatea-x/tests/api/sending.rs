//! Tests of posts: resumed threads, read-back, pictures, and X's rules.

mod summons;

use galatea_core::{
    Content, Delivery, Error, ErrorKind, Media, MediaKind, Outgoing, People, ReadBackContext,
    ReadBackResult, RemoteId, Retry, SendHandler, Sent,
};
use galatea_testkit::x::{Effect, ErrorBody, Fault, Options, Person, XApi};
use galatea_x::{Tier, XConfig, weight};
use std::{sync::Arc, time::Duration};

use super::support::{Running, config, deliveries, gateway, reply, say, send, start, successor};

struct Scene {
    api: XApi,
    ann: Person,
    asked: u64,
    running: Running,
    handler: Arc<dyn SendHandler>,
    folder: tempfile::TempDir,
}

async fn scene() -> Scene {
    scene_with(Options::default(), |_| {}).await
}

async fn scene_with(options: Options, change: impl FnOnce(&mut XConfig)) -> Scene {
    let api = XApi::with(options).await;
    let ann = api.user("Ann", "ann_b");
    let asked = ann.posts("@galatea_test hello");
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(&api);
    change(&mut config);
    let running = start(config, folder.path(), &gateway());
    running.messages(1).await;
    let handler = running.handler().await;
    Scene { api, ann, asked, running, handler, folder }
}

impl Scene {
    fn room(&self) -> String {
        self.asked.to_string()
    }

    async fn send(&self, outgoing: &Outgoing) -> Vec<galatea_core::Result<galatea_core::Receipt>> {
        send(&*self.handler, &self.api, &self.room(), outgoing).await
    }

    fn deliveries(&self, outgoing: &Outgoing) -> Vec<Delivery> {
        deliveries(&*self.handler, &self.api, &self.room(), outgoing)
    }

    async fn error(&self, outgoing: &Outgoing) -> Error {
        self.send(outgoing).await.remove(0).unwrap_err()
    }
}

#[tokio::test]
async fn a_long_answer_is_a_thread_of_posts_that_fit() {
    let s = scene().await;
    let text = (0..1400).map(|n| format!("word{n} ")).collect::<String>();
    assert!(text.len() > 9_800);
    for receipt in s.send(&reply(&text, s.asked)).await {
        receipt.unwrap();
    }
    let shown = s.api.shown();
    assert!(
        shown.len() > 30
            && shown.iter().all(|p| weight(&p.text) <= 280 && p.conversation == s.asked)
    );
    assert_eq!(shown[0].reply_to, Some(s.asked));
    assert!(
        shown.windows(2).all(|two| two[1].reply_to == Some(two[0].id)),
        "each part replies to the one before"
    );
    let words: Vec<&str> = shown.iter().flat_map(|p| p.text.split_whitespace()).collect();
    assert_eq!(words, text.split_whitespace().collect::<Vec<_>>());
    s.running.end().await;
}

#[tokio::test]
async fn a_thread_goes_on_at_the_failed_part_after_a_kill() {
    let s = scene().await;
    let parts = s.deliveries(&reply(&"tide ".repeat(170), s.asked));
    assert_eq!(parts.len(), 4);
    s.handler.send(&parts[0]).await.unwrap();
    s.handler.send(&parts[1]).await.unwrap();
    s.api.fault(Fault::new(Effect::ServerError(503, ErrorBody::Json)).on("POST /2/tweets"));
    assert_eq!(s.handler.send(&parts[2]).await.unwrap_err().sent(), Sent::Maybe);
    let gateway = successor(&s.running.gateway);
    s.running.kill().await;
    // Another machine: only the state follows the account.
    let elsewhere = tempfile::tempdir().unwrap();
    let again = start(config(&s.api), elsewhere.path(), &gateway);
    let handler = again.handler().await;
    assert_eq!(
        handler.find(&parts[2], &ReadBackContext::default()).await.unwrap(),
        ReadBackResult::NotSent
    );
    assert!(matches!(
        handler.find(&parts[1], &ReadBackContext::default()).await.unwrap(),
        ReadBackResult::Sent(_)
    ));
    handler.send(&parts[2]).await.unwrap();
    handler.send(&parts[3]).await.unwrap();
    let shown = s.api.shown();
    assert_eq!(shown.len(), 4);
    assert!(shown.windows(2).all(|two| two[1].reply_to == Some(two[0].id)));
    again.end().await;
}

#[tokio::test]
async fn a_post_whose_answer_was_lost_is_found_and_never_made_twice() {
    let text = "1 < 2 & https://example.org/a/long/path?x=1 – “said” @ann_b 👩‍👩‍👧, example.com, see README.md";
    for effect in
        [Effect::LoseResponse, Effect::ApplyThenFail, Effect::CutAfter(30), Effect::Garbage]
    {
        let s = scene().await;
        s.api.fault(Fault::new(effect.clone()).on("POST /2/tweets"));
        let delivery = s.deliveries(&reply(text, s.asked)).remove(0);
        let error = s.handler.send(&delivery).await.unwrap_err();
        assert_eq!(
            (error.sent(), error.retry() == Retry::Never),
            (Sent::Maybe, false),
            "{effect:?}: {}",
            error.report()
        );
        let gateway = successor(&s.running.gateway);
        s.running.kill().await;
        let again = start(config(&s.api), s.folder.path(), &gateway);
        let ReadBackResult::Sent(receipt) =
            again.handler().await.find(&delivery, &ReadBackContext::default()).await.unwrap()
        else {
            panic!("it is there after {effect:?}")
        };
        let shown = s.api.shown();
        assert_eq!((receipt.id.unwrap().0, shown.len()), (shown[0].id.to_string(), 1));
        again.end().await;
    }
}

#[tokio::test]
async fn a_duplicate_is_looked_up_before_it_is_given_up() {
    let s = scene().await;
    s.api.fault(Fault::new(Effect::LoseResponse).on("POST /2/tweets"));
    let delivery = s.deliveries(&reply("the same words", s.asked)).remove(0);
    s.handler.send(&delivery).await.unwrap_err();
    let receipt = s.handler.send(&delivery).await.unwrap();
    assert_eq!((receipt.id.unwrap().0, s.api.shown().len()), (s.api.shown()[0].id.to_string(), 1));
    // After an attempt of unknown outcome X may have the post without listing it yet.
    let again =
        Delivery { attempt: 1, ..s.deliveries(&reply("the same words", s.asked)).remove(0) };
    let error = s.handler.send(&again).await.unwrap_err();
    assert_eq!((error.code(), error.kind()), (Some("GAL-X-DUPLICATE"), ErrorKind::Conflict));
    assert!(
        error.sent() == Sent::Maybe && matches!(error.retry(), Retry::After(_)),
        "{}",
        error.report()
    );
    assert_eq!(s.api.shown().len(), 1);
    s.running.end().await;
}

/// An example of such a text is an apology under every mention.
#[tokio::test]
async fn the_same_words_under_one_mention_after_the_other_are_held_back() {
    let s = scene().await;
    assert!(s.send(&reply("Sorry, I cannot think right now.", s.asked)).await.remove(0).is_ok());
    let again = s.ann.posts("@galatea_test hello?");
    s.running.messages(2).await;
    let error = send(
        &*s.handler,
        &s.api,
        &again.to_string(),
        &reply("Sorry, I cannot think right now!", again),
    )
    .await
    .remove(0)
    .unwrap_err();
    assert_eq!(
        (error.code(), error.retry(), error.sent()),
        (Some("GAL-X-SIMILAR"), Retry::Never, Sent::No)
    );
    assert!(
        send(&*s.handler, &s.api, &again.to_string(), &reply("Here I am again.", again))
            .await
            .remove(0)
            .is_ok()
    );
    assert_eq!(s.api.shown().len(), 2);
    s.running.end().await;
}

#[tokio::test]
async fn a_thread_goes_on_where_our_notes_are_lost() {
    let s = scene().await;
    let mut parts = s.deliveries(&reply(&"tide ".repeat(170), s.asked));
    let first = s.handler.send(&parts[0]).await.unwrap();
    parts[1].previous = first.id;
    s.api.fault(Fault::new(Effect::LoseResponse).on("POST /2/tweets"));
    s.handler.send(&parts[1]).await.unwrap_err();
    let gateway = successor(&s.running.gateway);
    s.running.kill().await;
    // The process knows only what the store says about the part before.
    gateway.put_state("posts", serde_json::Value::Null);
    let again = start(config(&s.api), s.folder.path(), &gateway);
    let handler = again.handler().await;
    let ReadBackResult::Sent(second) =
        handler.find(&parts[1], &ReadBackContext::default()).await.unwrap()
    else {
        panic!("it is there")
    };
    parts[2].previous = second.id;
    parts[3].previous = handler.send(&parts[2]).await.unwrap().id;
    handler.send(&parts[3]).await.unwrap();
    let shown = s.api.shown();
    assert_eq!(shown.len(), 4);
    assert!(shown.windows(2).all(|two| two[1].reply_to == Some(two[0].id)));
    again.end().await;
}

#[tokio::test]
async fn x_names_the_time_and_nothing_is_asked_before_it() {
    let s = scene().await;
    s.api.fault(Fault::new(Effect::RateLimited(60)).on("POST /2/tweets"));
    let error = s.error(&reply("one", s.asked)).await;
    let Retry::After(wait) = error.retry() else { panic!("a time") };
    assert!((58..=61).contains(&wait.as_secs()) && error.code() == Some("GAL-X-429"), "{wait:?}");
    let error = s.error(&reply("two", s.asked)).await;
    assert!(matches!(error.retry(), Retry::After(_)) && error.sent() == Sent::No);
    assert_eq!(s.api.calls_of("POST /2/tweets").len(), 1);
    s.running.end().await;
}

#[tokio::test]
async fn the_last_call_of_a_window_is_the_last_one() {
    let s = scene().await;
    s.api.leave("POST /2/tweets", 1);
    assert!(s.send(&reply("one", s.asked)).await.remove(0).is_ok());
    let error = s.error(&reply("two", s.asked)).await;
    assert!(
        matches!(error.retry(), Retry::After(wait) if wait > Duration::from_secs(60)),
        "remaining was 0: {}",
        error.report()
    );
    assert_eq!(s.api.calls_of("POST /2/tweets").len(), 1);
    s.running.end().await;
}

#[tokio::test]
async fn a_dry_run_posts_nothing_and_says_so() {
    let s = scene_with(Options::default(), |c| c.dry_run = true).await;
    let receipts = s.send(&reply(&"tide ".repeat(100), s.asked)).await;
    assert!(receipts.len() == 2 && receipts.into_iter().all(|r| r.unwrap().id.is_none()));
    assert!(s.send(&Outgoing::Delete { id: RemoteId("7".into()) }).await.remove(0).is_ok());
    assert!(s.api.shown().is_empty() && s.api.calls().iter().all(|c| c.route.starts_with("GET")));
    assert!(format!("{:?}", s.running.gateway.health()).contains("DRY RUN"));
    s.running.end().await;
}

#[tokio::test]
async fn pictures_and_films_are_uploaded_described_and_found_again() {
    let s = scene().await;
    let big = vec![7_u8; 5_000_000];
    let file = s.folder.path().join(format!("x-{}", s.api.account())).join("film.mp4");
    std::fs::write(&file, &big).unwrap();
    let picture = |n: u8| Media {
        url: format!("data:image/png;base64,aGVsbG8{n}"),
        content_type: MediaKind::Image,
        mime: Some("image/png".into()),
        description: format!("picture {n}"),
        ..Media::default()
    };
    let film = Media {
        url: format!("file://{}", file.display()),
        content_type: MediaKind::Video,
        mime: Some("video/mp4".into()),
        ..Media::default()
    };
    let content =
        Content { attachments: vec![picture(1), picture(2), film], ..Content::text("see") };
    s.api.fault(Fault::new(Effect::LoseResponse).on("POST /2/tweets"));
    let parts =
        s.deliveries(&Outgoing::Message { content, reply_to: Some(RemoteId::new(s.asked)) });
    assert_eq!(s.handler.send(&parts[0]).await.unwrap_err().sent(), Sent::Maybe);
    assert!(matches!(
        s.handler.find(&parts[0], &ReadBackContext::default()).await.unwrap(),
        ReadBackResult::Sent(_)
    ));
    s.handler.send(&parts[1]).await.unwrap();
    let shown = s.api.shown();
    assert_eq!(shown.iter().map(|p| p.media.len()).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(shown[0].media[1].2.as_deref(), Some("picture 2"));
    assert_eq!(shown[1].media[0].1, big, "in pieces of at most 4 MB, in order");
    assert_eq!(s.api.calls_of("POST /2/media/upload/:id/append").len(), 4);
    assert_eq!(
        s.api.calls_of("GET /2/media/upload").len(),
        1,
        "the upload waits until X has processed the video"
    );
    s.running.end().await;
}

#[tokio::test]
async fn a_failed_upload_posts_nothing() {
    let s = scene().await;
    s.api.fault(Fault::new(Effect::LoseResponse).on("POST /2/media/upload/:id/append"));
    let media = Media {
        url: "data:image/png;base64,aGVsbG8=".into(),
        content_type: MediaKind::Image,
        mime: Some("image/png".into()),
        ..Media::default()
    };
    let outgoing = Outgoing::Message {
        content: Content { attachments: vec![media], ..Content::default() },
        reply_to: Some(RemoteId::new(s.asked)),
    };
    let error = s.error(&outgoing).await;
    assert_eq!((error.sent(), s.api.shown().len()), (Sent::No, 0), "{}", error.report());
    s.running.end().await;
}
