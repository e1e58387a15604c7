//! Read-back: finds out whether a message of unknown outcome was posted. The Bot API cannot list
//! messages. But a no-op edit of the keyboard shows for any message number whether it is our
//! message (`not modified`), another sender's (`can't be edited`) or unused (`not found`), without
//! a visible effect.

use futures::{StreamExt as _, stream};
use galatea_core::{
    Delivery, Error, ErrorKind, ReadBackContext, ReadBackResult, Receipt, RemoteId, Result, Retry,
};
use serde_json::{Value, json};
use std::{collections::HashSet, time::Duration};

use super::{TelegramSender, answered, api::BotApi, chat_state::counts_alone};
use crate::{
    decode::place::{ChatTarget, message_id, parse_message},
    encode::BotCall,
    error::{Failure, codes},
};

/// Limits of a search through message numbers.
struct Reach {
    /// Most numbers to probe.
    most: usize,
    /// The search ends after this many unused numbers in a row beyond the newest known one.
    margin: usize,
    /// Numbers to probe concurrently.
    at_once: usize,
}

/// Groups allow about 20 edits a minute.
const IN_GROUPS: Reach = Reach { most: 20, margin: 5, at_once: 1 };
/// All private chats of an account share one count, so other people's messages lie between, and
/// those that came during a restart are not stored yet. At 100 ms per call, the probes stay at the
/// 30 a second that are free (Bot API, "Broadcasting to users").
const IN_PRIVATE: Reach = Reach { most: 100, margin: 25, at_once: 3 };

/// Wait for pending updates, far below the timeout of an attempt, and the pause before
/// the next attempt.
const CATCHING_UP: Duration = Duration::from_secs(10);
const AGAIN: Duration = Duration::from_millis(100);

/// Result of a probe of a message number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Probe {
    Ours,
    Others,
    Nothing,
    Unclear,
}

/// Looks for the message of a delivery.
pub(super) async fn find(
    sender: &TelegramSender,
    delivery: &Delivery,
    context: &ReadBackContext,
) -> Result<ReadBackResult> {
    let part = BotCall::read(&delivery.body)?;
    if !part.method.posts() {
        // Edits, deletions and reactions are idempotent, so they can be repeated.
        return Ok(ReadBackResult::NotSent);
    }
    if let Some(id) = sender.receipts.get(&delivery.id) {
        return Ok(ReadBackResult::Sent(Receipt { id: Some(id.clone()), moved_to: None }));
    }
    if sender.chat_state.is_behind() {
        // Pending updates would make the search end too early, because their numbers are unknown,
        // and the context was read without them.
        let _ = tokio::time::timeout(CATCHING_UP, sender.chat_state.caught_up()).await;
        return Err(Error::new(ErrorKind::Conflict, "messages that wait at Telegram have to be received before an earlier send can be looked for")
            .with_retry(Retry::After(AGAIN)));
    }
    let target = ChatTarget::parse(&delivery.address.remote)?;
    let floor =
        sender.chat_state.floor(delivery.id, target.chat).or_else(|| floor(context, &part, target));
    let Some(floor) = floor.filter(|_| !context.cut) else { return Ok(ReadBackResult::Unknown) };
    // Topics share their chat's numbers, so an unconfirmed message of another topic looks the same.
    let candidates = 1 + context
        .outcome_unknown
        .iter()
        .filter(|room| ChatTarget::parse(room).is_ok_and(|t| t.chat == target.chat))
        .count();
    let strangers = match survey(sender, context, &part, target.chat, floor, candidates).await? {
        Survey::Whole(strangers) => strangers,
        Survey::Cut => return Ok(ReadBackResult::Unknown),
    };
    Ok(match strangers.as_slice() {
        [] => ReadBackResult::NotSent,
        [found] if candidates == 1 => {
            let id = message_id(target.chat, *found);
            sender.remember(target, std::slice::from_ref(&id), delivery.id);
            ReadBackResult::Sent(Receipt { id: Some(id), moved_to: None })
        }
        // All unconfirmed messages arrived, but which is which is unknown.
        all if all.len() == candidates => ReadBackResult::Sent(Receipt::default()),
        _ => ReadBackResult::Unknown,
    })
}

/// A number that the message's own number must exceed.
fn floor(context: &ReadBackContext, part: &BotCall, target: ChatTarget) -> Option<i32> {
    let known = numbers(context.received.iter().chain(&context.sent), target.chat).max();
    answered(part, target).max(known)
}

fn numbers<'a>(
    messages: impl IntoIterator<Item = &'a RemoteId>,
    chat: i64,
) -> impl Iterator<Item = i32> {
    messages
        .into_iter()
        .filter_map(parse_message)
        .filter(move |(of, _)| *of == Some(chat))
        .map(|(_, number)| number)
}

/// Numbers of messages in the chats that share one count, where each number occurs once.
fn shared_numbers<'a>(
    messages: impl IntoIterator<Item = &'a RemoteId>,
) -> impl Iterator<Item = i32> {
    messages
        .into_iter()
        .filter_map(parse_message)
        .filter_map(|(of, number)| of.filter(|chat| !counts_alone(*chat)).map(|_| number))
}

/// The messages above a number.
enum Survey {
    /// Our messages that no known delivery accounts for: all of them, or as many as were wanted.
    Whole(Vec<i32>),
    /// The search could not be completed.
    Cut,
}

