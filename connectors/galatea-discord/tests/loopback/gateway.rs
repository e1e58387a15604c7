//! Tests of gateway faults: no event is lost or doubled, no rule of Discord's is broken, and the
//! connector reconnects soon.

use crate::support::{Running, config, gateway, start, with};
use galatea_core::SystemClock;
use galatea_testkit::connector_suite::RecordingGateway;
use galatea_testkit::discord::{DiscordApi, Options, Order, User};
use std::{sync::Arc, time::Duration};

async fn stage(options: Options) -> (DiscordApi, User, Running) {
    let api = DiscordApi::with(options).await;
    let ann = api.user("Ann", "ann_b");
    api.guild("Garden", &[&ann]);
    let running = start(config(&api));
    api.wait_connected(1).await;
    (api, ann, running)
}

async fn texts(running: &Running, count: usize) -> Vec<String> {
    running.heard(count).await.into_iter().map(|m| m.content.text).collect()
}

/// Gives this order between two messages, with a third sent during it, and asserts that all three
/// arrive once and in order. `resumes` says whether the session is kept.
async fn survives(order: Order, resumes: bool) {
    let (api, ann, running) = stage(Options::default()).await;
    let direct = ann.direct();
    ann.says(&direct, "one").send();
    texts(&running, 1).await;
    api.order(order.clone());
    ann.says(&direct, "two").send();
    let back = |h: &galatea_testkit::discord::Handle| {
        (h.resumed() + h.identified() > 1 && h.connected() == 1).then_some(())
    };
    api.wait_for("it to be back", back).await;
    ann.says(&direct, "three").send();
    assert_eq!(texts(&running, 3).await, ["one", "two", "three"], "{order:?}");
    assert_eq!(
        api.identified() == 1,
        resumes,
        "{order:?}: a session that can be resumed needs no IDENTIFY"
    );
}

#[tokio::test]
async fn reconnect_is_followed_by_resume() {
    survives(Order::Reconnect, true).await;
}

#[tokio::test]
async fn an_invalid_session_that_may_be_resumed_is() {
    survives(Order::InvalidSession(true), true).await;
}

#[tokio::test]
async fn an_invalid_session_begins_anew_and_reads_what_was_missed() {
    survives(Order::InvalidSession(false), false).await;
}

#[tokio::test]
async fn a_session_that_timed_out_begins_anew() {
    survives(Order::Close(4009), false).await;
}

#[tokio::test]
async fn other_close_codes_are_followed_by_resume() {
    for code in [4000, 4001, 4002, 4005, 4008] {
        survives(Order::Close(code), true).await;
    }
}

#[tokio::test]
async fn a_dropped_connection_is_resumed() {
    survives(Order::Drop, true).await;
}

#[tokio::test]
async fn a_connection_cut_at_any_byte_is_resumed() {
    for bytes in [1, 3, 30, 300] {
        survives(Order::CutAfter(bytes), true).await;
    }
}

#[tokio::test]
async fn heartbeats_that_are_not_answered_end_the_connection() {
    let (api, ann, running) =
        stage(Options { heartbeat: Duration::from_millis(500), ..Options::default() }).await;
    api.order(Order::StopAcks);
    api.wait_for("a resume", |h| (h.resumed() > 0).then_some(())).await;
    ann.says(&ann.direct(), "still there?").send();
    assert_eq!(texts(&running, 1).await, ["still there?"]);
}

#[tokio::test]
async fn an_event_that_comes_twice_is_counted_once() {
    let (api, ann, running) = stage(Options::default()).await;
    ann.says(&ann.direct(), "one").send();
    texts(&running, 1).await;
    api.redeliver();
    ann.says(&ann.direct(), "two").send();
    assert_eq!(texts(&running, 2).await, ["one", "two"]);
    running.until("the duplicate", |s| (s.duplicates() == 1).then_some(())).await;
}

#[tokio::test]
async fn a_new_process_goes_on_with_the_session() {
    let (api, ann, running) = stage(Options::default()).await;
    let guild = api.guild("Orchard", &[&ann]);
    let thread = ann.opens_thread(&guild.general(), "Apples");
    ann.says(&thread, "one").send();
    texts(&running, 1).await;
    let gateway = running.end().await;
    ann.says(&thread, "two").send();
    let running = with(config(&api), gateway, Arc::new(SystemClock));
    assert_eq!(texts(&running, 2).await, ["one", "two"]);
    assert_eq!((api.identified(), api.resumed()), (1, 1));
    // A resumed session brings no GUILD_CREATE, so the connector fetches the guild.
    let events = running.gateway.events();
    let rooms: Vec<_> = events
        .iter()
        .filter(|e| matches!(e.event, galatea_core::IncomingEvent::Message(_)))
        .map(|e| e.connection.room.clone())
        .collect();
    assert_eq!(rooms[0], rooms[1]);
    let names: Vec<_> = events.iter().map(|e| e.connection.world.name.clone()).collect();
    assert_eq!(names.last().unwrap().as_deref(), Some("Orchard"));
}

