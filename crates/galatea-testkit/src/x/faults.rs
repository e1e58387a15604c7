//! What can go wrong with a call.

use serde_json::Value;

use crate::loopback::ErrorBody;

/// What goes wrong with a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// 429 with `x-rate-limit-reset` so many seconds from now; nothing is done, and calls of the
    /// same route before then are violations.
    RateLimited(u64),
    /// A 5xx answer with a page or a problem; nothing is done.
    ServerError(u16, ErrorBody),
    /// The call is done, and the answer is a 500.
    ApplyThenFail,
    /// The call is done, and the connection closes without a byte of an answer.
    LoseResponse,
    /// The call is done and never answered.
    ApplyAndHang,
    /// The call is done, and the connection closes after this many bytes of the answer, head
    /// included.
    CutAfter(usize),
    /// Nothing is done and nothing is ever answered.
    Hang,
    /// The call is done; the answer is 200 with a body that is not JSON.
    Garbage,
    /// The call is done; the answer is 200 with this body.
    Body(String),
    /// Refused with this status and body; nothing is done.
    Refuse(u16, Value),
}
