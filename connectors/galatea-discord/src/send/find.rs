//! Read-back: was a message of unknown outcome posted? Its nonce comes back over the gateway; after
//! that, the channel's history tells.

use galatea_core::{Delivery, ReadBackContext, ReadBackResult, Receipt, RemoteId, Result};
use serde_json::{Map, Value};
use std::time::Duration;

use super::{DiscordSender, api::Call};
use crate::{decode::directory::id, encode::Part, error::Failure, snowflake, snowflake_at};

/// Discord's clock and ours may differ by this much. More would find earlier messages with the same
/// words; where less is too little, the nonce makes the repeat harmless.
const SLACK: Duration = Duration::from_secs(10);
/// Pages of 100 messages that are looked through.
const PAGES: usize = 5;
/// Discord enforces a nonce for "a few minutes" ("Create Message"): within this much of it a repeat
/// is surely harmless.
pub(super) const NONCE_HOLDS: Duration = Duration::from_secs(120);

/// Looks for a delivery.
pub(super) async fn find(
    sender: &DiscordSender,
    delivery: &Delivery,
    context: &ReadBackContext,
) -> Result<ReadBackResult> {
    let Part::Post { body, reply_to, .. } = Part::read(&delivery.body)? else {
        // Edits, deletions and reactions can be repeated without anybody seeing it twice.
        return Ok(ReadBackResult::NotSent);
    };
    if let Some(id) = sender.book.by_nonce(&delivery.key) {
        return Ok(ReadBackResult::Sent(Receipt { id: Some(id), moved_to: None }));
    }
    let channel = snowflake(&delivery.address.remote, "room")?;
    let mut after = snowflake_at(galatea_core::Timestamp(
        delivery.created_at.0 - i64::try_from(SLACK.as_millis()).unwrap_or(0),
    ));
    if let Some(asked) = reply_to.as_ref().and_then(|r| r.as_str().parse::<u64>().ok()) {
        after = after.max(asked);
    }
    for number in 0..PAGES {
        let page = match history(sender, channel, &format!("after={after}&limit=100")).await {
            Ok(page) => page,
            // Without the history only the nonce can tell.
            Err(failure) if matches!(failure.code(), Some(50001 | 50013)) => {
                return Ok(unreadable(sender, delivery));
            }
            Err(failure) => return Err(sender.api.error(failure, "get messages")),
        };
        let Some(messages) = page.as_array() else { return Ok(ReadBackResult::Unknown) };
        if number == 0 && messages.is_empty() {
            // Without Read Message History Discord answers with an empty list ("Get Channel
            // Messages"); so does a channel in which nothing was said since.
            let newest = history(sender, channel, "limit=1")
                .await
                .map_err(|f| sender.api.error(f, "get messages"))?;
            let empty = newest.as_array().is_none_or(Vec::is_empty);
            return Ok(if empty { unreadable(sender, delivery) } else { ReadBackResult::NotSent });
        }
        let ours = |m: &&Value| {
            id(&m["author"]["id"]) == Some(sender.me) && is_it(m, &body, reply_to.as_ref())
        };
        let ids = messages.iter().filter(ours).filter_map(|m| id(&m["id"]).map(RemoteId::new));
        let free = |id: &RemoteId| {
            !sender.book.is_anothers(id, &delivery.key) && !context.ours.contains(id)
        };
        if let Some(found) =
            ids.filter(free).min_by_key(|id| id.as_str().parse::<u64>().unwrap_or(u64::MAX))
        {
            sender.book.echo(delivery.key.clone(), found.clone());
            return Ok(ReadBackResult::Sent(Receipt { id: Some(found), moved_to: None }));
        }
        match messages.iter().filter_map(|m| id(&m["id"])).max() {
            Some(newest) if messages.len() == 100 => after = newest,
            _ => return Ok(ReadBackResult::NotSent),
        }
    }
    Ok(ReadBackResult::Unknown)
}

async fn history(sender: &DiscordSender, channel: u64, query: &str) -> Result<Value, Failure> {
    sender
        .api
        .call(Call::new(
            "GET /channels/{}/messages",
            channel,
            format!("/channels/{channel}/messages?{query}"),
        ))
        .await
}

fn unreadable(sender: &DiscordSender, delivery: &Delivery) -> ReadBackResult {
    // The nonce makes a repeat harmless, while Discord remembers it.
    if sender.api.clock().now().since(delivery.created_at) < NONCE_HOLDS {
        ReadBackResult::NotSent
    } else {
        ReadBackResult::Unknown
    }
}

/// The same words, in answer to the same message. Discord trims what it posts.
fn is_it(message: &Value, body: &Map<String, Value>, reply_to: Option<&RemoteId>) -> bool {
    let words = |v: &Value| v.as_str().unwrap_or_default().trim().to_owned();
    let (said, wanted) =
        (words(&message["content"]), body.get("content").map(words).unwrap_or_default());
    // An answer to a command may name who asked.
    let unnamed = said
        .strip_prefix("<@")
        .and_then(|rest| rest.split_once('>'))
        .filter(|(who, _)| who.parse::<u64>().is_ok())
        .map(|(_, rest)| rest.trim_start());
    let same = said == wanted || unnamed == Some(wanted.as_str());
    let answered = id(&message["message_reference"]["message_id"]).map(|id| id.to_string());
    let asked = reply_to.map(|r| r.as_str().to_owned()).filter(|r| r.parse::<u64>().is_ok());
    // A reply whose question is gone is posted without a reference.
    same && (answered == asked || answered.is_none())
}
