//! A stretch of what people wrote that cannot be read back any more. It is stored and shown, never
//! skipped without a word.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock::Timestamp;

/// Key of the account's state that holds its gaps: stored before the cursor moves past them.
pub const GAPS: &str = "gaps";
/// Gaps kept of an account; the oldest go first.
const KEPT: usize = 100;

/// Messages that are missing, or may be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// Time it was noticed.
    pub noticed: Timestamp,
    /// End of the complete part before the gap; none when unknown.
    pub from: Option<Timestamp>,
    /// Start of the complete part after the gap; none when unknown.
    pub to: Option<Timestamp>,
    /// Where, in the platform's words: a channel's id; none when it is about the whole account.
    pub place: Option<String>,
    /// Number of events, if the platform states it.
    pub count: Option<u64>,
    /// Why it cannot be repaired, for people.
    pub reason: String,
}

impl Gap {
    /// A gap of the whole account.
    pub fn new(noticed: Timestamp, reason: impl Into<String>) -> Self {
        Self { noticed, from: None, to: None, place: None, count: None, reason: reason.into() }
    }

    /// The gaps that the value of [`GAPS`] holds, oldest first.
    pub fn read(state: Option<&Value>) -> Vec<Self> {
        state.and_then(|gaps| Vec::deserialize(gaps).ok()).unwrap_or_default()
    }

    /// These and one more, as the value of [`GAPS`]; none when it is known already (it was noted
    /// before a crash, and met again).
    pub fn noted(mut known: Vec<Self>, gap: Self) -> Option<Value> {
        if known.iter().any(|k| Self { noticed: gap.noticed, ..k.clone() } == gap) {
            return None;
        }
        known.push(gap);
        let first = known.len().saturating_sub(KEPT);
        serde_json::to_value(&known[first..]).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_kept_once_and_in_bounds() {
        let gap = |n| Gap { from: Some(Timestamp(n)), ..Gap::new(Timestamp(5), "x") };
        let state = Gap::noted(Vec::new(), gap(1)).unwrap();
        assert_eq!(Gap::read(Some(&state)), [gap(1)]);
        assert_eq!(
            Gap::noted(vec![gap(1)], Gap { noticed: Timestamp(9), ..gap(1) }),
            None,
            "met again"
        );
        let many: Vec<_> = (0..300).map(gap).collect();
        let kept = Gap::read(Gap::noted(many, gap(300)).as_ref());
        assert_eq!((kept.len(), kept.last()), (KEPT, Some(&gap(300))));
        assert!(Gap::read(Some(&Value::from("{"))).is_empty() && Gap::read(None).is_empty());
    }
}
