//! The day's cap.

use galatea_core::{ErrorKind, Health, Retry};
use galatea_testkit::{connector_suite::CapturedLog, x::XApi};
use galatea_x::Usd;

use super::support::{config, gateway, reply, send, start};
use galatea_testkit::connector_suite::running::patient;

#[tokio::test]
async fn the_cap_holds_over_a_restart_with_one_alert() {
    let (log, _guard) = CapturedLog::start();
    let api = XApi::start().await;
    let asked = api.user("Ann", "ann_b").posts("@galatea_test hello");
    let folder = tempfile::tempdir().unwrap();
    let capped = || {
        let mut config = config(&api);
        // Who we are 0.010, the mention 0.001, two summoned replies 0.010 each.
        config.daily_limit = Usd(31_500);
        config
    };
    let gateway = gateway();
    let running = start(capped(), folder.path(), &gateway);
    running.messages(1).await;
    let handler = running.handler().await;
    for text in ["one", "two"] {
        send(&*handler, &api, &asked.to_string(), &reply(text, asked)).await.remove(0).unwrap();
    }
    running.kill().await;
    let running = start(capped(), folder.path(), &gateway);
    let handler = running.connector.send_handler();
    for _ in 0..3 {
        let error = send(&*handler, &api, &asked.to_string(), &reply("three", asked)).await.remove(0).unwrap_err();
        assert_eq!((error.code(), error.kind()), (Some("GAL-X-BUDGET"), ErrorKind::RateLimited));
        assert!(matches!(error.retry(), Retry::After(_)), "until midnight");
    }
    let told = |h: &Health| matches!(h, Health::Degraded { reason } if reason.contains("GAL-X-BUDGET"));
    patient("health", running.gateway.wait_for(|g| g.health().iter().any(told).then_some(()))).await;
    assert_eq!((api.shown().len(), log.text().matches("GAL-X-BUDGET").count()), (2, 1), "{}", log.text());
    running.end().await;
}

#[tokio::test]
async fn links_cost_more_and_refused_posts_nothing() {
    let api = XApi::start().await;
    let asked = api.user("Ann", "ann_b").posts("@galatea_test hello");
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(&api);
    config.daily_limit = Usd(211_500);
    let running = start(config, folder.path(), &gateway());
    running.messages(1).await;
    let handler = running.handler().await;
    let post = async |text: &str| send(&*handler, &api, &asked.to_string(), &reply(text, asked)).await.remove(0);
    api.set_suspended(true);
    assert_eq!(post("see https://example.org/ there").await.unwrap_err().code(), Some("GAL-X-403"));
    api.set_suspended(false);
    post("see https://example.org/ there").await.unwrap();
    assert_eq!(post("and").await.unwrap_err().code(), Some("GAL-X-BUDGET"), "0.011 + 0.200 of 0.2115 are spent");
    running.end().await;
}
