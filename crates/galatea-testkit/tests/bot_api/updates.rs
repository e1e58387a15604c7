//! getUpdates: offsets, long polls, one poller, allowed updates.

use super::*;
use galatea_testkit::{
    clock::ManualClock,
    telegram::{BotApi, Options},
};
use std::{sync::Arc, time::Duration};

fn update_ids(updates: &[Value]) -> Vec<i64> {
    updates.iter().map(|u| u["update_id"].as_i64().unwrap()).collect()
}

#[tokio::test]
async fn offsets_confirm_and_limits_hold() {
    let api = BotApi::start().await;
    let ann = api.user("Ann", "");
    for i in 0..5 {
        ann.says(&ann.direct(), &format!("{i}")).send();
    }
    let all = update_ids(&updates(&api, json!({})).await);
    assert_eq!(all.len(), 5);
    assert_eq!(update_ids(&updates(&api, json!({ "limit": 2 })).await), all[..2]);
    assert_eq!(update_ids(&updates(&api, json!({ "offset": all[3] })).await), all[3..]);
    assert_eq!(
        update_ids(&updates(&api, json!({ "offset": 0 })).await),
        all[3..],
        "the older ones are confirmed for good"
    );
    assert_eq!(update_ids(&updates(&api, json!({ "offset": -1 })).await), all[4..]);
    assert_eq!(
        update_ids(&updates(&api, json!({ "offset": all[4] + 1000 })).await),
        all[4..],
        "beyond the end counts as no offset"
    );
    api.redeliver(2);
    assert_eq!(
        update_ids(&updates(&api, json!({ "offset": all[4] + 1 })).await),
        all[1..3],
        "confirmed ones come again when a test wants it"
    );
}

#[tokio::test]
async fn a_long_poll_ends_with_the_first_update_or_its_time() {
    let clock = ManualClock::new();
    let api = BotApi::with(Options { clock: Arc::new(clock.clone()), ..Options::default() }).await;
    let ann = api.user("Ann", "");
    let handle = api.handle();
    let poll = tokio::spawn(async move { updates(&handle, json!({ "timeout": 50 })).await });
    clock.wait_for_sleepers(1).await;
    ann.says(&ann.direct(), "hi").send();
    let got = poll.await.unwrap();
    assert_eq!(got[0]["message"]["text"], "hi");
    let handle = api.handle();
    let next = got[0]["update_id"].as_i64().unwrap() + 1;
    let poll =
        tokio::spawn(
            async move { updates(&handle, json!({ "timeout": 90, "offset": next })).await },
        );
    clock.wait_for_sleepers(1).await;
    clock.advance(Duration::from_secs(50));
    assert!(poll.await.unwrap().is_empty(), "50 s is the longest poll");
}

#[tokio::test]
async fn a_second_poller_ends_the_first() {
    let clock = ManualClock::new();
    let api = BotApi::with(Options { clock: Arc::new(clock.clone()), ..Options::default() }).await;
    let handle = api.handle();
    let first =
        tokio::spawn(async move { fails(&handle, "getUpdates", json!({ "timeout": 50 })).await });
    clock.wait_for_sleepers(1).await;
    let handle = api.handle();
    let second = tokio::spawn(async move { updates(&handle, json!({ "timeout": 50 })).await });
    let (status, text) = first.await.unwrap();
    assert_eq!(status, 409);
    assert_eq!(
        text,
        "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
    );
    let ann = api.user("Ann", "");
    ann.says(&ann.direct(), "hi").send();
    assert_eq!(second.await.unwrap().len(), 1);
    assert!(api.violations().is_empty(), "a conflict is the operator's mistake, not the client's");
}

#[tokio::test]
async fn allowed_updates_are_remembered_and_apply_to_later_updates() {
    let api = BotApi::start().await;
    let ann = api.user("Ann", "");
    let group = api.supergroup("Band", &[&ann]);
    ann.promotes_bot(&group);
    let id = ann.says(&group, "hi").send();
    ann.reacts(&group, id, &["👍"]);
    let kinds = |got: &[Value]| {
        got.iter()
            .map(|u| u.as_object().unwrap().keys().nth(1).unwrap().clone())
            .collect::<Vec<_>>()
    };
    let got = updates(&api, json!({})).await;
    assert_eq!(kinds(&got), ["my_chat_member", "message"], "reactions are off by default");
    let next = got[1]["update_id"].as_i64().unwrap() + 1;
    assert!(
        updates(&api, json!({ "offset": next, "allowed_updates": ["message_reaction"] }))
            .await
            .is_empty()
    );
    ann.reacts(&group, id, &[]);
    ann.says(&group, "unwanted").send();
    let got = updates(&api, json!({ "offset": next })).await;
    assert_eq!(kinds(&got), ["message_reaction"]);
    assert_eq!(
        (
            got[0]["message_reaction"]["old_reaction"][0]["emoji"].as_str(),
            &got[0]["message_reaction"]["new_reaction"]
        ),
        (Some("👍"), &json!([]))
    );
    updates(&api, json!({ "allowed_updates": ["massage"] })).await;
    assert_eq!(api.violations().len(), 1);
    api.allow_violation("massage");
}

#[tokio::test]
async fn ids_may_jump_after_a_quiet_week() {
    let api = BotApi::start().await;
    let ann = api.user("Ann", "");
    ann.says(&ann.direct(), "before").send();
    let old = update_ids(&updates(&api, json!({})).await)[0];
    updates(&api, json!({ "offset": old + 1 })).await;
    api.jump_update_id(1_000);
    ann.says(&ann.direct(), "after").send();
    let got = updates(&api, json!({ "offset": old + 1 })).await;
    assert_eq!(
        (update_ids(&got), got[0]["message"]["text"].as_str()),
        (vec![1_000], Some("after"))
    );
}
