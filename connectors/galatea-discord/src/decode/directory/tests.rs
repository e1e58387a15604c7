//! Tests of this module.

use super::*;
use crate::decode::permissions::{SEND, SEND_IN_THREADS, VIEW};
use serde_json::json;

const NOW: Timestamp = Timestamp(1_000_000_000_000);

/// What is missing in channel 5 with these overwrites, and in its thread 6. In guild 1 we are
/// member 9 with the roles 10 and 11.
fn may(
    everyone: u64,
    own: u64,
    overwrites: Value,
    more: &Value,
) -> (Option<MissingPermission>, Option<MissingPermission>) {
    let directory = Directory::default();
    let mut guild = json!({ "id": "1", "owner_id": "2",
        "roles": [{ "id": "1", "name": "@everyone", "permissions": everyone.to_string() }, { "id": "10", "name": "a", "permissions": own.to_string() },
            { "id": "11", "name": "b", "permissions": "0" }],
        "members": [{ "user": { "id": "9" }, "roles": ["10", "11"] }],
        "channels": [{ "id": "5", "type": 0, "name": "x", "permission_overwrites": overwrites }],
        "threads": [{ "id": "6", "type": 11, "name": "t", "parent_id": "5" }] });
    guild.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    directory.put_guild(&guild, 9);
    (directory.missing(5, 9, NOW), directory.missing(6, 9, NOW))
}

fn over(id: &str, kind: u8, allow: u64, deny: u64) -> Value {
    json!({ "id": id, "type": kind, "allow": allow.to_string(), "deny": deny.to_string() })
}

#[test]
fn what_is_known_of_the_bot_decides_what_is_missing() {
    let (none, plain) = (json!({}), VIEW | SEND | SEND_IN_THREADS);
    let (view, send) = (Some(MissingPermission::View), Some(MissingPermission::Send));
    assert_eq!(may(0, plain, json!([]), &none), (None, None));
    assert_eq!(may(0, 0, json!([]), &none), (view, view));
    assert_eq!(may(VIEW | SEND, 0, json!([]), &none), (None, send));
    let denied = over("1", 0, 0, SEND);
    assert_eq!(may(plain, 0, json!([denied]), &none).0, send);
    assert_eq!(
        may(plain, 0, json!([denied, over("10", 0, SEND, 0)]), &none).0,
        None,
        "10 is a role of ours"
    );
    assert_eq!(may(plain, 0, json!([over("9", 1, 0, SEND)]), &none).0, send, "9 is the bot");
    assert_eq!(may(ADMINISTRATOR, 0, json!([denied]), &none), (None, None));
    assert_eq!(may(0, 0, json!([]), &json!({ "owner_id": "9" })), (None, None));
    assert_eq!(
        may(0, 0, json!([]), &json!({ "members": [] })),
        (None, None),
        "unknown permissions count as granted"
    );
    let timed_out = |at: &str| json!({ "members": [{ "user": { "id": "9" }, "roles": ["10"], "communication_disabled_until": at }] });
    assert_eq!(
        may(plain, 0, json!([]), &timed_out("2099-01-01T00:00:00Z")).0,
        Some(MissingPermission::TimedOut)
    );
    assert_eq!(may(plain, 0, json!([]), &timed_out("1999-01-01T00:00:00Z")).0, None);
}
