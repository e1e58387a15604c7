//! Faults that tests schedule: which call fails, and how.

/// Body of a 5xx answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorBody {
    /// An HTML page, as a proxy sends.
    Html,
    /// JSON in the API's own error format.
    Json,
}

/// A fault and the calls it applies to. Each condition narrows it; without conditions it applies to
/// the next call.
#[derive(Debug, Clone)]
pub struct Fault<E> {
    effect: E,
    call: Option<String>,
    place: Option<i128>,
    skip: usize,
    left: usize,
}

impl<E: Clone> Fault<E> {
    /// A fault for the next call, once.
    pub fn new(effect: E) -> Self {
        Self { effect, call: None, place: None, skip: 0, left: 1 }
    }

    /// Applies only to calls of this method (Telegram: `sendMessage`, in any case) or route (`POST
    /// /channels/{}/messages`, `POST /2/tweets`).
    #[must_use]
    pub fn on(mut self, call: &str) -> Self {
        self.call = Some(call.to_owned());
        self
    }

    /// Applies only to calls for this chat or channel.
    #[must_use]
    pub fn at(mut self, place: impl Into<i128>) -> Self {
        self.place = Some(place.into());
        self
    }

    /// Applies from the nth matching call on, counted from 1.
    #[must_use]
    pub fn nth(mut self, n: usize) -> Self {
        self.skip = n.saturating_sub(1);
        self
    }

    /// Applies to this many matching calls in a row instead of one.
    #[must_use]
    pub fn times(mut self, times: usize) -> Self {
        self.left = times;
        self
    }

    /// True if the fault applies to this call; counts matching calls.
    fn meets(&mut self, call: &str, place: Option<i128>) -> bool {
        if self.left == 0
            || self.call.as_ref().is_some_and(|c| !c.eq_ignore_ascii_case(call))
            || (self.place.is_some() && self.place != place)
        {
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

/// Takes the effect of the first fault that applies to a call.
pub(super) fn pick<E: Clone>(
    faults: &mut Vec<Fault<E>>,
    call: &str,
    place: Option<i128>,
) -> Option<E> {
    let effect = faults.iter_mut().find_map(|f| f.meets(call, place).then(|| f.effect.clone()));
    faults.retain(|f| f.left > 0);
    effect
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_narrow_and_counts_run_out() {
        let mut faults = vec![Fault::new(()).on("sendMessage").at(7).nth(2).times(2)];
        let mut hits = Vec::new();
        for (call, place) in [
            ("sendMessage", 7),
            ("getMe", 7),
            ("sendMessage", 8),
            ("SENDMESSAGE", 7),
            ("sendMessage", 7),
            ("sendMessage", 7),
        ] {
            hits.push(pick(&mut faults, call, Some(place)).is_some());
        }
        assert_eq!(hits, [false, false, false, true, true, false]);
        assert!(faults.is_empty());
    }
}
