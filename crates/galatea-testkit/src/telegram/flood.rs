//! Flood waits: deadlines of answered 429s, and optional pacing rules.

use std::{collections::BTreeMap, time::Duration};

use galatea_core::Timestamp;

use super::{
    answer::Refusal,
    world::{Chat, ChatKind},
};

/// Pacing that the server can enforce. Numbers from the Bot API's FAQ, "My bot is hitting limits":
/// one message per second in a chat, 20 per minute in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pace {
    /// Messages per second to one chat; `None` for no limit.
    pub per_chat_second: Option<usize>,
    /// Messages per minute to one group; `None` for no limit.
    pub per_group_minute: Option<usize>,
}

impl Pace {
    /// The published limits.
    pub fn published() -> Self {
        Self { per_chat_second: Some(1), per_group_minute: Some(20) }
    }
}

/// Deadlines of flood waits. A wait applies to "the given method with the given input parameters"
/// (core.telegram.org/api/errors, 420). All sends to one chat share a wait, because the published
/// limits count messages in a chat (Bots FAQ).
#[derive(Debug, Default)]
pub(crate) struct Flood(BTreeMap<Call, Timestamp>);

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Call {
    Send(i64),
    Other(&'static str, Option<i64>),
}

impl Call {
    fn of(method: &'static str, is_send: bool, chat: Option<i64>) -> Self {
        chat.filter(|_| is_send).map_or(Self::Other(method, chat), Self::Send)
    }
}

impl Flood {
    /// Records the deadline of a flood wait.
    pub(crate) fn start(
        &mut self,
        method: &'static str,
        is_send: bool,
        chat: Option<i64>,
        until: Timestamp,
    ) {
        self.0.insert(Call::of(method, is_send, chat), until);
    }

    /// Refuses a call before its deadline. This is a violation, because the client knew the
    /// deadline.
    pub(crate) fn check(
        &self,
        method: &'static str,
        is_send: bool,
        chat: Option<i64>,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        match self.0.get(&Call::of(method, is_send, chat)) {
            Some(until) if now < *until => {
                Err(Refusal::too_many(seconds(until.since(now))).into_violation())
            }
            _ => Ok(()),
        }
    }
}

/// Refuses a message that exceeds the pace; this alone is not a violation.
pub(crate) fn check_pace(pace: Pace, chat: &mut Chat, now: Timestamp) -> Result<(), Refusal> {
    let minute = Duration::from_secs(60);
    while chat.sends.front().is_some_and(|t| now.since(*t) >= minute) {
        chat.sends.pop_front();
    }
    let group = matches!(chat.kind, ChatKind::Group | ChatKind::Supergroup);
    for (limit, window) in [
        (pace.per_chat_second, Duration::from_secs(1)),
        (pace.per_group_minute.filter(|_| group), minute),
    ] {
        let Some(limit) = limit else { continue };
        let recent: Vec<_> =
            chat.sends.iter().rev().take_while(|t| now.since(**t) < window).collect();
        if let Some(oldest) = recent.get(limit.saturating_sub(1)) {
            return Err(Refusal::too_many(seconds(oldest.plus(window).since(now))));
        }
    }
    chat.sends.push_back(now);
    Ok(())
}

fn seconds(wait: Duration) -> u64 {
    wait.as_millis().div_ceil(1000).max(1).try_into().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_takes_one_a_second_and_twenty_a_minute() {
        let mut chat = Chat::new(-1, ChatKind::Group, "g");
        let pace = Pace::published();
        assert!(check_pace(pace, &mut chat, Timestamp(0)).is_ok());
        assert_eq!(check_pace(pace, &mut chat, Timestamp(400)).unwrap_err(), Refusal::too_many(1));
        for i in 1..20 {
            assert!(check_pace(pace, &mut chat, Timestamp(i * 1000)).is_ok(), "{i}");
        }
        assert_eq!(
            check_pace(pace, &mut chat, Timestamp(20_000)).unwrap_err(),
            Refusal::too_many(40)
        );
        assert!(check_pace(pace, &mut chat, Timestamp(60_000)).is_ok());
    }

    #[test]
    fn sending_before_the_deadline_is_a_violation() {
        let mut flood = Flood::default();
        flood.start("sendMessage", true, Some(5), Timestamp(3_000));
        let early = flood.check("sendPhoto", true, Some(5), Timestamp(1_500)).unwrap_err();
        assert!(early.violation);
        assert_eq!(early.parameters.unwrap()["retry_after"], 2);
        assert!(flood.check("getChat", false, Some(5), Timestamp(1_500)).is_ok());
        assert!(flood.check("sendMessage", true, Some(6), Timestamp(1_500)).is_ok());
        assert!(flood.check("sendMessage", true, Some(5), Timestamp(3_000)).is_ok());
        flood.start("sendChatAction", false, Some(5), Timestamp(9_000));
        assert!(flood.check("sendChatAction", false, Some(5), Timestamp(8_000)).is_err());
        assert!(flood.check("sendMessage", true, Some(5), Timestamp(8_000)).is_ok());
    }
}
