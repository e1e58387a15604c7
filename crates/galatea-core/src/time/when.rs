//! Times as people and models write them: `30 min`, `tomorrow 9:00`, `2026-12-01 09:00`, `friday 8pm`.

use jiff::{
    Span,
    civil::{Date, DateTime, Time, Weekday},
};

use crate::{clock::Timestamp, schedule::LONGEST, zone::Zone};

/// Most characters that are read.
const MOST: usize = 60;

/// The moment so far after now: `30 min`, `in 2 hours`, `1 h 30 min`, `3 days`. Days, weeks and months
/// keep the time of day in the zone; hours and less are counted. None for other texts, and for more than
/// ten years.
pub fn relative(text: &str, now: Timestamp, zone: &Zone) -> Option<Timestamp> {
    let (days, millis) = span(text)?;
    let begin = match days {
        days if days == Span::new().fieldwise() => now,
        days => {
            let there = zone.civil(now)?.checked_add(days.0).ok()?;
            zone.instant(there)?
        }
    };
    let at = Timestamp(begin.0.checked_add(millis)?);
    (at > now && at.since(now) <= LONGEST).then_some(at)
}

/// A period in milliseconds: `30 min`, `2 hours`, `1 day`, `week`. None for other texts, and for months,
/// which differ.
pub fn period(text: &str) -> Option<u64> {
    let text = text.trim();
    let text = text.strip_prefix("every ").unwrap_or(text);
    let counted = text.chars().next()?.is_ascii_digit();
    let (days, millis) =
        if counted { span(text)? } else { span(&format!("1 {text}")).or_else(|| span(text))? };
    let span = days.0;
    if span.get_months() != 0 {
        return None;
    }
    let days = i64::from(span.get_weeks()) * 7 + i64::from(span.get_days());
    u64::try_from(days.checked_mul(86_400_000)?.checked_add(millis)?).ok().filter(|m| *m > 0)
}

/// Days, weeks and months, and the milliseconds of the rest.
fn span(text: &str) -> Option<(jiff::SpanFieldwise, i64)> {
    let words = words(text)?;
    let (mut days, mut millis, mut any) = (Span::new(), 0_i64, false);
    let mut words = words.iter().map(String::as_str).peekable();
    while let Some(word) = words.next() {
        if ["in", "after", "nach", "dans", "en", "and", "und", "et", "y"].contains(&word) {
            continue;
        }
        let mut count = number(word)?;
        let mut unit = words.next()?;
        if ["a", "an", "einer", "eine"].contains(&unit) && count == 0.5 {
            unit = words.next()?;
        } else if unit == "half" {
            count += 0.5;
            unit = words.next()?;
        }
        let whole = || (count.fract() == 0.0 && count <= 4_000.0).then_some(count as i64);
        match unit {
            "s" | "sec" | "secs" | "second" | "seconds" | "sek" | "sekunde" | "sekunden" => {
                millis = millis.checked_add(scaled(count, 1_000.0)?)?;
            }
            "m" | "min" | "mins" | "minute" | "minutes" | "minuten" | "minuto" | "minutos"
            | "minuti" => millis = millis.checked_add(scaled(count, 60_000.0)?)?,
            "h" | "hr" | "hrs" | "hour" | "hours" | "std" | "stunde" | "stunden" | "heure"
            | "heures" | "hora" | "horas" => {
                millis = millis.checked_add(scaled(count, 3_600_000.0)?)?;
            }
            "d" | "day" | "days" | "tag" | "tage" | "tagen" | "jour" | "jours" | "dia" | "dias"
            | "día" | "días" => match whole() {
                Some(count) => days = days.try_days(i64::from(days.get_days()) + count).ok()?,
                None => millis = millis.checked_add(scaled(count, 86_400_000.0)?)?,
            },
            "w" | "week" | "weeks" | "woche" | "wochen" | "semaine" | "semaines" | "semana"
            | "semanas" => {
                days = days.try_weeks(i64::from(days.get_weeks()) + whole()?).ok()?;
            }
            "month" | "months" | "monat" | "monate" | "monaten" | "mois" | "mes" | "meses" => {
                days = days.try_months(i64::from(days.get_months()) + whole()?).ok()?;
            }
            "year" | "years" | "jahr" | "jahre" | "jahren" => {
                days = days.try_months(i64::from(days.get_months()) + whole()? * 12).ok()?;
            }
            _ => return None,
        }
        any = true;
    }
    any.then_some((days.fieldwise(), millis))
}

