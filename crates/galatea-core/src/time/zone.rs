//! Local time where a character lives, for the times that prompts show.

mod calendar;
mod posix;
mod tzif;

use std::{fs, path::Path};

use calendar::{DAY, civil};

use crate::{
    clock::Timestamp,
    error::Result,
    settings::{Settings, variable::Variable},
};

/// The setting. Declared here, since the runtime and the standard plugin both show times.
pub const TIMEZONE: Variable =
    Variable::new("TIMEZONE", "Time zone of times in prompts: an IANA name such as Europe/Berlin, or an offset such as +02:00.").or("UTC");

/// Folders in which systems keep their zones (tzdata).
const FOLDERS: [&str; 3] = ["/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/usr/share/lib/zoneinfo"];
const WEEKDAYS: [&str; 7] =
    ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// Letters of a short name.
const SHORT: usize = 3;

/// A time zone, by which dates and times are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone {
    name: String,
    clock: Clock,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Clock {
    /// Seconds east of Greenwich.
    Fixed(i32),
    /// Changes from the system's table.
    Table(tzif::Table),
}

/// A moment as a clock on the wall and a calendar show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Local {
    /// Year of the Gregorian calendar.
    pub year: i64,
    /// Month, counted from 1.
    pub month: u8,
    /// Day of the month, from 1.
    pub day: u8,
    /// Hour, 0 to 23.
    pub hour: u8,
    /// Minute, 0 to 59.
    pub minute: u8,
    /// Days since 1 January 1970, which was a Thursday.
    pub days: i64,
}

impl Default for Zone {
    fn default() -> Self {
        Self { name: "UTC".to_owned(), clock: Clock::Fixed(0) }
    }
}

impl Zone {
    /// The zone that the settings ask for.
    ///
    /// # Errors
    /// `Invalid` naming the variable and its place for one that this machine does not know.
    pub fn from_settings(settings: &Settings) -> Result<Self> {
        let text = settings.text(&TIMEZONE).unwrap_or_default();
        Self::named(&text).ok_or_else(|| {
            settings
                .invalid_setting(&TIMEZONE, "names no time zone that this machine knows")
                .with_fix("use an IANA name such as Europe/Berlin (needs the package tzdata), or an offset such as +02:00")
        })
    }

    /// A zone by its IANA name or its offset; none when this machine knows none of that name.
    pub fn named(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.is_empty() || ["utc", "gmt", "z"].iter().any(|utc| text.eq_ignore_ascii_case(utc)) {
            return Some(Self::default());
        }
        if let Some(seconds) = offset(text) {
            return Some(Self { name: format!("UTC{text}"), clock: Clock::Fixed(seconds) });
        }
        // It becomes a path.
        let fits = text.len() <= 64
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'_' | b'-' | b'+'));
        if !fits || text.starts_with('/') {
            return None;
        }
        let bytes =
            FOLDERS.iter().find_map(|folder| fs::read(Path::new(folder).join(text)).ok())?;
        Some(Self { name: text.to_owned(), clock: Clock::Table(tzif::read(&bytes)?) })
    }

    /// Its name, for people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Time that clocks there show.
    pub fn local(&self, at: Timestamp) -> Local {
        let seconds = at.0.div_euclid(1_000);
        let east = match &self.clock {
            Clock::Fixed(east) => *east,
            Clock::Table(table) => table.offset(seconds),
        };
        let shown = seconds.saturating_add(i64::from(east));
        let (days, of_day) = (shown.div_euclid(DAY), shown.rem_euclid(DAY));
        let (year, month, day) = civil(days);
        let small = |n: i64| u8::try_from(n).unwrap_or_default();
        Local {
            year,
            month,
            day,
            hour: small(of_day / 3_600),
            minute: small(of_day % 3_600 / 60),
            days,
        }
    }
}

impl Local {
    fn names(&self) -> (&'static str, &'static str) {
        (
            WEEKDAYS[usize::try_from(self.days.rem_euclid(7)).unwrap_or_default()],
            MONTHS[usize::from(self.month.saturating_sub(1)) % 12],
        )
    }

    /// `14:05`.
    pub fn clock(&self) -> String {
        format!("{:02}:{:02}", self.hour, self.minute)
    }

    /// `Mon 23 Nov 2026`.
    pub fn date(&self) -> String {
        let (weekday, month) = self.names();
        format!("{} {} {} {}", &weekday[..SHORT], self.day, &month[..SHORT], self.year)
    }

    /// `Monday, November 23, 2026`.
    pub fn long_date(&self) -> String {
        let (weekday, month) = self.names();
        format!("{weekday}, {month} {}, {}", self.day, self.year)
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
    use super::{calendar::days_of, *};

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
        for days in (-800_000..800_000).step_by(377) {
            let (y, m, d) = civil(days);
            assert_eq!(days_of(y, i64::from(m), i64::from(d)), days);
        }
    }

    #[test]
    fn offsets_are_read() {
        for (text, seconds) in
            [("+02:00", 7_200), ("-0530", -19_800), ("+2", 7_200), ("UTC+5:45", 20_700), ("utc", 0)]
        {
            assert_eq!(Zone::named(text).unwrap().clock, Clock::Fixed(seconds), "{text}");
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
        // Where no tzdata is installed there are offsets only; the tables are tested by themselves.
        let Some(berlin) = Zone::named("Europe/Berlin") else { return };
        assert_eq!(shown(&berlin, 1_795_443_060), "Mon 23 Nov 2026 15:11");
        assert_eq!(shown(&berlin, 1_782_000_000), "Sun 21 Jun 2026 02:00");
        assert_eq!(
            shown(&berlin, 4_118_000_000),
            "Wed 30 Jun 2100 02:53",
            "by the rule behind the table"
        );
    }
}
