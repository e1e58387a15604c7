//! Faults of REST calls and of the gateway.

use std::time::Duration;

use crate::loopback::ErrorBody;

/// Effect of a fault on a REST call.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// 429 for this route. The call is not applied, and calls of the route before the wait ends are
    /// violations.
    RateLimited(Duration),
    /// 429 for all routes.
    GlobalLimit(Duration),
    /// 429 with scope `shared`.
    SharedLimit(Duration),
    /// A 5xx answer; the call is not applied.
    ServerError(u16, ErrorBody),
    /// The call is applied, and the answer is a 5xx.
    ApplyThenError(u16),
    /// The call is applied, and the connection closes without a byte of an answer.
    LoseResponse,
    /// The connection closes without an answer. The call is applied when the test calls
    /// [`super::Handle::apply_late`].
    ApplyLate,
    /// The call is applied and never answered.
    ApplyAndHang,
    /// The call is neither applied nor answered.
    Hang,
    /// The call is applied, and the connection closes after this many bytes of the answer, headers
    /// included.
    CutAfter(usize),
    /// The call is applied; the answer is 200 with a body that is not JSON.
    Garbage,
    /// The call is applied; the answer is 200 with this body.
    Body(String),
    /// The call is refused with this status and this Discord error code.
    Refuse(u16, u32),
}

/// An unsolicited action of the gateway, on every open connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Op 7: reconnect.
    Reconnect,
    /// Op 9: the session is invalid; true when it may be resumed.
    InvalidSession(bool),
    /// Closes with this code; 4009 also ends the session.
    Close(u16),
    /// Stops acknowledging heartbeats on this connection.
    StopAcks,
    /// Requests an immediate heartbeat.
    AskHeartbeat,
    /// Drops the connection without a close frame.
    Drop,
    /// Drops the connection after this many more bytes.
    CutAfter(usize),
}

/// A step at which the gateway stops sending, on the next connection that reaches it. It still
/// acknowledges heartbeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silent {
    /// Does not send the greeting (op 10).
    Hello,
    /// Accepts an identify but never sends READY.
    Ready,
    /// Accepts a resume but never sends RESUMED.
    Resumed,
    /// Sends RESUMED, and no event afterwards.
    Events,
}