async fn survey(
    sender: &TelegramSender,
    context: &ReadBackContext,
    part: &BotCall,
    chat: i64,
    floor: i32,
    wanted: usize,
) -> Result<Survey> {
    let chat_state = &sender.chat_state;
    let Reach { mut most, mut margin, at_once } = if chat > 0 { IN_PRIVATE } else { IN_GROUPS };
    if !counts_alone(chat) {
        // Messages in flight to other chats when the process ended may have been posted, too, and
        // their numbers are not stored either.
        let under_way = context
            .outcome_unknown
            .iter()
            .filter(|room| ChatTarget::parse(room).is_ok_and(|t| !counts_alone(t.chat)))
            .count();
        margin += under_way;
        most += 2 * under_way;
    }
    let stored = context.ours.iter().chain(&context.others);
    let known: HashSet<i32> = if counts_alone(chat) {
        numbers(stored, chat).collect()
    } else {
        shared_numbers(stored).collect()
    };
    let mut newest =
        chat_state.newest(chat).max(floor).max(known.iter().copied().max().unwrap_or(floor));
    let (mut strangers, mut empty, mut asked) = (Vec::new(), 0, 0);
    let ask = |id| {
        let is_known = chat_state.is_own(chat, id) || known.contains(&id);
        async move { (id, if is_known { None } else { Some(probe(&sender.api, part, chat, id).await) }) }
    };
    let mut answers = stream::iter(floor.saturating_add(1)..).map(ask).buffered(at_once);
    while asked < most
        && let Some((id, answer)) = answers.next().await
    {
        asked += usize::from(answer.is_some());
        match answer.transpose()? {
            Some(Probe::Ours) => {
                strangers.push(id);
                empty = 0;
                if strangers.len() == wanted {
                    return Ok(Survey::Whole(strangers));
                }
            }
            Some(Probe::Others) => {
                newest = newest.max(id);
                empty = 0;
            }
            None => empty = 0,
            Some(Probe::Nothing) => empty += 1,
            Some(Probe::Unclear) => return Ok(Survey::Cut),
        }
        if id >= newest && empty >= margin {
            return Ok(Survey::Whole(strangers));
        }
    }
    // There are more numbers than may be probed.
    Ok(Survey::Cut)
}

async fn probe(api: &BotApi, part: &BotCall, chat: i64, id: i32) -> Result<Probe> {
    let mut params = json!({ "chat_id": chat, "message_id": id });
    if let Some(markup) = part.params.get("reply_markup") {
        params["reply_markup"] = markup.clone();
    }
    match api.call::<Value>("editMessageReplyMarkup", &params).await {
        Ok(edited) => Ok(recognise(part, &edited)),
        Err(failure) => classify(failure),
    }
}

/// Handles a probe that changed something: the message is ours, but its buttons differed from this
/// delivery's (they were removed, or Telegram stores them in another form). The text decides. Our
/// message with another text is not the one sought.
fn recognise(part: &BotCall, edited: &Value) -> Probe {
    let words = |text: Option<&Value>, caption: Option<&Value>| {
        let found = text.or(caption).and_then(Value::as_str).unwrap_or_default();
        found.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let meant = words(part.params.get("text"), part.params.get("caption"));
    let found = words(edited.get("text"), edited.get("caption"));
    if edited.get("message_id").is_none() {
        Probe::Unclear
    } else if meant == found {
        Probe::Ours
    } else {
        Probe::Others
    }
}

fn classify(failure: Failure) -> Result<Probe> {
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
    // Inconclusive; a later attempt may succeed.
    // A limit of edits says nothing about messages in other topics.
    let error: Error =
        failure.into_error("editMessageReplyMarkup").with_reach(galatea_core::Reach::Room);
    tracing::debug!(
        code = error.code().unwrap_or(codes::INVALID),
        "read-back inconclusive; retrying later"
    );
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
    fn an_edit_that_succeeds_tells_by_the_words() {
        let text = BotCall::read(&galatea_core::Encoded(
            json!({"method": "sendMessage", "params": {"text": "yes  or\nno?"}}),
        ));
        let part = text.unwrap_or_else(|e| panic!("{e}"));
        let judged = |edited: Value| recognise(&part, &edited);
        assert_eq!(judged(json!({"message_id": 7, "text": "yes or\nno?"})), Probe::Ours);
        assert_eq!(judged(json!({"message_id": 7, "caption": "yes or no?"})), Probe::Ours);
        assert_eq!(judged(json!({"message_id": 7, "text": "something else"})), Probe::Others);
        assert_eq!(judged(json!({"message_id": 7})), Probe::Others);
        assert_eq!(judged(json!(true)), Probe::Unclear);
    }

    #[test]
    fn answers_to_the_no_op_edit_are_understood() {
        for (words, probe) in [
            (
                "Bad Request: message is not modified: specified new message content and reply markup are exactly the same",
                Probe::Ours,
            ),
            ("Bad Request: message to edit not found", Probe::Nothing),
            ("Bad Request: MESSAGE_ID_INVALID", Probe::Nothing),
            ("Bad Request: message can't be edited", Probe::Others),
            ("Bad Request: chat not found", Probe::Unclear),
        ] {
            assert_eq!(classify(refused(400, words)).unwrap(), probe, "{words}");
        }
        assert_eq!(
            classify(refused(403, "Forbidden: bot was blocked by the user")).unwrap(),
            Probe::Unclear
        );
        assert!(classify(refused(429, "Too Many Requests")).is_err());
        assert!(classify(refused(500, "Internal Server Error")).is_err());
    }
}
