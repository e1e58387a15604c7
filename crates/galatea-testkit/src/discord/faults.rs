//! Faults a test can order: which call, and what goes wrong with it; and what the gateway does out of turn.

use std::time::Duration;

use crate::telegram::ErrorBody;

/// What goes wrong with a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// 429 for this route; nothing is done, and calls of it before then are violations.
    RateLimited(Duration),
    /// 429 for everything.
    GlobalLimit(Duration),
    /// 429 with scope `shared`.
    SharedLimit(Duration),
    /// A 5xx answer; nothing is done.
    ServerError(u16, ErrorBody),
    /// The call is done, and the answer is a 5xx.
    ApplyThenError(u16),
    /// The call is done, and the connection closes without a byte of an answer.
    LoseResponse,
    /// The connection closes without an answer and nothing is done until [`super::Handle::apply_late`].
    ApplyLate,
    /// The call is done and never answered.
    ApplyAndHang,
    /// Nothing is done and nothing is ever answered.
    Hang,
    /// The call is done, and the connection closes after this many bytes of the answer, head included.
    CutAfter(usize),
    /// The call is done; the answer is 200 with a body that is not JSON.
    Garbage,
    /// Refused with this status and Discord's number.
    Refuse(u16, u32),
}

/// What the gateway does out of turn, to every connection there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Op 7: reconnect.
    Reconnect,
    /// Op 9: the session is invalid; true when it may be resumed.
    InvalidSession(bool),
    /// Closes with this code. 4009 ends the session, too.
    Close(u16),
    /// Answers no heartbeat on this connection any more.
    StopAcks,
    /// Asks for a heartbeat at once.
    AskHeartbeat,
    /// Drops the connection without a word.
    Drop,
    /// Lets this many bytes more through, then drops the connection.
    CutAfter(usize),
}

/// A fault and the calls it meets. Every condition narrows it; without any it meets the next call.
#[derive(Debug, Clone)]
pub struct Fault {
    effect: Effect,
    route: Option<String>,
    channel: Option<u64>,
    skip: usize,
    left: usize,
}

impl Fault {
    /// Once, on the next call.
    pub fn new(effect: Effect) -> Self {
        Self { effect, route: None, channel: None, skip: 0, left: 1 }
    }

    /// Only calls of this route, such as `POST /channels/{}/messages`.
    #[must_use]
    pub fn on(mut self, route: &str) -> Self {
        self.route = Some(route.to_owned());
        self
    }

    /// Only calls about this channel.
    #[must_use]
    pub fn channel(mut self, channel: u64) -> Self {
        self.channel = Some(channel);
        self
    }

    /// From the nth matching call on, counted from 1.
    #[must_use]
    pub fn nth(mut self, n: usize) -> Self {
        self.skip = n.saturating_sub(1);
        self
    }

    /// This many matching calls in a row instead of one.
    #[must_use]
    pub fn times(mut self, times: usize) -> Self {
        self.left = times;
        self
    }

    fn meets(&mut self, route: &str, channel: Option<u64>) -> bool {
        if self.left == 0 || self.route.as_ref().is_some_and(|r| r != route) || (self.channel.is_some() && self.channel != channel) {
            return false;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        self.left -= 1;
        true
    }
}

/// The first fault that meets a call.
pub(crate) fn pick(faults: &mut Vec<Fault>, route: &str, channel: Option<u64>) -> Option<Effect> {
    let effect = faults.iter_mut().find_map(|f| f.meets(route, channel).then(|| f.effect.clone()));
    faults.retain(|f| f.left > 0);
    effect
}
