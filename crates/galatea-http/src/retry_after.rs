//! Parses `Retry-After` (RFC 9110 §10.2.3), which holds seconds or an HTTP date, and HTTP dates.

use std::time::Duration;

use galatea_core::Timestamp;
use time::{
    OffsetDateTime, PrimitiveDateTime, format_description::BorrowedFormatItem,
    macros::format_description,
};

/// Longest wait accepted from a server; also keeps sums of times in range.
pub const MAX_RETRY_AFTER: Duration = Duration::from_secs(31 * 24 * 3600);

/// The three forms of an HTTP date (RFC 9110 §5.6.7): IMF-fixdate, RFC 850, asctime.
const FORMS: [&[BorrowedFormatItem<'static>]; 2] = [
    format_description!(
        "[weekday repr:short], [day] [month repr:short] [year] [hour]:[minute]:[second] GMT"
    ),
    format_description!(
        "[weekday repr:short] [month repr:short] [day padding:space] [hour]:[minute]:[second] [year]"
    ),
];
const RFC_850: &[BorrowedFormatItem<'static>] = format_description!(
    "[weekday], [day]-[month repr:short]-[year repr:last_two] [hour]:[minute]:[second] GMT"
);

/// The wait from `now`, at most [`MAX_RETRY_AFTER`]; `None` when the value is neither seconds nor a
/// date.
pub fn parse_retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)).min(MAX_RETRY_AFTER));
    }
    if let Ok(seconds) = value.parse::<f64>()
        && seconds.is_finite()
        && seconds >= 0.0
    {
        // Discord and some model proxies send fractions of a second.
        return Some(Duration::from_secs_f64(seconds.min(MAX_RETRY_AFTER.as_secs_f64())));
    }
    parse_http_date(value, now).map(|then| then.since(now).min(MAX_RETRY_AFTER))
}

/// Parses an HTTP date. `now` decides the century of the two-digit years of RFC 850.
pub fn parse_http_date(value: &str, now: Timestamp) -> Option<Timestamp> {
    let value = value.trim();
    let at = FORMS
        .iter()
        .find_map(|form| PrimitiveDateTime::parse(value, form).ok())
        .or_else(|| rfc_850(value, now))?;
    at.assume_utc().unix_timestamp().checked_mul(1000).map(Timestamp)
}

fn rfc_850(value: &str, now: Timestamp) -> Option<PrimitiveDateTime> {
    let mut parsed = time::parsing::Parsed::new();
    let rest = parsed.parse_items(value.as_bytes(), RFC_850).ok()?;
    if !rest.is_empty() {
        return None;
    }
    let this_year = OffsetDateTime::from_unix_timestamp(now.0 / 1000).ok()?.year();
    let two = i32::from(parsed.year_last_two()?);
    // "more than 50 years in the future" means the past (RFC 9110 §5.6.7).
    let mut year = this_year - this_year.rem_euclid(100) + two;
    if year > this_year + 50 {
        year -= 100;
    }
    let date = time::Date::from_calendar_date(year, parsed.month()?, parsed.day()?.get()).ok()?;
    let time = time::Time::from_hms(parsed.hour_24()?, parsed.minute()?, parsed.second()?).ok()?;
    Some(PrimitiveDateTime::new(date, time))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Sun, 06 Nov 1994 08:49:37 GMT, the example in the RFC.
    const EXAMPLE: Timestamp = Timestamp(784_111_777_000);

    #[test]
    fn all_forms_of_the_rfc() {
        let now = Timestamp(EXAMPLE.0 - 30_000);
        for value in [
            "30",
            " 30 ",
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(parse_retry_after(value, now), Some(Duration::from_secs(30)), "{value}");
        }
        assert_eq!(parse_retry_after("0.5", now), Some(Duration::from_millis(500)));
    }

    #[test]
    fn the_past_is_now_and_the_far_future_is_capped() {
        assert_eq!(
            parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", Timestamp(EXAMPLE.0 + 1000)),
            Some(Duration::ZERO)
        );
        assert_eq!(parse_retry_after("99999999999999999999999", EXAMPLE), Some(MAX_RETRY_AFTER));
        assert_eq!(parse_retry_after("1e300", EXAMPLE), Some(MAX_RETRY_AFTER));
    }

    #[test]
    fn nonsense_is_ignored() {
        for value in ["", "soon", "-5", "NaN", "Sun, 99 Nov 1994 08:49:37 GMT"] {
            assert_eq!(parse_retry_after(value, EXAMPLE), None, "{value}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(value in ".*", now in any::<i64>()) {
            let _ = parse_retry_after(&value, Timestamp(now));
        }
    }
}
