//! Messages that were said while nobody listened and no session could be resumed: read from the channel's history.

use galatea_core::Incoming;
use serde_json::{Value, json};
use std::time::Duration;

use super::Intake;
use crate::{
    decode::{decode, directory::id},
    send::api::Call,
    snowflake_at,
};

/// Pages of 100 messages per channel (Discord, "Get Channel Messages").
const PAGES: usize = 5;
/// Older messages are not looked for: nobody waits for an answer any more.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// Messages of a channel after this one, oldest first, and the newest id.
pub(super) async fn missed(intake: &Intake, channel: u64, guild: Option<u64>, after: u64) -> (Vec<Incoming>, u64) {
    let now = intake.gateway.clock().now();
    let day = galatea_core::Timestamp(now.0.saturating_sub(i64::try_from(LONGEST.as_millis()).unwrap_or(0)));
    let mut after = after.max(snowflake_at(day));
    let (mut events, mut newest) = (Vec::new(), 0);
    for page in 0..=PAGES {
        if page == PAGES {
            tracing::warn!(channel, "more was said here while away than is looked through; the rest is passed over");
            break;
        }
        let call = || Call::new("GET /channels/{}/messages", channel, format!("/channels/{channel}/messages?after={after}&limit=100"));
        let mut messages = match intake.api.patient(call).await {
            Ok(Value::Array(messages)) => messages,
            Ok(_) => break,
            Err(failure) => {
                // A channel without its history is nothing new; anything else is.
                let expected = matches!(failure.code(), Some(50001 | 50013 | 10003));
                let error = intake.api.error(failure, "get messages");
                if !expected {
                    tracing::warn!(channel, error = %error.report(), "what was said here while away could not be read");
                }
                break;
            }
        };
        // Discord answers the newest first.
        messages.sort_by_key(|m| id(&m["id"]));
        for message in &mut messages {
            if let (Some(guild), Some(fields)) = (guild, message.as_object_mut()) {
                // REST leaves out what the channel tells.
                fields.insert("guild_id".into(), json!(guild.to_string()));
            }
            let decoded = decode("MESSAGE_CREATE", message, &intake.directory, &intake.me, now);
            newest = newest.max(decoded.newest.unwrap_or(0));
            events.extend(decoded.events);
        }
        match messages.last().and_then(|m| id(&m["id"])) {
            Some(last) if messages.len() == 100 => after = last,
            _ => break,
        }
    }
    (events, newest)
}
