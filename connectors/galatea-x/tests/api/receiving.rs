//! Tests of mentions: none is lost or repeated and the order is kept, whatever X and the network
//! do.

use galatea_core::{ChannelType, Connector, Health};
use galatea_testkit::x::{Effect, ErrorBody, Fault, Options, XApi};

use super::support::{config, gateway, reply, send, start};
use galatea_testkit::connector_suite::running::patient;

#[tokio::test]
async fn mentions_come_with_elizaos_ids_and_what_they_talk_about() {
    let api = XApi::start().await;
    let (ann, bob) = (api.user("Ann", "ann_b"), api.user("Bob", "bob_c"));
    let root = bob.posts("The moon is cheese & <old> https://example.org/moon?x=1");
    let asked = ann.replies(root, "@galatea_test is this true?");
    let folder = tempfile::tempdir().unwrap();
    let running = start(config(&api), folder.path(), &gateway());
    let (incoming, message) = running.messages(1).await.remove(0);
    assert_eq!(
        (incoming.connection.world.remote.0, incoming.connection.room.remote.0),
        (ann.id.to_string(), root.to_string())
    );
    assert_eq!(
        (incoming.connection.room.kind, message.id.0),
        (ChannelType::Feed, asked.to_string())
    );
    assert!(message.addressed.mention && !message.addressed.reply);
    let quote = &message.content.quotes[0];
    assert_eq!(
        (quote.by.as_deref(), quote.text.as_str()),
        (Some("@bob_c"), "The moon is cheese & <old> https://example.org/moon?x=1")
    );
    running.end().await;
}

#[tokio::test]
async fn every_page_is_read_oldest_first_and_stored_with_the_cursor() {
    let api = XApi::with(Options { page: 7, ..Options::default() }).await;
    let ann = api.user("Ann", "ann_b");
    let said: Vec<String> =
        (0..40).map(|n| ann.posts(&format!("@galatea_test number {n}")).to_string()).collect();
    let folder = tempfile::tempdir().unwrap();
    let running = start(config(&api), folder.path(), &gateway());
    let heard: Vec<String> = running.messages(40).await.into_iter().map(|(_, m)| m.id.0).collect();
    assert_eq!(heard, said);
    assert_eq!(running.gateway.stored_cursor("mentions").unwrap().position, said[39]);
    assert_eq!(
        running.gateway.batches().iter().filter(|b| !b.events.is_empty()).count(),
        1,
        "one commit: newer posts must not be stored before older ones"
    );
    running.end().await;
}

#[tokio::test]
async fn a_post_listed_late_with_a_lower_id_is_not_missed_and_none_comes_twice() {
    let api = XApi::start().await;
    let ann = api.user("Ann", "ann_b");
    let folder = tempfile::tempdir().unwrap();
    let running = start(config(&api), folder.path(), &gateway());
    let late = ann.posts_late("@galatea_test late");
    let second = ann.posts("@galatea_test second");
    assert_eq!(running.messages(1).await[0].1.id.0, second.to_string());
    api.index_late();
    assert_eq!(running.messages(2).await[1].1.id.0, late.to_string());
    let looks = api.calls_of("GET /2/users/:id/mentions").len();
    api.wait_calls("GET /2/users/:id/mentions", looks + 3).await;
    let handed: usize = running.gateway.batches().iter().map(|b| b.events.len()).sum();
    assert_eq!(handed, 2, "posts that the overlap returns again are not delivered again");
    running.end().await;
}

#[tokio::test]
async fn messages_of_a_downtime_arrive_even_if_they_are_the_first() {
    let api = XApi::start().await;
    let ann = api.user("Ann", "ann_b");
    let (folder, gateway) = (tempfile::tempdir().unwrap(), gateway());
    let running = start(config(&api), folder.path(), &gateway);
    patient("a cursor", gateway.wait_for(|g| g.stored_cursor("mentions"))).await;
    running.kill().await;
    let said = ann.posts("@galatea_test meanwhile");
    let running = start(config(&api), folder.path(), &gateway);
    assert_eq!(running.messages(1).await[0].1.id.0, said.to_string());
    assert_eq!(
        api.calls_of("GET /2/users/me").len(),
        1,
        "the account is a paid read: asked for once, not at every start"
    );
    running.end().await;
}

