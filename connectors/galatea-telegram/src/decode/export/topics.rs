//! The topics of a forum in an export, which names none: a topic begins with a service message, and
//! each of its messages replies to that one or to a message of the topic.

use serde_json::Value;
use std::collections::HashMap;

use super::integer;

/// Topic of each message of a chat.
#[derive(Debug, Default)]
pub(super) struct Topics {
    /// Names, by the number of the message that created the topic, which is its thread id.
    names: HashMap<i32, String>,
    /// Thread ids by the number of the message.
    threads: HashMap<i64, i32>,
}

impl Topics {
    pub(super) fn of(messages: &[Value]) -> Self {
        let created = messages.iter().filter(|message| {
            message.get("action").and_then(Value::as_str) == Some("topic_created")
        });
        let names: HashMap<i32, String> = created
            .filter_map(|message| {
                let name = message.get("title").and_then(Value::as_str).unwrap_or_default();
                Some((i32::try_from(integer(message.get("id")?)?).ok()?, name.to_owned()))
            })
            .collect();
        if names.is_empty() {
            return Self::default();
        }
        let mut replies: Vec<(i64, i64)> = messages
            .iter()
            .filter_map(|message| Some((integer(message.get("id")?)?, replied(message)?)))
            .collect();
        // A message replies to an earlier one, so each thread is known before its next message.
        replies.sort_unstable();
        let mut threads = HashMap::new();
        for (id, to) in replies {
            let root = i32::try_from(to).ok().filter(|to| names.contains_key(to));
            if let Some(thread) = root.or_else(|| threads.get(&to).copied()) {
                threads.insert(id, thread);
            }
        }
        Self { names, threads }
    }

    /// True if the chat has topics.
    pub(super) fn are_used(&self) -> bool {
        !self.names.is_empty()
    }

    /// The topic of a message; `None` for General.
    pub(super) fn thread(&self, message: i64) -> Option<i32> {
        self.threads.get(&message).copied()
    }

    /// The name that a topic got when it was created.
    pub(super) fn name(&self, thread: i32) -> Option<&str> {
        self.names.get(&thread).map(String::as_str).filter(|name| !name.is_empty())
    }
}

/// The number of the message of this chat to which a message replies.
pub(super) fn replied(message: &Value) -> Option<i64> {
    // A reply to a message of another chat has that chat's number.
    let here = message.get("reply_to_peer_id").is_none_or(Value::is_null);
    message.get("reply_to_message_id").filter(|_| here).and_then(integer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn replies_belong_to_the_topic_of_what_they_reply_to() {
        let reply =
            |id: i64, to: i64| json!({ "id": id, "type": "message", "reply_to_message_id": to });
        let mut elsewhere = reply(12, 3);
        elsewhere["reply_to_peer_id"] = json!("channel9");
        let topics = Topics::of(&[
            json!({ "id": 3, "type": "service", "action": "topic_created", "title": "Recipes" }),
            json!({ "id": 4, "type": "message" }),
            reply(8, 7),
            reply(7, 3),
            reply(9, 4),
            reply(10, 11),
            reply(11, 10),
            elsewhere,
        ]);
        let found: Vec<_> = (3..=12).map(|id| topics.thread(id)).collect();
        let (none, recipes) = (None, Some(3));
        assert_eq!(
            found,
            [none, none, none, none, recipes, recipes, none, none, none, none],
            "of 3 to 12"
        );
        assert_eq!((topics.name(3), topics.name(4)), (Some("Recipes"), None));
        assert!(topics.are_used() && !Topics::of(&[reply(4, 3)]).are_used());
    }
}
