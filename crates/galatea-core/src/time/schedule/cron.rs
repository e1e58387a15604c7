//! Cron rules in a time zone: croner finds the matching times, jiff knows the zone.

use croner::{
    Cron,
    errors::CronError,
    parser::{CronParser, Seconds, Year},
    time::{CivilDate, CivilDateTime, CivilTime, CronDateTime, Resolution, Weekday},
};
use jiff::{
    SignedDuration,
    civil::DateTime,
    tz::{AmbiguousOffset, TimeZone},
};
use std::cmp::Ordering;

use super::fault::{invalid, zone};
use crate::{clock::Timestamp, error::Result, zone::Zone};

/// Longest rule that is read. One with every field as a list is shorter.
const LONGEST: usize = 256;

/// A rule that was read.
pub(super) struct Pattern {
    cron: Cron,
    zone: Zone,
}

impl Pattern {
    pub(super) fn read(rule: &str, name: &str) -> Result<Self> {
        let zone = zone(name)?;
        if rule.len() > LONGEST {
            return Err(invalid("the rule is too long"));
        }
        let parser =
            CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        let cron = parser.parse(rule).map_err(|error| {
            invalid("this is no cron rule").with("rule", rule).with("cause", error)
        })?;
        Ok(Self { cron, zone })
    }

    pub(super) fn next(&self, after: Timestamp) -> Result<Option<Timestamp>> {
        let found = self.cron.find_next_occurrence(&self.moment(after)?, false);
        Self::found(found)
    }

    pub(super) fn latest(&self, at: Timestamp) -> Result<Option<Timestamp>> {
        let found = self.cron.find_previous_occurrence(&self.moment(at)?, true);
        Self::found(found)
    }

    pub(super) fn words(&self) -> String {
        self.cron.describe()
    }

    fn moment(&self, at: Timestamp) -> Result<Moment<'_>> {
        // Cron knows whole seconds.
        let at = jiff::Timestamp::from_second(at.0.div_euclid(1_000))
            .map_err(|_| invalid("the time lies outside of the calendar"))?;
        Ok(Moment { at, zone: self.zone.rules() })
    }

    fn found(found: std::result::Result<Moment<'_>, CronError>) -> Result<Option<Timestamp>> {
        match found {
            Ok(Moment { at, .. }) => Ok(Some(Timestamp(at.as_millisecond()))),
            Err(CronError::TimeSearchLimitExceeded) => Ok(None),
            Err(error) => Err(invalid("the rule names no time").with("cause", error)),
        }
    }
}

/// A moment in a zone, as croner walks over it. The crate has an implementation for another version
/// of jiff.
#[derive(Clone)]
struct Moment<'a> {
    at: jiff::Timestamp,
    zone: &'a TimeZone,
}

impl Moment<'_> {
    fn here(&self) -> DateTime {
        self.zone.to_datetime(self.at)
    }
}

fn civil(at: DateTime) -> CivilDateTime {
    let number = |n: i8| u32::try_from(n).unwrap_or_default();
    CivilDateTime::new(
        CivilDate::from_parts_unchecked(at.year().into(), number(at.month()), number(at.day())),
        CivilTime::from_parts_unchecked(
            number(at.hour()),
            number(at.minute()),
            number(at.second()),
        ),
    )
}

fn datetime(at: CivilDateTime) -> std::result::Result<DateTime, CronError> {
    let year = i16::try_from(at.year()).map_err(|_| CronError::InvalidDate)?;
    let number = |n: u32| i8::try_from(n).map_err(|_| CronError::InvalidDate);
    let (month, day) = (number(at.month())?, number(at.day())?);
    let (hour, minute, second) = (number(at.hour())?, number(at.minute())?, number(at.second())?);
    DateTime::new(year, month, day, hour, minute, second, 0).map_err(|_| CronError::InvalidDate)
}

impl CronDateTime for Moment<'_> {
    fn to_civil(&self) -> CivilDateTime {
        civil(self.here())
    }

    fn civil_weekday(&self) -> Weekday {
        let days = u32::try_from(self.here().weekday().to_sunday_zero_offset());
        Weekday::from_days_from_sunday(days.unwrap_or_default())
    }

    fn resolve_civil(&self, at: CivilDateTime) -> std::result::Result<Resolution<Self>, CronError> {
        let found = self.zone.to_ambiguous_timestamp(datetime(at)?);
        let moment = |found: std::result::Result<jiff::Timestamp, jiff::Error>| {
            let at = found.map_err(|_| CronError::InvalidTime)?;
            Ok(Self { at, zone: self.zone })
        };
        Ok(match found.offset() {
            AmbiguousOffset::Unambiguous { .. } => Resolution::Single(moment(found.unambiguous())?),
            AmbiguousOffset::Fold { .. } => {
                Resolution::Ambiguous(moment(found.earlier())?, moment(found.later())?)
            }
            AmbiguousOffset::Gap { .. } => Resolution::Gap,
        })
    }

    fn checked_add_seconds(&self, seconds: i64) -> Option<Self> {
        let at = self.at.checked_add(SignedDuration::from_secs(seconds)).ok()?;
        Some(Self { at, zone: self.zone })
    }

    fn cmp_instant(&self, other: &Self) -> Ordering {
        self.at.cmp(&other.at)
    }
}