#[tokio::test]
async fn nothing_is_skipped_when_the_store_refuses() {
    let api = XApi::start().await;
    let ann = api.user("Ann", "ann_b");
    let (folder, gateway) = (tempfile::tempdir().unwrap(), gateway());
    let running = start(config(&api), folder.path(), &gateway);
    patient("a cursor", gateway.wait_for(|g| g.stored_cursor("mentions"))).await;
    let before = gateway.stored_cursor("mentions");
    gateway.fail_receives(1);
    let first = ann.posts("@galatea_test one");
    patient("a refusal", gateway.wait_for(|g| (!g.refused().is_empty()).then_some(()))).await;
    assert!(gateway.stored_cursor("mentions") == before || !gateway.messages().is_empty());
    assert_eq!(running.messages(1).await[0].1.id.0, first.to_string());
    running.end().await;
}

#[tokio::test]
async fn troubles_are_reported_once_and_it_goes_on() {
    let api = XApi::start().await;
    let ann = api.user("Ann", "ann_b");
    for effect in [
        Effect::ServerError(503, ErrorBody::Html),
        Effect::ServerError(500, ErrorBody::Json),
        Effect::LoseResponse,
        Effect::CutAfter(40),
        Effect::Garbage,
        Effect::RateLimited(1),
    ] {
        api.fault(Fault::new(effect).on("GET /2/users/:id/mentions"));
    }
    let folder = tempfile::tempdir().unwrap();
    let running = start(config(&api), folder.path(), &gateway());
    let said = ann.posts("@galatea_test still there?");
    assert_eq!(running.messages(1).await[0].1.id.0, said.to_string());
    let health = running.gateway.health();
    assert!(health.iter().any(|h| matches!(h, Health::Retrying { .. })), "{health:?}");
    patient(
        "health",
        running.gateway.wait_for(|g| {
            g.health().last().is_some_and(|h| matches!(h, Health::Up { .. })).then_some(())
        }),
    )
    .await;
    running.end().await;
}

/// A page with a malformed post: the other posts arrive once, the lost one is recorded by its id,
/// and polling goes on.
#[tokio::test]
async fn an_item_that_cannot_be_read_costs_only_itself() {
    const LOOK: &str = "GET /2/users/:id/mentions";
    let api = XApi::start().await;
    let ann = api.user("Ann", "ann_b");
    let (folder, gateway) = (tempfile::tempdir().unwrap(), gateway());
    let first = ann.posts("@galatea_test first");
    let running = start(config(&api), folder.path(), &gateway);
    running.messages(1).await;
    let author = ann.id;
    let deep = format!("{}1{}", "[".repeat(3_000), "]".repeat(3_000));
    let (half, nested, odd) = (first + 10, first + 20, first + 30);
    let page = format!(
        r#"{{"data":[{{"id":"{odd}","text":["no","words"]}},{{"id":"{nested}","author_id":"{author}","text":"@galatea_test nested","entities":{deep}}},
            {{"id":"{half}","author_id":"{author}","text":"@galatea_test half \ud83d here"}},17],"meta":{{"result_count":4}}}}"#
    );
    api.fault(Fault::new(Effect::Body(page)).on(LOOK));
    let heard: Vec<_> = running
        .messages(3)
        .await
        .into_iter()
        .skip(1)
        .map(|(_, m)| (m.id.0, m.content.text))
        .collect();
    assert_eq!(heard[0], (half.to_string(), "@galatea_test half \u{FFFD} here".to_owned()));
    assert_eq!(heard[1].0, nested.to_string());
    let gaps = gateway.gaps();
    assert!(
        gaps.len() == 1
            && gaps[0].reason.contains(&odd.to_string())
            && !gaps[0].reason.contains("words"),
        "{gaps:?}"
    );
    assert_eq!(
        gateway.stored_cursor("mentions").unwrap().position,
        odd.to_string(),
        "it is not asked for repeatedly"
    );
    let looks = api.calls_of(LOOK).len();
    api.wait_calls(LOOK, looks + 2).await;
    assert_eq!((running.messages(3).await.len(), gateway.gaps().len()), (3, 1));
    running.end().await;
}

