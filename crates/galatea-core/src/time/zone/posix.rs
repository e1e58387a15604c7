//! The rule of a zone behind its table (POSIX.1, `TZ`): `CET-1CEST,M3.5.0,M10.5.0/3`.

use super::calendar::{DAY, civil, days_of};

/// Standard time, and summer time with its beginning and end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    standard: i32,
    summer: Option<(i32, Change, Change)>,
}

/// The `week`th `weekday` (0 is Sunday; week 5 the last) of a month, so many seconds after midnight
/// of the time before the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Change {
    month: i64,
    week: i64,
    weekday: i64,
    seconds: i64,
}

impl Rule {
    /// Seconds east of Greenwich at a moment.
    pub(super) fn offset(&self, at: i64) -> i32 {
        let Some((summer, begins, ends)) = self.summer else { return self.standard };
        let year = civil(at.saturating_add(i64::from(self.standard)).div_euclid(DAY)).0;
        let begin = begins.moment(year) - i64::from(self.standard);
        let end = ends.moment(year) - i64::from(summer);
        // In the south summer goes over the turn of the year.
        let in_summer =
            if begin < end { (begin..end).contains(&at) } else { !(end..begin).contains(&at) };
        if in_summer { summer } else { self.standard }
    }
}

impl Change {
    /// In seconds since 1970 of the local time before it.
    fn moment(self, year: i64) -> i64 {
        let first = days_of(year, self.month, 1);
        // 1 January 1970 was a Thursday.
        let of_first = (first + 4).rem_euclid(7);
        let mut day = first + (self.weekday - of_first).rem_euclid(7) + 7 * (self.week - 1);
        let next = if self.month == 12 {
            days_of(year + 1, 1, 1)
        } else {
            days_of(year, self.month + 1, 1)
        };
        while day >= next {
            day -= 7;
        }
        day * DAY + self.seconds
    }
}

/// Reads a rule; none for forms that no zone of today has.
pub(super) fn read(text: &str) -> Option<Rule> {
    let rest = name(text)?;
    let (standard, rest) = time(rest)?;
    let standard = -i32::try_from(standard).ok()?;
    if rest.is_empty() {
        return Some(Rule { standard, summer: None });
    }
    let rest = name(rest)?;
    let (summer, rest) = if rest.starts_with(',') {
        (standard + 3_600, rest)
    } else {
        time(rest).and_then(|(t, rest)| Some((-i32::try_from(t).ok()?, rest)))?
    };
    let (begins, ends) = rest.strip_prefix(',')?.split_once(',')?;
    Some(Rule { standard, summer: Some((summer, change(begins)?, change(ends)?)) })
}

/// Text after a name: letters, or anything in angle brackets.
fn name(text: &str) -> Option<&str> {
    if let Some(quoted) = text.strip_prefix('<') {
        return quoted.split_once('>').map(|(_, rest)| rest);
    }
    let end = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
    (end >= 3).then(|| &text[end..])
}

/// Seconds of `[+-]h[:mm[:ss]]`, and what follows.
fn time(text: &str) -> Option<(i64, &str)> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let end = digits.find(|c: char| !c.is_ascii_digit() && c != ':').unwrap_or(digits.len());
    let mut parts =
        digits[..end].split(':').map(|part| part.parse::<i64>().ok().filter(|n| *n <= 167));
    let hours = parts.next()??;
    let (minutes, seconds) = (parts.next().unwrap_or(Some(0))?, parts.next().unwrap_or(Some(0))?);
    Some((sign * (hours * 3_600 + minutes * 60 + seconds), &digits[end..]))
}

fn change(text: &str) -> Option<Change> {
    let (date, at) = match text.split_once('/') {
        Some((date, at)) => (date, time(at).filter(|(_, rest)| rest.is_empty())?.0),
        None => (text, 7_200),
    };
    let mut parts = date.strip_prefix('M')?.split('.').map(|part| part.parse::<i64>().ok());
    let (month, week, weekday) = (parts.next()??, parts.next()??, parts.next()??);
    let fits = (1..=12).contains(&month) && (1..=5).contains(&week) && (0..=6).contains(&weekday);
    fits.then_some(Change { month, week, weekday, seconds: at })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_today() {
        let cases = [
            // Moments around the changes of 2026: Europe/Berlin, America/New_York,
            // Australia/Sydney, Asia/Kathmandu, America/Sao_Paulo.
            ("CET-1CEST,M3.5.0,M10.5.0/3", 1_774_745_999, 3_600),
            ("CET-1CEST,M3.5.0,M10.5.0/3", 1_774_746_000, 7_200),
            ("CET-1CEST,M3.5.0,M10.5.0/3", 1_792_889_999, 7_200),
            ("CET-1CEST,M3.5.0,M10.5.0/3", 1_792_890_000, 3_600),
            ("EST5EDT,M3.2.0,M11.1.0", 1_782_000_000, -14_400),
            ("EST5EDT,M3.2.0,M11.1.0", 1_795_443_060, -18_000),
            ("AEST-10AEDT,M10.1.0,M4.1.0/3", 1_795_443_060, 39_600),
            ("AEST-10AEDT,M10.1.0,M4.1.0/3", 1_782_000_000, 36_000),
            ("<+0545>-5:45", 0, 20_700),
            ("<-03>3", 0, -10_800),
        ];
        for (rule, at, offset) in cases {
            assert_eq!(read(rule).unwrap().offset(at), offset, "{rule} at {at}");
        }
        for odd in ["", "A1", "CET", "CET-1CEST,J60,J300", "CET-1CEST,M3.9.0,M10.5.0", "CET-999"] {
            assert_eq!(read(odd), None, "{odd}");
        }
    }
}
