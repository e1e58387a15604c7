//! Load on a loopback platform: questions in many rooms, with timestamps, to measure the time from
//! a question to its answer.

mod talk;

pub use talk::sentence;

use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// Parts of a load.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadPlan {
    /// Number of questions in all.
    pub updates: usize,
    /// Number of private chats; the questions go to them in turn.
    pub rooms: usize,
    /// Questions per second; `None` offers them as fast as the client takes them.
    pub per_second: Option<f64>,
    /// Text of each question; `{n}` becomes its number, `{sentence}` the [`sentence`] of that
    /// number. An answer that contains `#` and a number answers that question.
    pub text: String,
}

impl LoadPlan {
    /// A load that is offered as fast as the client takes it.
    pub fn new(updates: usize, rooms: usize) -> Self {
        Self { updates, rooms: rooms.max(1), per_second: None, text: "hello #{n}".to_owned() }
    }
}

/// A question's way to its answer, as instants of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trip {
    /// Time at which it was due; earlier than `handed_out` when the client could not keep up.
    pub due: Instant,
    /// Time at which the server first delivered it.
    pub handed_out: Option<Instant>,
    /// Time at which the client confirmed it, on platforms with a confirmation.
    pub confirmed: Option<Instant>,
    /// Time at which a message to its chat arrived.
    pub answered: Option<Instant>,
}

impl Trip {
    /// Time from due to answered: what a person would have waited.
    pub fn latency(&self) -> Option<Duration> {
        Some(self.answered?.duration_since(self.due))
    }
}

/// A question that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Question {
    /// Number of the question in the load, from 0.
    pub(crate) number: usize,
    /// Number of its room, from 0.
    pub(crate) room: usize,
    pub(crate) text: String,
}

/// A load that is running.
#[derive(Debug)]
pub(crate) struct Load {
    plan: LoadPlan,
    started: Instant,
    done: usize,
    trips: Vec<Trip>,
    waiting: HashMap<usize, VecDeque<usize>>,
    /// Answers that came before the answer to an earlier question of their room, or that answer no
    /// open question.
    misplaced: usize,
}

impl Load {
    /// Starts the load now.
    pub(crate) fn new(plan: LoadPlan) -> Self {
        let trips = Vec::with_capacity(plan.updates);
        Self {
            plan,
            started: Instant::now(),
            done: 0,
            trips,
            waiting: HashMap::new(),
            misplaced: 0,
        }
    }

    /// Time at which the next question is due; `None` after the last one.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        let n = self.trips.len();
        let after = || {
            self.plan
                .per_second
                .map_or(Duration::ZERO, |rate| Duration::from_secs_f64(n as f64 / rate))
        };
        (n < self.plan.updates).then(|| self.started + after())
    }

    /// Takes the next question, if it is due.
    pub(crate) fn ask(&mut self, now: Instant) -> Option<Question> {
        let due = self.next_due().filter(|due| *due <= now)?;
        let number = self.trips.len();
        let due = if self.plan.per_second.is_some() { due } else { now };
        self.trips.push(Trip { due, handed_out: None, confirmed: None, answered: None });
        let room = number % self.plan.rooms;
        self.waiting.entry(room).or_default().push_back(number);
        let text = self.plan.text.replace("{n}", &number.to_string());
        let text = text.replace("{sentence}", &sentence(number as u64));
        Some(Question { number, room, text })
    }

    /// Asks nothing further; what was asked may still be answered.
    pub(crate) fn stop_asking(&mut self) {
        self.plan.updates = self.trips.len();
    }

    /// Records that a question was delivered.
    pub(crate) fn handed_out(&mut self, number: usize, now: Instant) {
        if let Some(trip) = self.trips.get_mut(number) {
            trip.handed_out.get_or_insert(now);
        }
    }

    /// Records that the client confirmed every question below this number.
    pub(crate) fn confirmed(&mut self, below: usize, now: Instant) {
        let below = below.min(self.trips.len());
        for trip in self.trips[..below].iter_mut().rev().take_while(|trip| trip.confirmed.is_none())
        {
            trip.confirmed = Some(now);
        }
    }

    /// Records a message to a room. It answers the room's oldest open question, or the one it
    /// names, which is then out of order.
    pub(crate) fn answered(&mut self, room: usize, text: &str) {
        let waiting = self.waiting.entry(room).or_default();
        let named = text
            .split_once('#')
            .map(|(_, rest)| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
        let place = match named.and_then(|number| number.parse::<usize>().ok()) {
            Some(number) => waiting.iter().position(|waits| *waits == number),
            None => Some(0),
        };
        self.misplaced += usize::from(place != Some(0));
        if let Some(n) = place.and_then(|place| waiting.remove(place)) {
            self.trips[n].answered = Some(Instant::now());
            self.done += 1;
        }
    }

    /// Number of answers that were out of order, repeated or unasked.
    pub(crate) fn misplaced(&self) -> usize {
        self.misplaced
    }

    /// True if every question is answered.
    pub(crate) fn is_done(&self) -> bool {
        self.done >= self.plan.updates
    }

    pub(crate) fn trips(&self) -> &[Trip] {
        &self.trips
    }
}

/// Latencies of the answered questions at these quantiles (0.5, 0.99, …); empty when none was
/// answered.
pub fn quantiles(trips: &[Trip], at: &[f64]) -> Vec<Duration> {
    let mut all: Vec<_> = trips.iter().filter_map(Trip::latency).collect();
    all.sort_unstable();
    if all.is_empty() {
        return Vec::new();
    }
    let pick = |q: f64| {
        let rank = (q.clamp(0.0, 1.0) * (all.len() - 1) as f64).round() as usize;
        all[rank]
    };
    at.iter().map(|q| pick(*q)).collect()
}

/// Key figures of the trips, for logs.
pub fn summary(trips: &[Trip]) -> Value {
    let q = quantiles(trips, &[0.5, 0.95, 0.99, 1.0]);
    let millis: Vec<f64> = q.iter().map(|d| d.as_secs_f64() * 1000.0).collect();
    json!({ "answered": trips.iter().filter(|t| t.answered.is_some()).count(), "of": trips.len(), "p50_p95_p99_max_ms": millis })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_that_stops_asking_is_done_when_what_was_asked_is_answered() {
        let mut load = Load::new(LoadPlan::new(5, 1));
        for _ in 0..2 {
            assert!(load.ask(Instant::now()).is_some());
        }
        load.stop_asking();
        assert!(load.ask(Instant::now()).is_none() && !load.is_done());
        load.answered(0, "you said #0");
        load.answered(0, "you said #1");
        assert_eq!((load.misplaced(), load.is_done()), (0, true));
    }

    #[test]
    fn answers_out_of_turn_and_twice_are_counted() {
        let mut load = Load::new(LoadPlan::new(3, 1));
        while load.ask(Instant::now()).is_some() {}
        load.answered(0, "you said #0");
        load.answered(0, "you said #2");
        assert_eq!((load.misplaced(), load.is_done()), (1, false));
        load.answered(0, "you said #2");
        load.answered(0, "you said #1");
        assert_eq!((load.misplaced(), load.is_done()), (2, true));
        load.confirmed(2, Instant::now());
        assert_eq!(
            load.trips().iter().map(|trip| trip.confirmed.is_some()).collect::<Vec<_>>(),
            [true, true, false]
        );
    }
}
