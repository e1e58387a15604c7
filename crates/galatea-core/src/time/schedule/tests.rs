//! Rules, daylight saving time, and missed runs.

use super::*;
use crate::zone::Zone;

fn at(text: &str) -> Timestamp {
    Timestamp(text.parse::<jiff::Timestamp>().unwrap().as_millisecond())
}

fn shown(at: Option<Timestamp>) -> String {
    at.map_or_else(String::new, |at| jiff::Timestamp::from_millisecond(at.0).unwrap().to_string())
}

fn runs(schedule: &Schedule, from: &str, count: usize) -> Vec<String> {
    let mut last = at(from);
    let mut found = Vec::new();
    for _ in 0..count {
        last = schedule.next(last).unwrap().unwrap();
        found.push(shown(Some(last)));
    }
    found
}

#[test]
fn a_time_that_clocks_skip_runs_at_the_end_of_the_gap() {
    // Berlin, 28 March 2027: 02:00 becomes 03:00.
    let daily = Schedule::cron("30 2 * * *", "Europe/Berlin").unwrap();
    assert_eq!(
        runs(&daily, "2027-03-26T12:00:00Z", 3),
        ["2027-03-27T01:30:00Z", "2027-03-28T01:00:00Z", "2027-03-29T00:30:00Z"]
    );
    // New York, 14 March 2027.
    let daily = Schedule::cron("0 2 * * *", "America/New_York").unwrap();
    assert_eq!(
        runs(&daily, "2027-03-13T12:00:00Z", 2),
        ["2027-03-14T07:00:00Z", "2027-03-15T06:00:00Z"]
    );
}

#[test]
fn a_time_that_clocks_show_twice_runs_once() {
    // Berlin, 31 October 2027: 03:00 becomes 02:00.
    let daily = Schedule::cron("30 2 * * *", "Europe/Berlin").unwrap();
    assert_eq!(
        runs(&daily, "2027-10-30T12:00:00Z", 2),
        ["2027-10-31T00:30:00Z", "2027-11-01T01:30:00Z"]
    );
    let hourly = Schedule::cron("0 * * * *", "Europe/Berlin").unwrap();
    assert_eq!(runs(&hourly, "2027-10-30T23:30:00Z", 4).len(), 4);
    assert_eq!(
        runs(&hourly, "2027-10-30T23:30:00Z", 3),
        ["2027-10-31T00:00:00Z", "2027-10-31T01:00:00Z", "2027-10-31T02:00:00Z"],
        "an hourly rule runs in both passes"
    );
}

#[test]
fn a_daily_rule_keeps_its_time_of_day_all_year() {
    let daily = Schedule::cron("0 9 * * *", "Europe/Berlin").unwrap();
    let zone = Zone::named("Europe/Berlin").unwrap();
    let mut last = at("2026-12-31T12:00:00Z");
    for _ in 0..730 {
        let next = daily.next(last).unwrap().unwrap();
        assert_eq!(zone.local(next).clock(), "09:00");
        assert_eq!(zone.local(next).days() - zone.local(last).days(), 1, "each day once");
        assert_eq!(daily.latest(Timestamp(next.0 + 1)).unwrap(), Some(next));
        last = next;
    }
}

#[test]
fn a_period_counts_from_its_anchor_and_not_from_the_last_run() {
    let every = Schedule::every(Duration::from_secs(1_800), at("2027-01-01T00:07:00Z")).unwrap();
    assert_eq!(
        runs(&every, "2027-01-01T00:20:11Z", 2),
        ["2027-01-01T00:37:00Z", "2027-01-01T01:07:00Z"]
    );
    assert_eq!(shown(every.next(at("2020-01-01T00:00:00Z")).unwrap()), "2027-01-01T00:07:00Z");
    assert_eq!(every.latest(at("2027-01-01T00:06:59Z")).unwrap(), None);
    assert_eq!(shown(every.latest(at("2027-01-01T00:37:00Z")).unwrap()), "2027-01-01T00:37:00Z");
    assert_eq!(shown(every.latest(at("2027-01-01T00:36:59Z")).unwrap()), "2027-01-01T00:07:00Z");
    assert_eq!(every.describe(), "every 30 minutes");
}

