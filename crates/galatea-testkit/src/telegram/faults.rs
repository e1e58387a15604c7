//! Faults of calls.

use crate::loopback::ErrorBody;

/// Effect of a fault on a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// 429 with this `retry_after` in seconds. The call is not applied, and sends to the chat
    /// before the wait ends are violations.
    RateLimited(u64),
    /// A 5xx answer with a page or a JSON body; the call is not applied.
    ServerError(u16, ErrorBody),
    /// The call is applied, and the connection closes without a byte of an answer.
    LoseResponse,
    /// The call is applied and never answered; the connection stays open.
    ApplyAndHang,
    /// The connection closes without an answer. The call is applied when the test calls
    /// [`super::Handle::apply_late`].
    ApplyLate,
    /// The call is applied, and the connection closes after this many bytes of the answer, headers
    /// included.
    CutAfter(usize),
    /// The call is neither applied nor answered.
    Hang,
    /// The call is applied; the answer is 200 with a body that is not JSON.
    Garbage,
    /// The call is applied; the answer is correct but has the type `text/html`.
    WrongType,
}
