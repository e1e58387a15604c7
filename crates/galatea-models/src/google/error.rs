//! Reads Google's error bodies (google.rpc.Status with ErrorInfo and RetryInfo).

use serde_json::Value;

use crate::wire::{
    Fail, Hint, Refusal, length, mentions,
    tool_refusal::{self, refuses_tools},
};

/// Reads an error body.
pub(crate) fn read(status: u16, body: &[u8]) -> Refusal {
    let (_, _, value) = Refusal::read(body);
    refusal(status, &value["error"])
}

/// Reads an error inside a stream.
pub(super) fn in_band(error: &Value) -> Fail {
    let status = error["code"]
        .as_u64()
        .and_then(|code| u16::try_from(code).ok())
        .filter(|code| (400..600).contains(code))
        .unwrap_or(500);
    Fail::Refused(status, refusal(status, error))
}

fn refusal(status: u16, error: &Value) -> Refusal {
    let details = || error["details"].as_array().into_iter().flatten();
    let reason = details().find_map(|detail| detail["reason"].as_str());
    let message = error["message"].as_str().unwrap_or_default();
    let mut refusal =
        Refusal::new(hint(status, reason, message), reason.or(error["status"].as_str()), message);
    refusal.wait_ms = details().find_map(|detail| detail["retryDelay"].as_str()).and_then(millis);
    refusal
}

/// Parses a protobuf duration in JSON, such as `17s` or `0.5s`, into milliseconds; at most a day.
fn millis(text: &str) -> Option<u64> {
    let seconds: f64 = text.strip_suffix('s')?.parse().ok()?;
    let day = 86_400.0;
    (seconds.is_finite() && seconds >= 0.0).then(|| {
        std::time::Duration::from_secs_f64(seconds.min(day))
            .as_millis()
            .try_into()
            .unwrap_or(u64::MAX)
    })
}

fn hint(status: u16, reason: Option<&str>, message: &str) -> Option<Hint> {
    let length = length::hint(status, None, message);
    match (status, reason) {
        (_, Some("API_KEY_INVALID" | "API_KEY_EXPIRED" | "API_KEY_SERVICE_BLOCKED")) | (401, _) => {
            Some(Hint::BadKey)
        }
        (_, Some("BILLING_DISABLED")) | (402, _) => Some(Hint::NoMoney),
        (403, _) if mentions(message, &["billing"]) => Some(Hint::NoMoney),
        (404, _) if mentions(message, &["models/", "model"]) => Some(Hint::UnknownModel),
        (404, _) => Some(Hint::WrongPath),
        (400 | 413, _) if length.is_some() => length,
        _ if refuses_tools(tool_refusal::GOOGLE, status, message) => Some(Hint::NoTools),
        // "You exceeded your current quota" also accompanies a limit per minute, so it does not
        // mean that the credit is used up.
        (429, _) => Some(Hint::RateLimited),
        (500.., _) => Some(Hint::Busy),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_read_and_bounded() {
        assert_eq!(millis("17s"), Some(17_000));
        assert_eq!(millis("0.25s"), Some(250));
        assert_eq!(millis("1e300s"), Some(86_400_000));
        assert_eq!(millis("-1s"), None);
        assert_eq!(millis("soon"), None);
    }
}
