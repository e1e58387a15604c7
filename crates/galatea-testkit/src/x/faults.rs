//! Faults a test can order: which call, and what goes wrong with it.

use serde_json::Value;

/// What goes wrong with a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// 429 with `x-rate-limit-reset` so many seconds from now; nothing is done, and calls of the same route before then are violations.
    RateLimited(u64),
    /// A 5xx answer with a page or a problem; nothing is done.
    ServerError(u16, ErrorBody),
    /// The call is done, and the answer is a 500.
    ApplyThenFail,
    /// The call is done, and the connection closes without a byte of an answer.
    LoseResponse,
    /// The call is done, and the connection closes after this many bytes of the answer, head included.
    CutAfter(usize),
    /// Nothing is done and nothing is ever answered.
    Hang,
    /// The call is done; the answer is 200 with a body that is not JSON.
    Garbage,
    /// Refused with this status and body; nothing is done.
    Refuse(u16, Value),
}

/// Body of a 5xx answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorBody {
    /// A proxy's page.
    Html,
    /// The API's own form.
    Json,
}

/// A fault and the calls it meets. Every condition narrows it; without any it meets the next call.
#[derive(Debug, Clone)]
pub struct Fault {
    effect: Effect,
    route: Option<String>,
    skip: usize,
    left: usize,
}

impl Fault {
    /// Once, on the next call.
    pub fn new(effect: Effect) -> Self {
        Self { effect, route: None, skip: 0, left: 1 }
    }

    /// Only calls of this route, such as `POST /2/tweets` or `GET /2/users/:id/mentions`.
    #[must_use]
    pub fn on(mut self, route: &str) -> Self {
        self.route = Some(route.to_owned());
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

    fn meets(&mut self, route: &str) -> bool {
        if self.left == 0 || self.route.as_ref().is_some_and(|r| r != route) {
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
pub(super) fn pick(faults: &mut Vec<Fault>, route: &str) -> Option<Effect> {
    let effect = faults.iter_mut().find_map(|f| f.meets(route).then(|| f.effect.clone()));
    faults.retain(|f| f.left > 0);
    effect
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_narrow_and_counts_run_out() {
        let mut faults = vec![Fault::new(Effect::Hang).on("POST /2/tweets").nth(2).times(2)];
        let hits: Vec<bool> =
            ["POST /2/tweets", "GET /2/users/me", "POST /2/tweets", "POST /2/tweets", "POST /2/tweets"].map(|r| pick(&mut faults, r).is_some()).into();
        assert_eq!(hits, [false, false, true, true, false]);
        assert!(faults.is_empty());
    }
}
