//! The time of a task, from the words that a model passes on.

use galatea_core::{Schedule, Timestamp, Zone, when};
use std::time::Duration;

/// The words that say when.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Words<'a> {
    /// Time from now.
    pub(super) after: Option<&'a str>,
    /// Local date and time.
    pub(super) at: Option<&'a str>,
    /// Repetition.
    pub(super) every: Option<&'a str>,
}

/// When a task runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Timing {
    pub(super) due: Timestamp,
    pub(super) schedule: Schedule,
}

impl<'a> Words<'a> {
    /// Without empty words, which models write for what they leave out.
    pub(super) fn new(
        after: Option<&'a String>,
        at: Option<&'a String>,
        every: Option<&'a String>,
    ) -> Self {
        let said = |text: Option<&'a String>| {
            text.map(|text| text.trim()).filter(|text| {
                !text.is_empty()
                    && !["none", "null", "once", "no"].contains(&text.to_lowercase().as_str())
            })
        };
        Self { after: said(after), at: said(at), every: said(every) }
    }

    /// True if the time depends on the person's time zone.
    pub(super) fn is_local(&self) -> bool {
        let by_clock = |text: &str| text.parse::<u64>().is_err() && !ends_in_offset(text);
        self.at.is_some_and(by_clock)
    }
}

/// `…Z` or `…+01:00`.
fn ends_in_offset(text: &str) -> bool {
    let time = text.get(11..).unwrap_or_default();
    text.len() > 16 && (time.ends_with(['Z', 'z']) || time.contains(['+', '-']))
}

/// Reads the time.
///
/// # Errors
/// What is wrong with the words, for the model.
pub(super) fn timing(words: Words<'_>, now: Timestamp, zone: &Zone) -> Result<Timing, String> {
    let due = match (words.after, words.at) {
        (Some(after), _) => Some(when::relative(after, now, zone).ok_or_else(|| {
            format!("“{after}” is no time from now; write it as `30 min`, `2 hours` or `3 days`")
        })?),
        (None, Some(at)) => {
            let due = when::local(at, now, zone).ok_or_else(|| {
                format!("“{at}” is no date and time; write it as `2026-12-31 09:00`, `tomorrow 9:00` or `18:30`")
            })?;
            if due <= now && words.every.is_none() {
                let past = zone.local(due).moment();
                return Err(format!("{past} ({}) lies in the past", zone.name()));
            }
            Some(due)
        }
        (None, None) => None,
    };
    let Some(every) = words.every else {
        let due = due.ok_or("the time is missing: pass `in` or `at`")?;
        if due.since(now) > galatea_core::schedule::LONGEST {
            return Err("that is more than ten years ahead".to_owned());
        }
        return Ok(Timing { due, schedule: Schedule::Once });
    };
    let schedule = repeated(every, due, now, zone)?;
    let first = match (&schedule, due) {
        (Schedule::Every { .. }, Some(due)) if due > now => Some(due),
        _ => schedule.next(now).map_err(|error| error.to_string())?,
    };
    let due = first.ok_or("this rule names no time")?;
    Ok(Timing { due, schedule })
}

