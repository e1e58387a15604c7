//! Time zones of characters, for the times that prompts show.

use jiff::{
    civil::{Date, DateTime},
    tz::{Offset, TimeZone},
};

use crate::{
    clock::Timestamp,
    error::Result,
    settings::{Settings, variable::Variable},
};

/// The setting. Declared here, since the runtime and the standard plugin both show times.
pub const TIMEZONE: Variable =
    Variable::new("TIMEZONE", "Time zone of times in prompts: an IANA name such as Europe/Berlin, or an offset such as +02:00.").or("UTC");

/// A time zone, by which dates and times are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone {
    name: String,
    zone: TimeZone,
}

/// A moment as a clock on the wall and a calendar show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Local(DateTime);

impl Default for Zone {
    fn default() -> Self {
        Self { name: "UTC".to_owned(), zone: TimeZone::UTC }
    }
}

impl Zone {
    /// The zone that the settings ask for.
    ///
    /// # Errors
    /// `Invalid` naming the variable and its place for an unknown one.
    pub fn from_settings(settings: &Settings) -> Result<Self> {
        let text = settings.text(&TIMEZONE).unwrap_or_default();
        Self::named(&text).ok_or_else(|| {
            settings
                .invalid_setting(&TIMEZONE, "names no time zone")
                .with_fix("use an IANA name such as Europe/Berlin, or an offset such as +02:00")
        })
    }

    /// A zone by its IANA name or its offset; none for an unknown name.
    pub fn named(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.is_empty() || ["utc", "gmt", "z"].iter().any(|utc| text.eq_ignore_ascii_case(utc)) {
            return Some(Self::default());
        }
        if let Some(seconds) = offset(text) {
            let zone = TimeZone::fixed(Offset::from_seconds(seconds).ok()?);
            return Some(Self { name: format!("UTC{text}"), zone });
        }
        Some(Self { name: text.to_owned(), zone: TimeZone::get(text).ok()? })
    }

    /// Its name, for people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The date and time that clocks there show. A moment outside of the years -9999 to 9999 is
    /// shown as the nearest one inside.
    pub fn local(&self, at: Timestamp) -> Local {
        let nearest = if at.0 < 0 { jiff::Timestamp::MIN } else { jiff::Timestamp::MAX };
        let at = jiff::Timestamp::from_millisecond(at.0).unwrap_or(nearest);
        Local(self.zone.to_datetime(at))
    }

    /// The date and time that clocks there show; none outside of the calendar.
    pub(crate) fn civil(&self, at: Timestamp) -> Option<DateTime> {
        Some(self.zone.to_datetime(jiff::Timestamp::from_millisecond(at.0).ok()?))
    }

    /// The moment at which clocks there show a date and time. A time in the gap of spring counts from
    /// before it, one that clocks show twice in autumn is the first; none outside of the calendar.
    pub(crate) fn instant(&self, civil: DateTime) -> Option<Timestamp> {
        let at = self.zone.to_timestamp(civil).ok()?;
        Some(Timestamp(at.as_millisecond()))
    }

    /// The rules of the zone.
    pub(crate) fn rules(&self) -> &TimeZone {
        &self.zone
    }

    /// The zone of a name as people write it: an IANA name, an offset, or the city of an IANA name,
    /// such as `new york`. None for an unknown one.
    pub fn of_place(text: &str) -> Option<Self> {
        if let Some(zone) = Self::named(text).filter(|_| !text.trim().is_empty()) {
            return Some(zone);
        }
        let place = text.trim().to_lowercase().replace([' ', '-'], "_");
        let is_city = |name: &str| {
            let city = name.rsplit('/').next().unwrap_or_default();
            name.contains('/') && city.to_lowercase().replace('-', "_") == place
        };
        let mut names: Vec<String> =
            jiff::tz::db().available().map(|name| name.as_str().to_owned()).collect();
        names.retain(|name| is_city(name));
        // Names of today before those that are kept for old systems.
        names.sort_by_key(|name| {
            ["US/", "Etc/", "SystemV/"].iter().any(|old| name.starts_with(old))
        });
        names.first().and_then(|name| Self::named(name))
    }
}

impl Local {
    /// Year of the Gregorian calendar.
    pub fn year(&self) -> i16 {
        self.0.year()
    }

