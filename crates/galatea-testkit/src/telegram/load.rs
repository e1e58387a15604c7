//! Load: updates over many rooms with timestamps, so that the time from an update to its answer can be measured.

use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    message::Message,
    state::{Shared, State},
};

/// First person id of a load's rooms.
const FIRST_ROOM: i64 = 6_000_000_000;

/// What to offer.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadPlan {
    /// How many updates in all.
    pub updates: usize,
    /// Over how many private chats, in turn.
    pub rooms: usize,
    /// Offered per second; as fast as they are fetched when none.
    pub per_second: Option<f64>,
    /// What each says; `{n}` becomes its number.
    pub text: String,
}

impl LoadPlan {
    /// As fast as possible.
    pub fn new(updates: usize, rooms: usize) -> Self {
        Self { updates, rooms: rooms.max(1), per_second: None, text: "hello {n}".to_owned() }
    }
}

/// One update's way, as instants of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trip {
    /// When it was to be offered; differs from `handed_out` when the client could not keep up.
    pub due: Instant,
    /// When it was first handed out.
    pub handed_out: Option<Instant>,
    /// When a message to its chat arrived.
    pub answered: Option<Instant>,
}

impl Trip {
    /// From due to answered: what a person would have waited.
    pub fn latency(&self) -> Option<Duration> {
        Some(self.answered?.duration_since(self.due))
    }
}

/// A load under way.
#[derive(Debug)]
pub(crate) struct LoadState {
    plan: LoadPlan,
    started: Instant,
    first_update: i64,
    made: usize,
    done: usize,
    trips: Vec<Trip>,
    waiting: HashMap<i64, VecDeque<usize>>,
}

impl LoadState {
    fn due(&self, n: usize) -> Instant {
        let after = self.plan.per_second.map_or(Duration::ZERO, |rate| Duration::from_secs_f64(n as f64 / rate));
        self.started + after
    }

    /// A message to a chat arrived: it answers the oldest waiting update of that chat.
    pub(crate) fn answered(&mut self, chat: i64) {
        if let Some(n) = self.waiting.get_mut(&chat).and_then(VecDeque::pop_front) {
            self.trips[n].answered = Some(Instant::now());
            self.done += 1;
        }
    }

    /// Every update is answered.
    pub(crate) fn is_done(&self) -> bool {
        self.done >= self.plan.updates
    }

    /// The trips so far.
    pub(crate) fn trips(&self) -> &[Trip] {
        &self.trips
    }
}

/// Starts a load: rooms now, updates as they are fetched.
pub(crate) fn start(state: &mut State, plan: LoadPlan) {
    for room in 0..plan.rooms {
        let id = FIRST_ROOM + i64::try_from(room).unwrap_or_default();
        state.world.people.insert(id, super::world::Person { id, first_name: format!("Load {room}"), username: None, is_bot: false });
        state.world.private(id).opened = true;
    }
    let (first_update, trips) = (state.updates.next_id(), Vec::with_capacity(plan.updates));
    state.load = Some(LoadState { plan, started: Instant::now(), first_update, made: 0, done: 0, trips, waiting: HashMap::new() });
}

impl State {
    /// What a poll gets: a load's updates that are due are made first, and stamped as they leave.
    pub(crate) fn hand_out(&mut self, limit: usize) -> Vec<Value> {
        if self.load.is_some() {
            self.make_due(limit);
        }
        let updates = self.updates.take(limit);
        if let Some(load) = &mut self.load {
            let now = Instant::now();
            for update in &updates {
                let number = update["update_id"].as_i64().unwrap_or_default() - load.first_update;
                if let Some(trip) = usize::try_from(number).ok().and_then(|n| load.trips.get_mut(n)) {
                    trip.handed_out.get_or_insert(now);
                }
            }
        }
        updates
    }

    fn make_due(&mut self, limit: usize) {
        let now = Instant::now();
        let date = self.date();
        while self.updates.pending() < limit {
            let Some(load) = self.load.as_mut().filter(|l| l.made < l.plan.updates && l.due(l.made) <= now) else { return };
            let n = load.made;
            load.made += 1;
            let due = if load.plan.per_second.is_some() { load.due(n) } else { now };
            load.trips.push(Trip { due, handed_out: None, answered: None });
            let room = FIRST_ROOM + i64::try_from(n % load.plan.rooms).unwrap_or_default();
            load.waiting.entry(room).or_default().push_back(n);
            let text = load.plan.text.replace("{n}", &n.to_string());
            let id = self.world.next_message(room);
            let mut message = Message::new(id, room, Some(room), date);
            message.words.text = text;
            let body = message.json(&self.world, false);
            self.updates.push("message", body);
        }
    }
}

/// Wakes polls as a paced load's updates come due.
pub(crate) async fn pace(shared: std::sync::Arc<Shared>) {
    let mut tick = tokio::time::interval(Duration::from_millis(1));
    loop {
        tokio::select! {
            () = shared.stop.cancelled() => return,
            _ = tick.tick() => {}
        }
        let (due, over) = {
            let state = shared.lock();
            let Some(load) = &state.load else { return };
            (load.made < load.plan.updates && load.due(load.made) <= Instant::now(), load.made >= load.plan.updates)
        };
        if due {
            shared.bump();
        }
        if over {
            return;
        }
    }
}

/// Latencies at these quantiles (0.5, 0.99, …) of what was answered; empty when nothing was.
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

/// A text for logs.
pub fn summary(trips: &[Trip]) -> Value {
    let q = quantiles(trips, &[0.5, 0.95, 0.99, 1.0]);
    let millis: Vec<f64> = q.iter().map(|d| d.as_secs_f64() * 1000.0).collect();
    json!({ "answered": trips.iter().filter(|t| t.answered.is_some()).count(), "of": trips.len(), "p50_p95_p99_max_ms": millis })
}