#[tokio::test]
async fn a_page_that_is_too_large_is_asked_for_in_pieces_and_then_passed_over() {
    const LOOK: &str = "GET /2/users/:id/mentions";
    let api = XApi::start().await;
    let ann = api.user("Ann", "ann_b");
    let (folder, gateway) = (tempfile::tempdir().unwrap(), gateway());
    ann.posts("@galatea_test first");
    let running = start(config(&api), folder.path(), &gateway);
    running.messages(1).await;
    let too_large = || Effect::Body(format!(r#"{{"data":[],"pad":"{}"}}"#, "x".repeat(17 << 20)));
    api.fault(Fault::new(too_large()).on(LOOK));
    let said = ann.posts("@galatea_test second");
    assert_eq!(running.messages(2).await[1].1.id.0, said.to_string(), "a smaller page fits");
    assert!(gateway.gaps().is_empty());
    assert!(api.calls_of(LOOK).iter().any(|call| call.query["max_results"] == "20"));
    let before = gateway.stored_cursor("mentions");
    api.fault(Fault::new(too_large()).on(LOOK).times(3));
    let gaps =
        patient("a gap", gateway.wait_for(|g| Some(g.gaps()).filter(|gaps| !gaps.is_empty())))
            .await;
    assert!(gaps.len() == 1 && gaps[0].reason.contains("more than can be read"), "{gaps:?}");
    patient(
        "to move on",
        gateway.wait_for(|g| (g.stored_cursor("mentions") != before).then_some(())),
    )
    .await;
    let said = ann.posts("@galatea_test third");
    assert_eq!(running.messages(3).await[2].1.id.0, said.to_string());
    running.end().await;
}

#[tokio::test]
async fn a_hanging_server_times_out() {
    let api = XApi::start().await;
    let ann = api.user("Ann", "ann_b");
    let folder = tempfile::tempdir().unwrap();
    let running = start(config(&api), folder.path(), &gateway());
    patient("the first look", running.gateway.wait_for(|g| g.stored_cursor("mentions"))).await;
    api.fault(Fault::new(Effect::Hang).on("GET /2/users/:id/mentions"));
    let said = ann.posts("@galatea_test hello?");
    let looked = patient(
        "trouble",
        running.gateway.wait_for(|g| {
            g.health().iter().find(|h| matches!(h, Health::Retrying { .. })).cloned()
        }),
    )
    .await;
    assert!(format!("{looked:?}").contains("GAL-X-TIMEOUT"), "{looked:?}");
    assert_eq!(running.messages(1).await[0].1.id.0, said.to_string());
    running.end().await;
}

/// The access token of another server need not tell the account's id: the API tells it.
#[tokio::test]
async fn a_token_of_another_shape_works_with_another_server() {
    let mut options = Options::default();
    options.keys.token = "canary.of.another.shape".to_owned();
    let api = XApi::with(options).await;
    let asked = api.user("Ann", "ann_b").posts("@galatea_test hello");
    let folder = tempfile::tempdir().unwrap();
    let running = start(config(&api), folder.path(), &gateway());
    let (_, message) = running.messages(1).await.remove(0);
    assert!(message.id.0 == asked.to_string() && message.addressed.mention);
    let account = running.connector.info().account.0.clone();
    assert!(account.starts_with("account-") && !account.contains("canary"), "{account}");
    send(&*running.handler().await, &api, &asked.to_string(), &reply("hi", asked))
        .await
        .remove(0)
        .unwrap();
    running.end().await;
}
