//! Whether the database holds what the figures are said to be measured on.

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// The counts of `galatea audit --json` over all platforms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Questions {
    /// Answered, and the answer is delivered.
    answered: u64,
    /// Neither answered nor refused for good.
    open: u64,
}

impl Questions {
    fn of(audit: &Value) -> Option<Self> {
        let mut sum = Self::default();
        for source in audit["sources"].as_array()? {
            sum.answered += source["answered"].as_u64()?;
            sum.open += source["answering"].as_u64()? + source["pending"].as_u64()?;
        }
        Some(sum)
    }
}

/// Checks that a database holds exactly `wanted` questions with their answers, by its own count.
///
/// # Errors
/// If it holds another number of them, or an open one, or if `audit` has another shape.
pub(super) fn check(audit: &Value, wanted: usize) -> Result<()> {
    let held = Questions::of(audit).with_context(|| format!("no counts in the audit: {audit}"))?;
    if held.answered != wanted as u64 || held.open != 0 {
        bail!(
            "the database should hold {wanted} answered questions and holds {}, and {} open ones: \
             figures of it would be figures of another database",
            held.answered,
            held.open
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn audit(answered: u64, pending: u64) -> Value {
        let line = |answered, pending| {
            json!({
                "source": "telegram", "received": answered + pending, "answered": answered,
                "answering": 0, "undelivered": 0, "skipped": 0, "expired": 0, "dead": 0,
                "pending": pending
            })
        };
        json!({ "sources": [line(1, 0), line(answered - 1, pending)] })
    }

    #[test]
    fn only_the_wanted_number_of_answered_questions_is_a_filled_database() {
        check(&audit(2_000, 0), 2_000).unwrap();
        for wrong in [audit(1_999, 0), audit(2_001, 0), audit(1_999, 1), audit(2_000, 1)] {
            let error = check(&wrong, 2_000).unwrap_err().to_string();
            assert!(error.contains("should hold 2000"), "{error}");
        }
        assert!(check(&json!({}), 0).is_err());
    }
}