fn scaled(count: f64, unit: f64) -> Option<i64> {
    let millis = count * unit;
    // Ten years have fewer milliseconds.
    (millis.is_finite() && millis <= 1e12).then_some(millis.round() as i64)
}

fn number(word: &str) -> Option<f64> {
    match word {
        "a" | "an" | "one" | "ein" | "eine" | "einer" | "einem" | "un" | "une" | "una" => Some(1.0),
        "half" | "halbe" | "halben" => Some(0.5),
        "two" | "zwei" => Some(2.0),
        "three" | "drei" => Some(3.0),
        "five" | "fünf" => Some(5.0),
        "ten" | "zehn" => Some(10.0),
        digits => {
            let plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
            digits.parse().ok().filter(|count: &f64| plain && count.is_finite())
        }
    }
}

/// Words in lower case, a number apart from the unit behind it.
fn words(text: &str) -> Option<Vec<String>> {
    if text.chars().count() > MOST {
        return None;
    }
    let mut words: Vec<String> = Vec::new();
    for word in text.to_lowercase().split(|c: char| c.is_whitespace() || c == ',') {
        let word = word.trim_matches(|c: char| "+!?".contains(c));
        let mut part = String::new();
        for c in word.chars() {
            let numeric = |c: char| c.is_ascii_digit() || c == '.';
            if part.chars().last().is_some_and(|last| numeric(last) != numeric(c)) {
                words.push(std::mem::take(&mut part));
            }
            part.push(c);
        }
        words.push(part);
    }
    words.retain(|word| !word.is_empty());
    (!words.is_empty()).then_some(words)
}

/// The moment at which clocks of the zone show a date and time: `2026-12-01 09:00`, `09:00`, `9 pm`,
/// `tomorrow 9:00`, `friday 20:00`, `friday`. A time of day is the next one; a day without a time is
/// nine o'clock. An offset in the text (`2026-12-01T09:00:00+01:00`) is followed. None for other
/// texts; the moment may lie in the past where a date is given.
pub fn local(text: &str, now: Timestamp, zone: &Zone) -> Option<Timestamp> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > MOST {
        return None;
    }
    if let Ok(at) = text.parse::<jiff::Timestamp>() {
        return Some(Timestamp(at.as_millisecond()));
    }
    if text.len() > 10
        && let Ok(at) = text.replacen(' ', "T", 1).parse::<DateTime>()
    {
        return zone.instant(at);
    }
    let here = zone.civil(now)?;
    let lower = text.to_lowercase();
    let mut rest: Vec<&str> = lower
        .split(|c: char| c.is_whitespace() || c == ',')
        .filter(|word| {
            !["", "at", "on", "um", "am", "next", "this", "the", "à", "uhr", "o'clock"]
                .contains(word)
                || *word == "am"
        })
        .collect();
    let day = take_day(&mut rest, here.date());
    // German `am Freitag` is a day, English `9 am` a time.
    if rest.first() == Some(&"am") {
        rest.remove(0);
    }
    let time = if rest.is_empty() { None } else { Some(time(&rest.concat())?) };
    match (day, time) {
        (None, None) => None,
        (Some(Day::Date(date)), time) => {
            zone.instant(date.to_datetime(time.unwrap_or(Time::constant(9, 0, 0, 0))))
        }
        (Some(Day::Weekday(weekday)), time) => {
            let time = time.unwrap_or(Time::constant(9, 0, 0, 0));
            let ahead = weekday.since(here.weekday()).rem_euclid(7);
            let date = here.date().checked_add(Span::new().days(i64::from(ahead))).ok()?;
            let at = zone.instant(date.to_datetime(time))?;
            if at > now {
                return Some(at);
            }
            let date = date.checked_add(Span::new().days(7)).ok()?;
            zone.instant(date.to_datetime(time))
        }
        (None, Some(time)) => {
            let at = zone.instant(here.date().to_datetime(time))?;
            if at > now {
                return Some(at);
            }
            zone.instant(here.date().tomorrow().ok()?.to_datetime(time))
        }
    }
}

enum Day {
    Date(Date),
    Weekday(Weekday),
}

fn take_day(words: &mut Vec<&str>, today: Date) -> Option<Day> {
    let at = words.iter().position(|word| day(word, today).is_some())?;
    day(words.remove(at), today)
}

