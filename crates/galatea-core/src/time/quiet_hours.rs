//! Quiet hours: the time of day at which an agent says nothing by itself. It answers all the same.

use jiff::civil::{Date, Time};

use crate::{clock::Timestamp, settings::variable::Variable, zone::Zone};

/// The setting for Worlds without quiet hours of their own.
pub const QUIET_HOURS: Variable = Variable::new(
    "QUIET_HOURS",
    "Hours in which the agent starts no conversation by itself, such as 22:00-07:00 in TIMEZONE, or with a zone of their own: 22:00-07:00 Europe/Berlin. Answers and reminders come all the same. A World may set its own hours.",
);
/// The World setting ([`crate::World::setting`]); `off` is none.
pub const WORLD_QUIET_HOURS: &str = "quiet_hours";

/// Hours of each day, by the clocks of a zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuietHours {
    begin: Time,
    end: Time,
    zone: Option<Zone>,
}

impl QuietHours {
    /// Reads `22:00-07:00`, `22-7` or `22:00-07:00 Europe/Berlin`; none for anything else.
    pub fn read(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let (begin, end) = words.next()?.split_once(['-', '–'])?;
        let zone = match words.next() {
            Some(name) => Some(Zone::named(name)?),
            None => None,
        };
        let (begin, end) = (time(begin)?, time(end)?);
        (words.next().is_none() && begin != end).then_some(Self { begin, end, zone })
    }

    /// The end of the quiet hours in which a moment lies; none outside of them. `zone` counts for
    /// hours without a zone of their own.
    pub fn end(&self, at: Timestamp, zone: &Zone) -> Option<Timestamp> {
        let zone = self.zone.as_ref().unwrap_or(zone);
        let here = zone.civil(at)?;
        let (now, today) = (here.time(), here.date());
        let overnight = self.begin > self.end;
        let day: Date = match (overnight, now >= self.begin, now < self.end) {
            (false, true, true) | (true, false, true) => today,
            (true, true, _) => today.tomorrow().ok()?,
            _ => return None,
        };
        zone.instant(day.to_datetime(self.end)).filter(|end| *end > at)
    }
}

/// `7`, `07` or `07:30`.
fn time(text: &str) -> Option<Time> {
    let (hour, minute) = text.split_once(':').unwrap_or((text, "0"));
    let number = |text: &str| {
        (1..=2).contains(&text.len()).then_some(())?;
        text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<i8>().ok())?
    };
    let hour = number(hour)?;
    Time::new(if hour == 24 { 0 } else { hour }, number(minute)?, 0, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp(text.parse::<jiff::Timestamp>().unwrap().as_millisecond())
    }

    #[test]
    fn quiet_hours_end_in_the_morning_of_their_zone() {
        let night = QuietHours::read("22:00-07:00 Europe/Berlin").unwrap();
        let utc = Zone::default();
        for (now, end) in [
            ("2027-01-01T20:59:00Z", None),
            ("2027-01-01T21:00:00Z", Some("2027-01-02T06:00:00Z")),
            ("2027-01-02T05:59:00Z", Some("2027-01-02T06:00:00Z")),
            ("2027-01-02T06:00:00Z", None),
            // The night in which clocks go forward.
            ("2027-03-27T23:00:00Z", Some("2027-03-28T05:00:00Z")),
        ] {
            assert_eq!(night.end(at(now), &utc), end.map(at), "{now}");
        }
        let noon = QuietHours::read("12-13:30").unwrap();
        assert_eq!(noon.end(at("2027-01-01T12:15:00Z"), &utc), Some(at("2027-01-01T13:30:00Z")));
        assert_eq!(noon.end(at("2027-01-01T14:00:00Z"), &utc), None);
    }

    #[test]
    fn other_texts_are_no_quiet_hours() {
        for text in
            ["", "off", "22", "22-22", "25-7", "22:00-07:00 Mars", "22-7 UTC please", "-1-3"]
        {
            assert_eq!(QuietHours::read(text), None, "{text}");
        }
    }
}
