//! Faults of calls.

use serde_json::Value;

use crate::loopback::ErrorBody;

/// Effect of a fault on a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// 429 with `x-rate-limit-reset` this many seconds from now. The call is not applied, and calls
    /// of the route before then are violations.
    RateLimited(u64),
    /// A 5xx answer with a page or a problem; the call is not applied.
    ServerError(u16, ErrorBody),
    /// The call is applied, and the answer is a 500.
    ApplyThenFail,
    /// The call is applied, and the connection closes without a byte of an answer.
    LoseResponse,
    /// The call is applied and never answered.
    ApplyAndHang,
    /// The call is applied, and the connection closes after this many bytes of the answer, headers
    /// included.
    CutAfter(usize),
    /// The call is neither applied nor answered.
    Hang,
    /// The call is applied; the answer is 200 with a body that is not JSON.
    Garbage,
    /// The call is applied; the answer is 200 with this body.
    Body(String),
    /// The call is refused with this status and body, and not applied.
    Refuse(u16, Value),
}
