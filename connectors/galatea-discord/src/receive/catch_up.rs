//! Messages that were said while nobody listened and no session could be resumed: read from the
//! channel's history.

use galatea_core::{Gap, Incoming, Timestamp};
use serde_json::{Value, json};
use std::time::Duration;

use super::Intake;
use crate::{
    decode::{decode_surely, directory::id},
    send::api::Call,
    snowflake_at, time_of,
};

/// Pages of 100 messages per channel (Discord, "Get Channel Messages").
const PAGES: usize = 5;
/// Older messages are not looked for: nobody waits for an answer any more.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// What was said in a channel meanwhile.
#[derive(Default)]
pub(super) struct Missed {
    /// Oldest first.
    pub(super) events: Vec<Incoming>,
    /// The newest id.
    pub(super) newest: u64,
    /// What could not be read, and why.
    pub(super) gap: Option<Gap>,
}

/// Reads what was said after this message. `newest` is the channel's last one, where Discord told
/// it.
pub(super) async fn missed(
    intake: &Intake,
    channel: u64,
    guild: Option<u64>,
    after: u64,
    last: Option<u64>,
) -> Missed {
    let now = intake.gateway.clock().now();
    let day = snowflake_at(Timestamp(
        now.0.saturating_sub(i64::try_from(LONGEST.as_millis()).unwrap_or(0)),
    ));
    let gap = |from: u64, to: Option<u64>, reason: &str| {
        Some(Gap {
            from: Some(time_of(from)),
            to: to.map(time_of),
            place: Some(format!("channel {channel}")),
            ..Gap::new(now, reason)
        })
    };
    let mut missed = Missed::default();
    let page_after = |after: u64, limit: u8| {
        let path = format!("/channels/{channel}/messages?after={after}&limit={limit}");
        intake.api.patient(move || Call::new("GET /channels/{}/messages", channel, path.clone()))
    };
    // Only where something was said then.
    if after < day
        && let Ok(first) = page_after(after, 1).await
        && id(&first[0]["id"]).is_some_and(|first| first < day)
    {
        missed.gap = gap(
            after,
            Some(day),
            "it was away for longer than a day; what was said before that is not looked for",
        );
    }
    let mut after = after.max(day);
    for page in 0..=PAGES {
        if page == PAGES {
            missed.gap = gap(after, last, "more was said while away than is looked through");
            break;
        }
        let mut messages = match page_after(after, 100).await {
            Ok(Value::Array(messages)) => messages,
            Ok(_) => break,
            Err(failure) => {
                // A channel that it cannot see, or that is gone, was never heard either.
                let expected = matches!(failure.code(), Some(50001 | 10003));
                let error = intake.api.error(failure, "get messages");
                if !expected {
                    missed.gap =
                        gap(after, last, &format!("its history could not be read: {error}"));
                }
                break;
            }
        };
        if page == 0 && messages.is_empty() && last.is_some_and(|last| last > after) {
            // Without the permission Discord answers with an empty list (Discord, "Get Channel
            // Messages").
            missed.gap = gap(
                after,
                last,
                "nothing of its history is shown: Read Message History is missing, or what was said was removed",
            );
        }
        // Discord answers the newest first.
        messages.sort_by_key(|m| id(&m["id"]));
        for message in &mut messages {
            if let (Some(guild), Some(fields)) = (guild, message.as_object_mut()) {
                // REST leaves out what the channel tells.
                fields.insert("guild_id".into(), json!(guild.to_string()));
            }
            let decoded =
                decode_surely("MESSAGE_CREATE", message, &intake.directory, &intake.me, now);
            missed.newest = missed.newest.max(decoded.newest.unwrap_or(0));
            if decoded.unreadable {
                let which = id(&message["id"]).unwrap_or(0);
                tracing::warn!(
                    channel,
                    id = which,
                    "a message on Discord cannot be read and is passed over"
                );
                missed.gap =
                    gap(which, Some(which), "a message in it cannot be read and is passed over")
                        .or(missed.gap);
            }
            missed.events.extend(decoded.events);
        }
        match messages.last().and_then(|m| id(&m["id"])) {
            Some(last) if messages.len() == 100 => after = last,
            _ => break,
        }
    }
    missed
}