/// The rule of a repetition.
fn repeated(
    every: &str,
    due: Option<Timestamp>,
    now: Timestamp,
    zone: &Zone,
) -> Result<Schedule, String> {
    let refused = |error: galatea_core::Error| error.to_string();
    if every.split_whitespace().count() == 5 {
        return Schedule::cron(every, zone.name()).map_err(refused);
    }
    let word = every.trim().to_lowercase();
    let word = word.strip_prefix("every ").unwrap_or(&word).trim();
    let fields = when::fields(due.unwrap_or(now), zone).ok_or("the time is unknown")?;
    let (minute, hour) = (fields.minute, fields.hour);
    let rule = match word {
        "day" | "daily" | "tag" | "täglich" => format!("{minute} {hour} * * *"),
        "weekday" | "weekdays" | "workday" | "werktag" => format!("{minute} {hour} * * 1-5"),
        "week" | "weekly" | "woche" => format!("{minute} {hour} * * {}", fields.weekday),
        "month" | "monthly" | "monat" => format!("{minute} {hour} {} * *", fields.day),
        "weekend" | "weekends" => format!("{minute} {hour} * * 0,6"),
        other => match when::cron_weekday(other) {
            Some(day) => format!("{minute} {hour} * * {day}"),
            None => {
                let millis = when::period(every).ok_or_else(|| {
                    format!("“{every}” is no repetition; write `day`, `weekday`, `week`, `month`, `30 min`, a day of the week, or a cron rule")
                })?;
                let period = Duration::from_millis(millis);
                let first = due.unwrap_or_else(|| now.plus(period));
                return Schedule::every(period, first).map_err(refused);
            }
        },
    };
    Schedule::cron(&rule, zone.name()).map_err(refused)
}

/// The time in words, for the person: the moment in their zone, and how it repeats.
pub(super) fn in_words(timing: &Timing, zone: &Zone) -> String {
    let moment = format!("{} ({})", zone.local(timing.due).moment(), zone.name());
    if timing.schedule.repeats() {
        format!("{moment}, and then: {}", timing.schedule.describe())
    } else {
        moment
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_795_443_060_000); // Mon 23 Nov 2026 14:11 UTC

    fn read(after: &str, at: &str, every: &str) -> Result<String, String> {
        let berlin = Zone::named("Europe/Berlin").unwrap();
        let [after, at, every] =
            [after, at, every].map(|text| (!text.is_empty()).then(|| text.to_owned()));
        let words = Words::new(after.as_ref(), at.as_ref(), every.as_ref());
        timing(words, NOW, &berlin).map(|timing| in_words(&timing, &berlin))
    }

    #[test]
    fn times_are_read_and_said_back() {
        for (after, at, every, expected) in [
            ("30 min", "", "", "Mon 23 Nov 2026 at 15:41 (Europe/Berlin)"),
            ("", "tomorrow 9:00", "", "Tue 24 Nov 2026 at 09:00 (Europe/Berlin)"),
            ("30 min", "", "none", "Mon 23 Nov 2026 at 15:41 (Europe/Berlin)"),
        ] {
            assert_eq!(read(after, at, every).as_deref(), Ok(expected), "{after} {at} {every}");
        }
        for (after, at, every, begins) in [
            ("", "9:00", "day", "Tue 24 Nov 2026 at 09:00 (Europe/Berlin), and then: "),
            ("", "18:00", "weekday", "Mon 23 Nov 2026 at 18:00 (Europe/Berlin), and then: "),
            ("", "8:30", "friday", "Fri 27 Nov 2026 at 08:30 (Europe/Berlin), and then: "),
            (
                "",
                "",
                "2 hours",
                "Mon 23 Nov 2026 at 17:11 (Europe/Berlin), and then: every 2 hours",
            ),
            ("", "", "0 9 * * 1-5", "Tue 24 Nov 2026 at 09:00 (Europe/Berlin), and then: "),
        ] {
            let said = read(after, at, every).unwrap();
            assert!(said.starts_with(begins), "{after} {at} {every}: {said}");
        }
        for (after, at, every) in [
            ("", "", ""),
            ("soon", "", ""),
            ("", "2020-01-01 09:00", ""),
            ("", "", "20 seconds"),
            ("", "", "full moon"),
            ("", "2090-01-01 09:00", ""),
        ] {
            assert!(read(after, at, every).is_err(), "{after} {at} {every}");
        }
    }

    #[test]
    fn only_times_of_clocks_need_a_zone() {
        let local = |at: &str| {
            let at = at.to_owned();
            Words::new(None, Some(&at), None).is_local()
        };
        assert!(local("9:00") && local("2026-12-31 09:00") && local("tomorrow"));
        assert!(!local("2026-12-31T09:00:00Z") && !local("2026-12-31T09:00:00+01:00"));
        assert!(!local(""));
    }
}
