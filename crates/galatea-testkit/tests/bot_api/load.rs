//! Load on the Bot API server, as benchmarks use it.

use super::*;
use galatea_testkit::{
    load::{LoadPlan, quantiles},
    telegram::{BotApi, Options},
};

#[tokio::test]
async fn a_load_is_offered_answered_and_measured() {
    let api = BotApi::with(Options::fast()).await;
    api.load(LoadPlan::new(250, 10));
    let (client, url) = (client(), format!("{}/bot{}/sendMessage", api.url(), api.token()));
    let (mut next, mut answered) = (0, 0);
    let mut rooms = std::collections::BTreeSet::new();
    while answered < 250 {
        let got = updates(&api, json!({ "offset": next, "timeout": 1 })).await;
        next = got.last().unwrap()["update_id"].as_i64().unwrap() + 1;
        for update in &got {
            rooms.insert(update["message"]["chat"]["id"].as_i64().unwrap());
            let send = client
                .post(&url)
                .json(&json!({ "chat_id": update["message"]["chat"]["id"], "text": "re" }));
            let sent: Value = send.send().await.unwrap().json().await.unwrap();
            assert_eq!(sent["result"]["text"], "re");
            answered += 1;
        }
    }
    let trips = api.wait_load().await;
    assert_eq!((trips.len(), rooms.len()), (250, 10));
    assert!(trips.iter().all(|t| t.latency().is_some()
        && t.handed_out.unwrap() >= t.due
        && t.answered.unwrap() >= t.handed_out.unwrap()));
    let q = quantiles(&trips, &[0.0, 0.5, 1.0]);
    assert!(q[0] <= q[1] && q[1] <= q[2]);
    assert!(api.calls().is_empty(), "nothing is remembered");
}

#[tokio::test]
async fn a_paced_load_keeps_its_schedule_even_without_a_poller() {
    let api = BotApi::with(Options::fast()).await;
    api.load(LoadPlan { per_second: Some(2_000.0), ..LoadPlan::new(20, 4) });
    let mut got = Vec::new();
    let mut next = 0;
    while got.len() < 20 {
        let more = updates(&api, json!({ "offset": next, "timeout": 5 })).await;
        next = more.last().map_or(next, |u| u["update_id"].as_i64().unwrap() + 1);
        got.extend(more);
    }
    let trips = api.trips();
    let step = trips[1].due.duration_since(trips[0].due);
    assert!(
        trips.windows(2).all(|w| w[1].due.duration_since(w[0].due).abs_diff(step)
            < std::time::Duration::from_micros(2)),
        "due times are the plan's"
    );
}