    /// Days since 1 January 1970.
    pub fn days(&self) -> i64 {
        self.0.date().duration_since(Date::constant(1970, 1, 1)).as_hours() / 24
    }

    /// `Tue 1 Dec 2026 at 09:05`.
    pub fn moment(&self) -> String {
        format!("{} at {}", self.date(), self.clock())
    }

    /// `14:05`.
    pub fn clock(&self) -> String {
        self.0.strftime("%H:%M").to_string()
    }

    /// `Mon 23 Nov 2026`.
    pub fn date(&self) -> String {
        self.0.strftime("%a %-d %b %Y").to_string()
    }

    /// `Monday, November 23, 2026`.
    pub fn long_date(&self) -> String {
        self.0.strftime("%A, %B %-d, %Y").to_string()
    }

    /// `2026-11-23T14:05:09`.
    pub fn iso(&self) -> String {
        self.0.strftime("%Y-%m-%dT%H:%M:%S").to_string()
    }
}

/// Seconds of `+02:00`, `-0530` or `+2`.
fn offset(text: &str) -> Option<i32> {
    let text = text.strip_prefix("UTC").unwrap_or(text);
    let (sign, digits) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => return None,
    };
    let (hours, minutes) = match digits.split_once(':') {
        Some(both) => both,
        None if digits.len() == 4 && digits.is_ascii() => digits.split_at(2),
        None => (digits, "0"),
    };
    let number = |text: &str, most: i32| {
        text.parse::<i32>()
            .ok()
            .filter(|n| (0..=most).contains(n) && text.bytes().all(|b| b.is_ascii_digit()))
    };
    Some(sign * (number(hours, 14)? * 3_600 + number(minutes, 59)? * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(zone: &Zone, seconds: i64) -> String {
        let local = zone.local(Timestamp(seconds * 1_000));
        format!("{} {}", local.date(), local.clock())
    }

    #[test]
    fn moments_are_shown_as_calendars_do() {
        let utc = Zone::default();
        assert_eq!(shown(&utc, 0), "Thu 1 Jan 1970 00:00");
        assert_eq!(shown(&utc, 1_795_443_060), "Mon 23 Nov 2026 14:11");
        assert_eq!(shown(&utc, 951_782_400), "Tue 29 Feb 2000 00:00");
        assert_eq!(shown(&utc, -1), "Wed 31 Dec 1969 23:59");
        assert_eq!(utc.local(Timestamp(1_795_443_060_000)).days(), 20_780);
        assert_eq!(utc.local(Timestamp(-1)).days(), -1);
        assert_eq!(utc.local(Timestamp(i64::MAX)).year(), 9999);
        assert_eq!(utc.local(Timestamp(i64::MIN)).year(), -9999);
    }

    #[test]
    fn offsets_are_read() {
        for (text, seconds) in
            [("+02:00", 7_200), ("-0530", -19_800), ("+2", 7_200), ("UTC+5:45", 20_700), ("utc", 0)]
        {
            let zone = TimeZone::fixed(Offset::from_seconds(seconds).unwrap());
            assert_eq!(Zone::named(text).unwrap().zone, zone, "{text}");
        }
        for text in [
            "+99",
            "+02:60",
            "Nowhere/Town",
            "../etc/passwd",
            "/etc/localtime",
            "+-2",
            "++2",
            "Europe/Berlin\0",
        ] {
            assert_eq!(Zone::named(text), None, "{text}");
        }
        let error =
            Zone::from_settings(&Settings::from_pairs([("TIMEZONE", "Nowhere/Town")])).unwrap_err();
        assert!(error.to_string().contains("TIMEZONE"), "{error}");
    }

    #[test]
    fn a_named_zone_knows_summer() {
        let berlin = Zone::named("Europe/Berlin").unwrap();
        assert_eq!(shown(&berlin, 1_795_443_060), "Mon 23 Nov 2026 15:11");
        assert_eq!(shown(&berlin, 1_782_000_000), "Sun 21 Jun 2026 02:00");
        assert_eq!(
            shown(&berlin, 4_118_000_000),
            "Wed 30 Jun 2100 02:53",
            "by the rule behind the table"
        );
    }
}
