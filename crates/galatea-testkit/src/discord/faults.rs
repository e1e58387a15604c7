//! What can go wrong with a call; and what the gateway does out of turn.

use std::time::Duration;

use crate::loopback::ErrorBody;

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
    /// The connection closes without an answer and nothing is done until
    /// [`super::Handle::apply_late`].
    ApplyLate,
    /// The call is done and never answered.
    ApplyAndHang,
    /// Nothing is done and nothing is ever answered.
    Hang,
    /// The call is done, and the connection closes after this many bytes of the answer, head
    /// included.
    CutAfter(usize),
    /// The call is done; the answer is 200 with a body that is not JSON.
    Garbage,
    /// The call is done; the answer is 200 with this body.
    Body(String),
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

/// A step at which the gateway falls silent on its next connection that gets there. Heartbeats are
/// still acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silent {
    /// No greeting (op 10).
    Hello,
    /// Takes an identify and never says READY.
    Ready,
    /// Takes a resume and never says RESUMED.
    Resumed,
    /// Says RESUMED, and no event ever after.
    Events,
}
