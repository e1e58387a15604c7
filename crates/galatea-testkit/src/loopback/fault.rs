//! Faults a test can order: which call, and what goes wrong with it.

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
pub struct Fault<E> {
    effect: E,
    call: Option<String>,
    place: Option<i128>,
    skip: usize,
    left: usize,
}

impl<E: Clone> Fault<E> {
    /// Once, on the next call.
    pub fn new(effect: E) -> Self {
        Self { effect, call: None, place: None, skip: 0, left: 1 }
    }

    /// Only calls of this method (Telegram: `sendMessage`, whatever its case) or route
    /// (`POST /channels/{}/messages`, `POST /2/tweets`).
    #[must_use]
    pub fn on(mut self, call: &str) -> Self {
        self.call = Some(call.to_owned());
        self
    }

    /// Only calls about this chat or channel.
    #[must_use]
    pub fn at(mut self, place: impl Into<i128>) -> Self {
        self.place = Some(place.into());
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

/// The first fault that meets a call.
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