fn day(word: &str, today: Date) -> Option<Day> {
    let date = |days: i64| today.checked_add(Span::new().days(days)).ok().map(Day::Date);
    match word {
        "today" | "heute" | "tonight" => return date(0),
        "tomorrow" | "morgen" | "demain" | "mañana" => return date(1),
        "übermorgen" => return date(2),
        _ => {}
    }
    if word.len() == 10
        && let Ok(date) = word.parse::<Date>()
    {
        return Some(Day::Date(date));
    }
    weekday(word).map(Day::Weekday)
}

/// A day of the week by its name, or the first three letters of it.
pub(crate) fn weekday(word: &str) -> Option<Weekday> {
    Some(match word {
        "monday" | "mon" | "montag" => Weekday::Monday,
        "tuesday" | "tue" | "tues" | "dienstag" => Weekday::Tuesday,
        "wednesday" | "wed" | "mittwoch" => Weekday::Wednesday,
        "thursday" | "thu" | "thurs" | "donnerstag" => Weekday::Thursday,
        "friday" | "fri" | "freitag" => Weekday::Friday,
        "saturday" | "sat" | "samstag" | "sonnabend" => Weekday::Saturday,
        "sunday" | "sun" | "sonntag" => Weekday::Sunday,
        _ => return None,
    })
}

/// `9`, `9:30`, `09.30`, `9pm`, `9:30am`, `noon`, `14h`.
fn time(text: &str) -> Option<Time> {
    match text {
        "noon" | "midday" | "mittag" => return Time::new(12, 0, 0, 0).ok(),
        "midnight" => return Time::new(0, 0, 0, 0).ok(),
        _ => {}
    }
    let (text, half) = match text.trim_end_matches('.').replace('.', ":") {
        text if text.ends_with("pm") => (text.trim_end_matches("pm").to_owned(), Some(12)),
        text if text.ends_with("p:m") => (text.trim_end_matches("p:m").to_owned(), Some(12)),
        text if text.ends_with("am") => (text.trim_end_matches("am").to_owned(), Some(0)),
        text if text.ends_with("a:m") => (text.trim_end_matches("a:m").to_owned(), Some(0)),
        text => (text, None),
    };
    let text = text.trim_end_matches(['h', ':']);
    let mut parts = text.split([':', 'h']);
    let number = |part: &str| {
        let plain = (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        plain.then(|| part.parse::<i8>().ok())?
    };
    let hour = number(parts.next()?)?;
    let minute = parts.next().map_or(Some(0), number)?;
    let second = parts.next().map_or(Some(0), number)?;
    if parts.next().is_some() {
        return None;
    }
    let hour = match half {
        Some(half) => (1..=12).contains(&hour).then_some(hour % 12 + half)?,
        None => hour,
    };
    Time::new(hour, minute, second, 0).ok()
}

/// The minute and hour of a time of day, for cron rules; none for other texts.
pub fn clock(text: &str) -> Option<(i8, i8)> {
    let lower: String =
        text.to_lowercase().split_whitespace().filter(|word| *word != "uhr").collect();
    time(&lower).map(|time| (time.minute(), time.hour()))
}

/// The number of a day of the week in cron rules: Sunday is 0.
pub fn cron_weekday(text: &str) -> Option<i8> {
    let word = text.trim().to_lowercase();
    weekday(word.strip_suffix('s').unwrap_or(&word))
        .or_else(|| weekday(&word))
        .map(Weekday::to_sunday_zero_offset)
}

/// Fields of a moment, as cron rules count them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fields {
    /// Minute of the hour.
    pub minute: i8,
    /// Hour of the day.
    pub hour: i8,
    /// Day of the month.
    pub day: i8,
    /// Day of the week; Sunday is 0.
    pub weekday: i8,
}

