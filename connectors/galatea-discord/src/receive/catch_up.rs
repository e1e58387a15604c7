//! Reads messages that were missed during an outage from a channel's history, if the session could
//! not be resumed.

use galatea_core::{Gap, Incoming, Timestamp};
use serde_json::{Value, json};
use std::time::Duration;

use super::ShardIntake;
use crate::{
    decode::{decode_surely, raw::id},
    send::api::Call,
    snowflake_at, time_of,
};

/// Most pages read per channel, of 100 messages each (Discord, "Get Channel Messages").
const PAGES: usize = 5;
/// Messages older than this are not read, because an answer would come too late.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// The messages of one channel that an outage kept from the session.
#[derive(Default)]
pub(super) struct CaughtUp {
    /// The messages, oldest first.
    pub(super) events: Vec<Incoming>,
    /// The newest message id that was read.
    pub(super) newest: u64,
    /// The part of the history that could not be read, and why.
    pub(super) gap: Option<Gap>,
}

impl CaughtUp {
    /// Adds a page of messages. Returns the id of the last one that is malformed.
    fn decode(
        &mut self,
        intake: &ShardIntake,
        channel: u64,
        guild: Option<u64>,
        messages: &mut [Value],
    ) -> Option<u64> {
        let now = intake.gateway.clock().now();
        let mut malformed = None;
        for message in messages {
            if let (Some(guild), Some(fields)) = (guild, message.as_object_mut()) {
                // Messages from REST lack the guild id, but decoding needs it.
                fields.insert("guild_id".into(), json!(guild.to_string()));
            }
            let decoded =
                decode_surely("MESSAGE_CREATE", message, &intake.directory, &intake.me, now);
            self.newest = self.newest.max(decoded.newest.unwrap_or(0));
            if decoded.unreadable {
                let which = id(&message["id"]).unwrap_or(0);
                tracing::warn!(channel, id = which, "malformed message from Discord; skipping it");
                malformed = Some(which);
            }
            self.events.extend(decoded.events);
        }
        malformed
    }
}

/// Reads the messages after the id `after`. `last` is the channel's newest message id, if Discord
/// named it.
pub(super) async fn catch_up(
    intake: &ShardIntake,
    channel: u64,
    guild: Option<u64>,
    after: u64,
    last: Option<u64>,
) -> CaughtUp {
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
    let mut caught_up = CaughtUp::default();
    let page_after = |after: u64, limit: u8| {
        let path = format!("/channels/{channel}/messages?after={after}&limit={limit}");
        intake.api.patient(move || Call::new("GET /channels/{}/messages", channel, path.clone()))
    };
    // Record a gap only if the channel has messages that old.
    if after < day
        && let Ok(first) = page_after(after, 1).await
        && id(&first[0]["id"]).is_some_and(|first| first < day)
    {
        caught_up.gap = gap(
            after,
            Some(day),
            "it was away for longer than a day; what was said before that is not looked for",
        );
    }
    let mut after = after.max(day);
    for page in 0..=PAGES {
        if page == PAGES {
            caught_up.gap = gap(after, last, "more was said while away than is looked through");
            break;
        }
        let mut messages = match page_after(after, 100).await {
            Ok(Value::Array(messages)) => messages,
            Ok(_) => break,
            Err(failure) => {
                // Not a gap: a channel that the bot cannot see or that is gone sends no events
                // either.
                let expected = matches!(failure.code(), Some(50001 | 10003));
                let error = intake.api.error(failure, "get messages");
                if !expected {
                    caught_up.gap =
                        gap(after, last, &format!("its history could not be read: {error}"));
                }
                break;
            }
        };
        if page == 0 && messages.is_empty() && last.is_some_and(|last| last > after) {
            // Without Read Message History Discord answers with an empty list (Discord, "Get
            // Channel Messages").
            caught_up.gap = gap(
                after,
                last,
                "nothing of its history is shown: Read Message History is missing, or what was said was removed",
            );
        }
        // Discord lists the newest message first.
        messages.sort_by_key(|m| id(&m["id"]));
        if let Some(which) = caught_up.decode(intake, channel, guild, &mut messages) {
            let skipped = "a message in it cannot be read and is skipped";
            caught_up.gap = gap(which, Some(which), skipped).or(caught_up.gap);
        }
        match messages.last().and_then(|m| id(&m["id"])) {
            Some(last) if messages.len() == 100 => after = last,
            _ => break,
        }
    }
    caught_up
}
