//! What can go wrong with a call.

use crate::loopback::ErrorBody;

/// What goes wrong with a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// 429 with this `retry_after` in seconds; nothing is done, and sends to the chat before then
    /// are violations.
    RateLimited(u64),
    /// A 5xx answer with a page or a JSON body; nothing is done.
    ServerError(u16, ErrorBody),
    /// The call is done, and the connection closes without a byte of an answer.
    LoseResponse,
    /// The call is done and never answered; the connection stays open.
    ApplyAndHang,
    /// The connection closes without an answer and nothing is done until
    /// [`super::Handle::apply_late`].
    ApplyLate,
    /// The call is done, and the connection closes after this many bytes of the answer, head
    /// included.
    CutAfter(usize),
    /// Nothing is done and nothing is ever answered.
    Hang,
    /// The call is done; the answer is 200 with a body that is not JSON.
    Garbage,
    /// The call is done; the answer is right but called `text/html`.
    WrongType,
}
