//! When a session of elizaOS's API ends: pure functions with elizaOS's rules.

use galatea_core::{
    Timestamp,
    store::{ChatSession, SessionTimeout},
};
use serde_json::Value;

/// Milliseconds of a minute.
const MINUTE: f64 = 60_000.0;

/// Bounds and defaults of sessions, in minutes. The numbers are elizaOS's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SessionRules {
    /// Timeout of a session whose program names none.
    pub timeout: f64,
    /// Shortest timeout.
    pub least: f64,
    /// Longest timeout. A session lasts twice that at most.
    pub most: f64,
    /// Longest duration of a session whose program names none.
    pub duration: f64,
    /// Time before the end from which a session is near its end.
    pub warning: f64,
}

impl Default for SessionRules {
    fn default() -> Self {
        Self { timeout: 30.0, least: 5.0, most: 1440.0, duration: 720.0, warning: 5.0 }
    }
}

/// A number of JSON, or a text that is one.
fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite())
}

impl SessionRules {
    /// The timeout that a program asks for, within the bounds.
    pub fn timeout(&self, asked: &Value) -> SessionTimeout {
        let of = |key: &str| asked.get(key).and_then(number);
        let timeout = of("timeoutMinutes").map_or(self.timeout, |n| n.clamp(self.least, self.most));
        let duration = of("maxDurationMinutes")
            .map_or(self.duration, |n| n.clamp(timeout, (self.most * 2.0).max(timeout)));
        SessionTimeout {
            timeout_minutes: timeout,
            auto_renew: asked.get("autoRenew").and_then(Value::as_bool).unwrap_or(true),
            max_duration_minutes: duration,
            warning_threshold_minutes: of("warningThresholdMinutes")
                .map_or(self.warning, |n| n.clamp(1.0, self.most * 2.0)),
        }
    }

    /// Why a program may not ask for this; nothing if it may.
    pub fn refusal(&self, asked: &Value) -> Option<String> {
        let numbers = ["timeoutMinutes", "maxDurationMinutes", "warningThresholdMinutes"];
        let wrong = |key: &&str| {
            asked.get(*key).is_some_and(|value| !value.is_number() && !value.is_string())
        };
        let renew = asked.get("autoRenew").is_some_and(|value| !value.is_boolean());
        if !asked.is_object() || numbers.iter().any(wrong) || renew {
            return Some("Invalid timeout configuration format".to_owned());
        }
        let timeout = asked.get("timeoutMinutes").and_then(number)?;
        (timeout < self.least || timeout > self.most)
            .then(|| format!("Timeout must be between {} and {} minutes", self.least, self.most))
    }
}

/// Milliseconds of some minutes.
#[allow(clippy::cast_possible_truncation, reason = "bounded by the rules: some days")]
fn millis(minutes: f64) -> i64 {
    (minutes * MINUTE) as i64
}

/// The end of a session: its timeout after the last activity, and never after its longest duration.
pub(crate) fn end(session: &ChatSession) -> Timestamp {
    let timeout = session.timeout;
    let base = if timeout.auto_renew { session.last_activity } else { session.created_at };
    let last = session.created_at.0.saturating_add(millis(timeout.max_duration_minutes));
    Timestamp(base.0.saturating_add(millis(timeout.timeout_minutes)).min(last))
}

/// Renews a session. False if it lasts as long as it may.
pub(crate) fn renew(session: &mut ChatSession, now: Timestamp) -> bool {
    let lasted = now.0.saturating_sub(session.created_at.0);
    if lasted >= millis(session.timeout.max_duration_minutes) {
        return false;
    }
    session.last_activity = now;
    session.renewals += 1;
    session.warned = false;
    session.expires_at = end(session);
    true
}