#[tokio::test]
async fn what_is_not_stored_is_not_acknowledged() {
    let (api, ann, running) = stage(Options::default()).await;
    api.wait_acknowledged().await;
    running.gateway.fail_receives(usize::MAX);
    ann.says(&ann.direct(), "one").send();
    running.until("a refusal", |g| (!g.refused().is_empty()).then_some(())).await;
    // As if killed here: another process has to receive the event.
    let gateway = running.end().await;
    gateway.fail_receives(0);
    let running = with(config(&api), gateway, Arc::new(SystemClock));
    assert_eq!(texts(&running, 1).await, ["one"]);
    assert_eq!(api.identified(), 1);
}

#[tokio::test]
async fn after_hours_away_the_channels_are_read() {
    let (api, ann, running) = stage(Options::default()).await;
    let guild = api.guild("Orchard", &[&ann]);
    let thread = ann.opens_thread(&guild.general(), "Apples");
    ann.says(&ann.direct(), "zero").send();
    ann.says(&guild.general(), "one").send();
    texts(&running, 2).await;
    let gateway = running.end().await;
    api.forget_sessions();
    let mut expect = vec!["zero".to_owned(), "one".to_owned()];
    for n in 0..150 {
        ann.says(&guild.general(), &format!("general {n}")).send();
        expect.push(format!("general {n}"));
    }
    ann.says(&thread, "in the thread").send();
    ann.says(&ann.direct(), "in private").send();
    expect.extend(["in the thread".to_owned(), "in private".to_owned()]);
    let running = with(config(&api), gateway, Arc::new(SystemClock));
    let mut heard = texts(&running, expect.len()).await;
    let order: Vec<_> = heard.iter().filter(|t| t.starts_with("general")).cloned().collect();
    assert_eq!(order, expect[2..152], "a channel's messages come in order");
    heard.sort();
    expect.sort();
    assert_eq!(heard, expect);
}

/// Faults in quick succession, of any mixture, and the way back.
#[tokio::test]
async fn a_burst_of_faults_is_over_within_ten_seconds() {
    let (api, ann, running) = stage(Options::default()).await;
    let direct = ann.direct();
    ann.says(&direct, "one").send();
    texts(&running, 1).await;
    let begun = std::time::Instant::now();
    let orders = [
        Order::Drop,
        Order::Close(4000),
        Order::Drop,
        Order::Reconnect,
        Order::CutAfter(3),
        Order::Drop,
    ];
    for (n, order) in orders.into_iter().enumerate() {
        api.order(order);
        ann.says(&direct, &format!("during {n}")).send();
        let back = |h: &galatea_testkit::discord::Handle| (h.resumed() > n).then_some(());
        api.wait_for("the session to go on", back).await;
    }
    ann.says(&direct, "after").send();
    texts(&running, 8).await;
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert_eq!(api.identified(), 1);
    running.end().await;
}

/// A new folder knows nothing of what another one answered: nothing that was said before its first
/// session is caught up on, however that session ends.
#[tokio::test]
async fn what_was_said_before_the_first_session_is_never_caught_up_on() {
    for said_before_the_loss in [false, true] {
        let api = DiscordApi::with(Options::default()).await;
        let ann = api.user("Ann", "ann_b");
        let general = api.guild("Garden", &[&ann]).general();
        ann.says(&general, "old").send();
        ann.says(&ann.direct(), "old in private").send();
        let running = start(config(&api));
        api.wait_connected(1).await;
        let mut expect = Vec::new();
        if said_before_the_loss {
            ann.says(&ann.direct(), "one").send();
            ann.says(&general, "one").send();
            expect.extend(["one", "one"]);
            texts(&running, 2).await;
        }
        api.order(Order::InvalidSession(false));
        api.wait_for("a new session", |h| {
            (h.identified() == 2 && h.connected() == 1).then_some(())
        })
        .await;
        ann.says(&general, "two").send();
        expect.push("two");
        assert_eq!(texts(&running, expect.len()).await, expect);
        running.end().await;
    }
}

/// The detail of the newest report that it is up.
fn up(gateway: &RecordingGateway) -> Option<String> {
    gateway.health().into_iter().rev().find_map(|health| match health {
        galatea_core::Health::Up { detail } => Some(detail),
        _ => None,
    })
}