#[test]
fn malformed_rules_are_refused_with_the_reason() {
    for (rule, zone) in [
        ("", "UTC"),
        ("* * * *", "UTC"),
        ("0 0 0 * * *", "UTC"),
        ("61 * * * *", "UTC"),
        ("0 9 * * *", "Mars/Olympus"),
    ] {
        let error = Schedule::cron(rule, zone).unwrap_err();
        assert_eq!(error.code(), Some("GAL-TASK-RULE"), "{rule} {zone}: {error}");
    }
    assert!(Schedule::every(Duration::from_secs(59), Timestamp(0)).is_err());
    let never = Schedule::cron("0 0 30 2 *", "UTC").unwrap();
    assert_eq!(never.next(at("2027-01-01T00:00:00Z")).unwrap(), None);
}

#[test]
fn missed_runs_follow_the_policy() {
    let daily = Schedule::cron("0 9 * * *", "UTC").unwrap();
    let (hour, due) = (Duration::from_secs(3_600), at("2027-01-01T09:00:00Z"));
    let decide = |missed, now: &str| {
        let decided = daily.decide(missed, hour, (due, due), at(now)).unwrap();
        (shown(decided.slot), shown(decided.next))
    };
    let on_time = ("2027-01-01T09:00:00Z".to_owned(), "2027-01-02T09:00:00Z".to_owned());
    for missed in [Missed::Skip, Missed::Once, Missed::All] {
        assert_eq!(decide(missed, "2027-01-01T09:00:30Z"), on_time, "{missed:?}");
    }
    let skipped = (String::new(), "2027-01-02T09:00:00Z".to_owned());
    assert_eq!(decide(Missed::Skip, "2027-01-01T09:30:00Z"), skipped);
    assert_eq!(decide(Missed::Once, "2027-01-01T09:30:00Z"), on_time, "within the hour");
    assert_eq!(decide(Missed::Once, "2027-01-01T10:00:01Z"), skipped, "after the hour");
    let newest = ("2027-01-04T09:00:00Z".to_owned(), "2027-01-05T09:00:00Z".to_owned());
    assert_eq!(decide(Missed::Once, "2027-01-04T09:30:00Z"), newest, "one run for four");
    assert_eq!(decide(Missed::All, "2027-01-04T09:30:00Z"), on_time, "each after the other");
}

#[test]
fn a_failed_run_is_tried_again_for_its_own_time() {
    let daily = Schedule::cron("0 9 * * *", "UTC").unwrap();
    let (slot, due) = (at("2027-01-01T09:00:00Z"), at("2027-01-01T09:04:00Z"));
    let decided = daily
        .decide(Missed::Once, Duration::from_secs(3_600), (slot, due), at("2027-01-01T09:04:05Z"))
        .unwrap();
    assert_eq!(shown(decided.slot), "2027-01-01T09:00:00Z");
    assert_eq!(shown(decided.next), "2027-01-02T09:00:00Z");
}

#[test]
fn a_task_that_runs_once_is_made_up_for_as_long_as_it_allows() {
    let (due, week) = (at("2027-01-01T09:00:00Z"), Duration::from_secs(7 * 86_400));
    let decide = |missed, now: &str| {
        Schedule::Once.decide(missed, week, (due, due), at(now)).unwrap().slot.is_some()
    };
    assert!(decide(Missed::Skip, "2027-01-01T09:00:59Z"));
    assert!(!decide(Missed::Skip, "2027-01-01T09:02:00Z"));
    assert!(decide(Missed::Once, "2027-01-08T09:00:00Z"));
    assert!(!decide(Missed::Once, "2027-01-08T09:00:01Z"));
    assert!(decide(Missed::All, "2028-01-01T09:00:00Z"));
}
