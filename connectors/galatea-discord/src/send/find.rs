//! Read-back: finds out whether a message of unknown outcome was posted. First from the nonce that
//! comes back over the gateway, then from the channel's history.

use galatea_core::{
    Delivery, Error, ErrorKind, ReadBackContext, ReadBackResult, Receipt, RemoteId, Result,
};
use serde_json::{Map, Value};
use std::time::Duration;

use super::{DiscordSender, api::Call};
use crate::{
    decode::{is_private, raw::id},
    encode::{Part, snowflake},
    error::Failure,
    snowflake_at,
};

/// Assumed difference between Discord's clock and ours. A larger value would match earlier messages
/// with the same text. If it is too small, the nonce still prevents a duplicate.
const SLACK: Duration = Duration::from_secs(10);
/// Most pages of 100 messages that are searched.
const PAGES: usize = 5;
/// Discord enforces a nonce for "a few minutes" ("Create Message"). Within this time a repeated
/// call surely posts no duplicate.
pub(super) const NONCE_HOLDS: Duration = Duration::from_secs(120);

/// Looks for the message of a delivery.
pub(super) async fn find(
    sender: &DiscordSender,
    delivery: &Delivery,
    context: &ReadBackContext,
) -> Result<ReadBackResult> {
    let Part::Post { body, reply_to, follow_up, .. } = Part::read(&delivery.body)? else {
        // Edits, deletions and reactions are idempotent, so they can be repeated.
        return Ok(ReadBackResult::NotSent);
    };
    if let Some(id) = sender.send_state.by_nonce(&delivery.key) {
        return Ok(ReadBackResult::Sent(Receipt { id: Some(id), moved_to: None }));
    }
    if reply_to.as_ref().is_some_and(is_private) {
        // No history shows a private answer. Its first part can be repeated, because it edits the
        // same message again; a follow-up would be said twice.
        return Ok(if follow_up { ReadBackResult::Unknown } else { ReadBackResult::NotSent });
    }
    // Without the id no message is recognised, and none may count as not sent.
    let Some(&me) = sender.me.get() else {
        return Err(Error::new(ErrorKind::Unavailable, "the bot's own id is not known yet"));
    };
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
            // Without access to the history, only the nonce prevents a duplicate.
            Err(failure) if matches!(failure.code(), Some(50001 | 50013)) => {
                return Ok(unreadable(sender, delivery));
            }
            Err(failure) => return Err(sender.api.error(failure, "get messages")),
        };
        let Some(messages) = page.as_array() else { return Ok(ReadBackResult::Unknown) };
        if number == 0 && messages.is_empty() {
            // The list is empty if nothing was written since, but also without Read Message History
            // ("Get Channel Messages"). The newest message tells the two apart.
            let newest = history(sender, channel, "limit=1")
                .await
                .map_err(|f| sender.api.error(f, "get messages"))?;
            let empty = newest.as_array().is_none_or(Vec::is_empty);
            return Ok(if empty { unreadable(sender, delivery) } else { ReadBackResult::NotSent });
        }
        let ours =
            |m: &&Value| id(&m["author"]["id"]) == Some(me) && is_it(m, &body, reply_to.as_ref());
        let ids = messages.iter().filter(ours).filter_map(|m| id(&m["id"]).map(RemoteId::new));
        let free = |id: &RemoteId| {
            !sender.send_state.is_anothers(id, &delivery.key) && !context.ours.contains(id)
        };
        if let Some(found) =
            ids.filter(free).min_by_key(|id| id.as_str().parse::<u64>().unwrap_or(u64::MAX))
        {
            sender.send_state.echo(delivery.key.clone(), found.clone());
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
    // While Discord remembers the nonce, a repeated call posts no duplicate.
    if sender.api.clock().now().since(delivery.created_at) < NONCE_HOLDS {
        ReadBackResult::NotSent
    } else {
        ReadBackResult::Unknown
    }
}

/// True if a message has the same text and answers the same message. Discord trims texts.
fn is_it(message: &Value, body: &Map<String, Value>, reply_to: Option<&RemoteId>) -> bool {
    let words = |v: &Value| v.as_str().unwrap_or_default().trim().to_owned();
    let (said, wanted) =
        (words(&message["content"]), body.get("content").map(words).unwrap_or_default());
    // An answer to a command may begin with a mention of the caller.
    let unnamed = said
        .strip_prefix("<@")
        .and_then(|rest| rest.split_once('>'))
        .filter(|(who, _)| who.parse::<u64>().is_ok())
        .map(|(_, rest)| rest.trim_start());
    let same = said == wanted || unnamed == Some(wanted.as_str());
    let answered = id(&message["message_reference"]["message_id"]).map(|id| id.to_string());
    let asked = reply_to.map(|r| r.as_str().to_owned()).filter(|r| r.parse::<u64>().is_ok());
    // A reply to a deleted message is posted without a reference.
    same && (answered == asked || answered.is_none())
}
