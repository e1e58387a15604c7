//! Faults a test can order: which call, and what goes wrong with it.

/// What goes wrong with a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// 429 with this `retry_after` in seconds; nothing is done, and sends to the chat before then are violations.
    RateLimited(u64),
    /// A 5xx answer with a page or a JSON body; nothing is done.
    ServerError(u16, ErrorBody),
    /// The call is done, and the connection closes without a byte of an answer.
    LoseResponse,
    /// The call is done and never answered; the connection stays open.
    ApplyAndHang,
    /// The connection closes without an answer and nothing is done until [`super::Handle::apply_late`].
    ApplyLate,
    /// The call is done, and the connection closes after this many bytes of the answer, head included.
    CutAfter(usize),
    /// Nothing is done and nothing is ever answered.
    Hang,
    /// The call is done; the answer is 200 with a body that is not JSON.
    Garbage,
    /// The call is done; the answer is right but called `text/html`.
    WrongType,
}

/// Body of a 5xx answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorBody {
    /// A proxy's page.
    Html,
    /// The Bot API's own form.
    Json,
}

/// A fault and the calls it meets. Every condition narrows it; without any it meets the next call.
#[derive(Debug, Clone)]
pub struct Fault {
    effect: Effect,
    method: Option<String>,
    chat: Option<i64>,
    skip: usize,
    left: usize,
}

impl Fault {
    /// Once, on the next call.
    pub fn new(effect: Effect) -> Self {
        Self { effect, method: None, chat: None, skip: 0, left: 1 }
    }

    /// Only calls of this method, whatever its case.
    #[must_use]
    pub fn on(mut self, method: &str) -> Self {
        self.method = Some(method.to_owned());
        self
    }

    /// Only calls about this chat.
    #[must_use]
    pub fn chat(mut self, chat: i64) -> Self {
        self.chat = Some(chat);
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

    /// Whether this call meets it; counts the call.
    fn meets(&mut self, method: &str, chat: Option<i64>) -> bool {
        if self.left == 0 || self.method.as_ref().is_some_and(|m| !m.eq_ignore_ascii_case(method)) || (self.chat.is_some() && self.chat != chat) {
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
pub(crate) fn pick(faults: &mut Vec<Fault>, method: &str, chat: Option<i64>) -> Option<Effect> {
    let effect = faults.iter_mut().find_map(|f| f.meets(method, chat).then(|| f.effect.clone()));
    faults.retain(|f| f.left > 0);
    effect
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_narrow_and_counts_run_out() {
        let mut faults = vec![Fault::new(Effect::Hang).on("sendMessage").chat(7).nth(2).times(2)];
        let mut hits = Vec::new();
        for (method, chat) in [("sendMessage", 7), ("getMe", 7), ("sendMessage", 8), ("SENDMESSAGE", 7), ("sendMessage", 7), ("sendMessage", 7)] {
            hits.push(pick(&mut faults, method, Some(chat)).is_some());
        }
        assert_eq!(hits, [false, false, false, true, true, false]);
        assert!(faults.is_empty());
    }
}
