//! Read-back: was a message of unknown outcome posted? Telegram cannot be asked for it, but a no-op edit of the keyboard tells of any
//! number whether it is a message of ours (`not modified`), somebody else's (`can't be edited`) or none (`not found`), without a visible effect.

use galatea_core::{Delivery, Error, Found, Receipt, Result};
use serde_json::json;

use super::{
    TelegramSender, answered,
    api::Api,
    book::{Book, room_of},
    journal::Earlier,
};
use crate::{
    decode::place::{Target, message_id},
    encode::Part,
    error::{Failure, codes},
};

/// Most numbers asked about: groups allow about 20 edits a minute.
const WINDOW: i32 = 20;
/// Numbers without a message, in a row beyond the newest known one, after which no more is expected.
const MARGIN: i32 = 5;

/// What a number turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Probe {
    Ours,
    Others,
    Nothing,
    Unclear,
}

/// Looks for a delivery.
pub(super) async fn find(sender: &TelegramSender, delivery: &Delivery) -> Result<Found> {
    let part = Part::read(&delivery.body)?;
    if !part.method.posts() {
        // Edits, deletions and reactions can be repeated without anybody seeing it twice.
        return Ok(Found::NotSent);
    }
    let (book, earlier) = (&sender.book, sender.journal.earlier());
    if let Some(id) = sender.receipts.get(&delivery.id).map(|r| r.clone()).or_else(|| earlier.receipt(delivery.id).cloned()) {
        return Ok(Found::Sent(Receipt { id: Some(id), moved_to: None }));
    }
    let target = Target::parse(&delivery.address.remote)?;
    let Some(floor) = floor(book, earlier, delivery, &part, target) else { return Ok(Found::Unknown) };
    let in_this_run = book.floor(delivery.id, target.chat).is_some();
    match search(&sender.api, book, earlier, &part, target.chat, floor).await? {
        // Notes lost with the machine: a message of ours may be an earlier delivery's.
        Found::Sent(_) if !in_this_run && !earlier.is_complete() => Ok(Found::Unknown),
        found => {
            if let Found::Sent(Receipt { id: Some(id), .. }) = &found {
                sender.remember(target, std::slice::from_ref(id), delivery.id);
            }
            Ok(found)
        }
    }
}

/// The message's number is above this one.
fn floor(book: &Book, earlier: &Earlier, delivery: &Delivery, part: &Part, target: Target) -> Option<i32> {
    if let Some(floor) = book.floor(delivery.id, target.chat) {
        return Some(floor);
    }
    answered(part, target).max(earlier.newest(&room_of(target)))
}

async fn search(api: &Api, book: &Book, earlier: &Earlier, part: &Part, chat: i64, floor: i32) -> Result<Found> {
    let mut newest = book.newest(chat).max(floor);
    let mut empty = 0;
    for id in floor.saturating_add(1)..=floor.saturating_add(WINDOW) {
        if book.is_own(chat, id) || earlier.is_own(chat, id) {
            empty = 0;
            continue;
        }
        match probe(api, part, chat, id).await? {
            Probe::Ours => return Ok(Found::Sent(Receipt { id: Some(message_id(chat, id)), moved_to: None })),
            Probe::Others => {
                newest = newest.max(id);
                empty = 0;
            }
            Probe::Nothing => empty += 1,
            Probe::Unclear => return Ok(Found::Unknown),
        }
        if id >= newest && empty >= MARGIN {
            return Ok(Found::NotSent);
        }
    }
    // The window ended before the numbers did.
    Ok(if newest >= floor.saturating_add(WINDOW) || empty < MARGIN { Found::Unknown } else { Found::NotSent })
}

async fn probe(api: &Api, part: &Part, chat: i64, id: i32) -> Result<Probe> {
    let mut params = json!({ "chat_id": chat, "message_id": id });
    if let Some(markup) = part.params.get("reply_markup") {
        params["reply_markup"] = markup.clone();
    }
    match api.call::<serde::de::IgnoredAny>("editMessageReplyMarkup", &params).await {
        // It was ours but had other buttons: not this delivery, and nothing to conclude from.
        Ok(_) => Ok(Probe::Unclear),
        Err(failure) => judge(failure),
    }
}

fn judge(failure: Failure) -> Result<Probe> {
    if let Some(refusal) = failure.refusal()
        && refusal.code == 400
    {
        return Ok(if refusal.says("message is not modified") {
            Probe::Ours
        } else if refusal.says("message to edit not found") || refusal.says("MESSAGE_ID_INVALID") {
            Probe::Nothing
        } else if refusal.says("message can't be edited") {
            Probe::Others
        } else {
            Probe::Unclear
        });
    }
    if failure.refusal().is_some_and(|r| r.code == 403) {
        return Ok(Probe::Unclear);
    }
    // Nothing can be concluded now; asking again later may.
    let error: Error = failure.into_error("editMessageReplyMarkup");
    tracing::debug!(code = error.code().unwrap_or(codes::INVALID), "a read-back was cut short");
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Refusal;

    fn refused(code: u16, description: &str) -> Failure {
        Failure::Refused(Refusal { code, description: description.into(), ..Refusal::default() })
    }

    #[test]
    fn answers_to_the_no_op_edit_are_understood() {
        for (words, probe) in [
            ("Bad Request: message is not modified: specified new message content and reply markup are exactly the same", Probe::Ours),
            ("Bad Request: message to edit not found", Probe::Nothing),
            ("Bad Request: MESSAGE_ID_INVALID", Probe::Nothing),
            ("Bad Request: message can't be edited", Probe::Others),
            ("Bad Request: chat not found", Probe::Unclear),
        ] {
            assert_eq!(judge(refused(400, words)).unwrap(), probe, "{words}");
        }
        assert_eq!(judge(refused(403, "Forbidden: bot was blocked by the user")).unwrap(), Probe::Unclear);
        assert!(judge(refused(429, "Too Many Requests")).is_err());
        assert!(judge(refused(500, "Internal Server Error")).is_err());
    }
}