/// Whether a session is near its end.
pub fn is_near_end(session: &ChatSession, now: Timestamp) -> bool {
    let left = session.expires_at.0.saturating_sub(now.0);
    left > 0 && left <= millis(session.timeout.warning_threshold_minutes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::AgentId;
    use serde_json::json;
    use uuid::Uuid;

    const NOW: Timestamp = Timestamp(1_000_000);

    fn session(asked: &Value) -> ChatSession {
        let mut session = ChatSession {
            id: Uuid::nil(),
            agent: AgentId(Uuid::nil()),
            channel: Uuid::nil(),
            user: Uuid::nil(),
            metadata: json!({}),
            timeout: SessionRules::default().timeout(asked),
            created_at: NOW,
            last_activity: NOW,
            expires_at: NOW,
            renewals: 0,
            warned: false,
        };
        session.expires_at = end(&session);
        session
    }

    #[test]
    fn timeouts_are_kept_within_elizaos_bounds() {
        let timeout = |asked: Value| SessionRules::default().timeout(&asked);
        assert!((timeout(json!({})).timeout_minutes - 30.0).abs() < f64::EPSILON);
        assert!((timeout(json!({"timeoutMinutes": 1})).timeout_minutes - 5.0).abs() < f64::EPSILON);
        assert!((timeout(json!({"timeoutMinutes": "60"})).timeout_minutes - 60.0).abs() < 1e-9);
        assert!((timeout(json!({"timeoutMinutes": 9e9})).timeout_minutes - 1440.0).abs() < 1e-9);
        assert!((timeout(json!({"timeoutMinutes": "x"})).timeout_minutes - 30.0).abs() < 1e-9);
        let short = timeout(json!({"timeoutMinutes": 60, "maxDurationMinutes": 10}));
        assert!((short.max_duration_minutes - 60.0).abs() < 1e-9, "not shorter than the timeout");
        assert!(!timeout(json!({"autoRenew": false})).auto_renew);
    }

    #[test]
    fn what_cannot_be_a_timeout_is_refused() {
        let refusal = |asked: Value| SessionRules::default().refusal(&asked);
        assert_eq!(refusal(json!({"timeoutMinutes": 30, "autoRenew": true})), None);
        assert_eq!(
            refusal(json!({"timeoutMinutes": 1})).as_deref(),
            Some("Timeout must be between 5 and 1440 minutes")
        );
        for bad in [json!([]), json!({"autoRenew": "yes"}), json!({"timeoutMinutes": {}})] {
            assert_eq!(refusal(bad).as_deref(), Some("Invalid timeout configuration format"));
        }
    }

    #[test]
    fn a_renewed_session_ends_later_but_not_after_its_longest_duration() {
        let mut renewed = session(&json!({"timeoutMinutes": 30, "maxDurationMinutes": 60}));
        assert_eq!(renewed.expires_at.0 - NOW.0, 30 * 60_000);
        assert!(renew(&mut renewed, Timestamp(NOW.0 + 20 * 60_000)));
        assert_eq!((renewed.expires_at.0 - NOW.0, renewed.renewals), (50 * 60_000, 1));
        assert!(renew(&mut renewed, Timestamp(NOW.0 + 49 * 60_000)));
        assert_eq!(renewed.expires_at.0 - NOW.0, 60 * 60_000);
        assert!(!renew(&mut renewed, Timestamp(NOW.0 + 60 * 60_000)));
        assert!(is_near_end(&renewed, Timestamp(NOW.0 + 56 * 60_000)));
        assert!(!is_near_end(&renewed, Timestamp(NOW.0 + 54 * 60_000)));
        assert!(!is_near_end(&renewed, Timestamp(NOW.0 + 60 * 60_000)), "it has ended");
    }

    #[test]
    fn activity_does_not_move_the_end_of_a_session_that_is_not_renewed() {
        let mut fixed = session(&json!({"autoRenew": false}));
        fixed.last_activity = Timestamp(NOW.0 + 10 * 60_000);
        assert_eq!(end(&fixed).0 - NOW.0, 30 * 60_000);
    }
}
