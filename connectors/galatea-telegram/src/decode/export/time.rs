//! The time of a message in exports without `date_unixtime`.

/// Seconds since 1970 of `2020-01-02T03:04:05`. The export names no time zone, so it is taken for
/// UTC: then every machine reads the same time from a file.
pub(super) fn seconds(text: &str) -> Option<i64> {
    let (date, time) = text.split_once('T')?;
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(time, ':')?;
    let is_valid = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=length(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 61;
    is_valid.then(|| ((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second)
}

fn numbers(text: &str, separator: char) -> Option<[i64; 3]> {
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = text.split(separator).filter(|part| digits(part)).map(str::parse);
    let found = [parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?];
    parts.next().is_none().then_some(found)
}

/// Days of a month.
fn length(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970 in the Gregorian calendar. A year begins in March here, so that a leap day is its
/// last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        for (text, expected) in [
            ("1970-01-01T00:00:00", Some(0)),
            ("2000-02-29T12:00:00", Some(951_825_600)),
            ("2026-03-01T00:00:01", Some(1_772_323_201)),
            ("2020-01-02T03:04:05", Some(1_577_934_245)),
            ("2020-13-02T03:04:05", None),
            ("2020-02-31T03:04:05", None),
            ("2023-02-29T03:04:05", None),
            ("2100-02-29T03:04:05", None),
            ("2020-04-31T03:04:05", None),
            ("2020-05-32T03:04:05", None),
            ("2020-01-02", None),
            ("+020-01-02T03:04:05", None),
            ("soon", None),
        ] {
            assert_eq!(seconds(text), expected, "{text}");
        }
    }
}