#[tokio::test]
async fn the_number_of_servers_is_told_as_it_is() {
    let api = DiscordApi::with(Options::default()).await;
    let ann = api.user("Ann", "ann_b");
    let running = start(config(&api));
    api.wait_connected(1).await;
    let tells = async |running: &Running, words: &str| {
        running.until(words, |g| up(g).filter(|detail| detail.contains(words)).map(drop)).await;
    };
    tells(&running, "in no server; invite it: https://discord.com/oauth2/authorize?client_id=")
        .await;
    let first = api.guild("Garden", &[&ann]);
    tells(&running, ", 1 server").await;
    api.guild("Orchard", &[&ann]);
    tells(&running, ", 2 servers").await;
    first.removes_bot();
    tells(&running, ", 1 server").await;
    // A resumed session tells of no server.
    let gateway = running.end().await;
    let before = gateway.health().len();
    let again = with(config(&api), gateway, Arc::new(SystemClock));
    let told = |g: &RecordingGateway| {
        let since = g.health().split_off(before);
        let one = |health: &galatea_core::Health| matches!(health, galatea_core::Health::Up { detail } if detail.contains(", 1 server"));
        since.iter().any(one).then_some(())
    };
    again.until("the number in a resumed session", told).await;
    again.end().await;
}

#[tokio::test]
async fn several_shards_share_the_guilds() {
    let api = DiscordApi::with(Options { shards: 2, ..Options::default() }).await;
    let ann = api.user("Ann", "ann_b");
    let guilds: Vec<_> = (0..4).map(|n| api.guild(&format!("Garden {n}"), &[&ann])).collect();
    let running = start(config(&api));
    api.wait_connected(2).await;
    for (n, guild) in guilds.iter().enumerate() {
        ann.says(&guild.general(), &format!("in {n}")).send();
    }
    let mut heard = texts(&running, 4).await;
    heard.sort();
    assert_eq!(heard, ["in 0", "in 1", "in 2", "in 3"]);
    let up = running.until("both shards", |s| {
        s.health().iter().find_map(|h| {
            if let galatea_core::Health::Up { detail } = h { Some(detail.clone()) } else { None }
        })
    });
    assert!(up.await.contains("2 shards"));
    running.end().await;
}

#[tokio::test]
async fn identifies_are_remembered_across_processes() {
    let (api, _, running) = stage(Options::default()).await;
    let first: Arc<RecordingGateway> = running.end().await;
    let times: Vec<i64> = serde_json::from_value(first.stored_state("identify").unwrap()).unwrap();
    assert_eq!(times.len(), 1);
    // 900 in a day are the limit, whatever Discord allows.
    let now = galatea_core::Clock::now(&SystemClock).0;
    let times: Vec<i64> = (0..900).map(|n| now - 4_000_000 - n).rev().collect();
    let gateway = gateway();
    gateway.put_state("identify", times.into());
    let error = with(config(&api), gateway, Arc::new(SystemClock)).failure().await;
    assert_eq!(error.code(), Some("GAL-DC-IDENTIFY"));
    assert_eq!(api.identified(), 1);
}

/// While the store is unavailable the queue fills up, and one more event is read from the socket.
/// It must outlive its connection, because the session resumes after it.
#[tokio::test]
async fn an_event_that_waits_for_the_store_outlives_its_connection() {
    let (api, ann, running) =
        stage(Options { heartbeat: Duration::from_millis(200), ..Options::default() }).await;
    let direct = ann.direct();
    ann.says(&direct, "0").send();
    texts(&running, 1).await;
    api.wait_acknowledged().await;
    running.gateway.hold();
    let stored = api.last_event();
    ann.says(&direct, "1").send();
    running.until("the store to be waited for", |g| (g.held() > 0).then_some(())).await;
    for n in 2..=1_300 {
        ann.says(&direct, &n.to_string()).send();
    }
    // The worker waits with the first event, the queue takes 1,024, and the shard holds one.
    let full = stored + 1 + 1_024 + 1;
    // Each outage may come before the queue is full; the sequence of the RESUME shows it.
    for outage in 1.. {
        api.set_reachable(false);
        api.wait_for("the connection to be gone", |h| (h.connected() == 0).then_some(())).await;
        api.set_reachable(true);
        api.wait_for("the session to go on", |h| (h.resumed() >= outage).then_some(())).await;
        if api.last_resumed_after() == Some(full) {
            break;
        }
        assert!(outage < 20, "the queue never filled up: {:?}", api.last_resumed_after());
    }
    running.gateway.release();
    let heard = texts(&running, 1_301).await;
    assert_eq!(heard, (0..=1_300).map(|n| n.to_string()).collect::<Vec<_>>());
    running.end().await;
}