/// The fields of a moment by the clocks of a zone; none outside of the calendar.
pub fn fields(at: Timestamp, zone: &Zone) -> Option<Fields> {
    let here = zone.civil(at)?;
    let weekday = here.weekday().to_sunday_zero_offset();
    Some(Fields { minute: here.minute(), hour: here.hour(), day: here.day(), weekday })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp(text.parse::<jiff::Timestamp>().unwrap().as_millisecond())
    }

    fn shown(at: Option<Timestamp>) -> String {
        at.map_or_else(String::new, |at| {
            jiff::Timestamp::from_millisecond(at.0).unwrap().to_string()
        })
    }

    #[test]
    fn relative_times() {
        let (now, berlin) = (at("2027-03-27T11:00:00Z"), Zone::named("Europe/Berlin").unwrap());
        for (text, expected) in [
            ("30 min", "2027-03-27T11:30:00Z"),
            ("in 30 minutes", "2027-03-27T11:30:00Z"),
            ("30min", "2027-03-27T11:30:00Z"),
            ("1h30", ""),
            ("1h30m", "2027-03-27T12:30:00Z"),
            ("1 h 30 min", "2027-03-27T12:30:00Z"),
            ("an hour", "2027-03-27T12:00:00Z"),
            ("half an hour", "2027-03-27T11:30:00Z"),
            ("1.5 hours", "2027-03-27T12:30:00Z"),
            ("in einer Stunde", "2027-03-27T12:00:00Z"),
            ("90 seconds", "2027-03-27T11:01:30Z"),
            ("24 hours", "2027-03-28T11:00:00Z"),
            // Clocks go forward in between; the time of day stays.
            ("1 day", "2027-03-28T10:00:00Z"),
            ("2 weeks", "2027-04-10T10:00:00Z"),
            ("1 month", "2027-04-27T10:00:00Z"),
            ("0 min", ""),
            ("-5 min", ""),
            ("20 years", ""),
            ("soon", ""),
            ("30", ""),
            ("1e9 hours", ""),
        ] {
            assert_eq!(shown(relative(text, now, &berlin)), expected, "{text}");
        }
    }

    #[test]
    fn local_times() {
        // A Saturday, noon in Berlin.
        let (now, berlin) = (at("2027-03-27T11:00:00Z"), Zone::named("Europe/Berlin").unwrap());
        for (text, expected) in [
            ("2027-04-01 09:00", "2027-04-01T07:00:00Z"),
            ("2027-04-01T09:00:00", "2027-04-01T07:00:00Z"),
            ("2027-04-01T09:00:00Z", "2027-04-01T09:00:00Z"),
            ("2027-04-01T09:00:00-04:00", "2027-04-01T13:00:00Z"),
            ("2027-04-01", "2027-04-01T07:00:00Z"),
            ("13:00", "2027-03-27T12:00:00Z"),
            ("at 9", "2027-03-28T07:00:00Z"),
            ("9 am", "2027-03-28T07:00:00Z"),
            ("9pm", "2027-03-27T20:00:00Z"),
            ("12 am", "2027-03-27T23:00:00Z"),
            ("tomorrow 9:00", "2027-03-28T07:00:00Z"),
            ("tomorrow at 9", "2027-03-28T07:00:00Z"),
            ("morgen um 8 Uhr", "2027-03-28T06:00:00Z"),
            ("tomorrow 02:30", "2027-03-28T01:30:00Z"),
            ("monday 20:00", "2027-03-29T18:00:00Z"),
            ("next friday", "2027-04-02T07:00:00Z"),
            ("saturday 11:00", "2027-04-03T09:00:00Z"),
            ("saturday 13:00", "2027-03-27T12:00:00Z"),
            ("am Freitag 8:00", "2027-04-02T06:00:00Z"),
            ("noon tomorrow", "2027-03-28T10:00:00Z"),
            ("25:00", ""),
            ("13 pm", ""),
            ("later", ""),
            ("", ""),
        ] {
            assert_eq!(shown(local(text, now, &berlin)), expected, "{text}");
        }
    }

    #[test]
    fn periods() {
        for (text, millis) in [
            ("30 min", Some(1_800_000)),
            ("every 2 hours", Some(7_200_000)),
            ("day", Some(86_400_000)),
            ("week", Some(604_800_000)),
            ("1 month", None),
            ("monday", None),
        ] {
            assert_eq!(period(text), millis, "{text}");
        }
    }

    #[test]
    fn zones_of_cities() {
        let name = |text| Zone::of_place(text).map(|zone| zone.name().to_owned());
        assert_eq!(name("Berlin").as_deref(), Some("Europe/Berlin"));
        assert_eq!(name("new york").as_deref(), Some("America/New_York"));
        assert_eq!(name("Europe/Paris").as_deref(), Some("Europe/Paris"));
        assert_eq!(name("+02:00").as_deref(), Some("UTC+02:00"));
        assert_eq!((name("Gotham"), name("")), (None, None));
    }
}
