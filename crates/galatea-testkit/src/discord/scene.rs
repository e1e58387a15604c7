//! How a test starts this server, and its story for a failed test.

use axum::Router;
use serde_json::Value;
use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};
use tokio::sync::broadcast;

use super::{
    faults::Effect,
    http,
    limits::Limits,
    sessions::Sessions,
    state::{Call, Options, Shared, State},
    world::World,
};
use crate::loopback::{Record, Scene};

impl Scene for State {
    type Options = Options;
    type Effect = Effect;
    const RULES: &'static str = "Discord's rules";

    fn new(options: Options, base: &str) -> Self {
        Self {
            base: base.to_owned(),
            world: World::new(options.bot, &options.name),
            options,
            sessions: Sessions::default(),
            limits: Limits::default(),
            record: Record::default(),
            calls: Vec::new(),
            late: Vec::new(),
            commands: Vec::new(),
            command_writes: 0,
            interactions: HashMap::new(),
            nonces: HashMap::new(),
            load: None,
            typing: Vec::new(),
            whispers: Vec::new(),
            identified: Vec::new(),
            resumed: Vec::new(),
            orders: broadcast::Sender::new(64),
            connections: 0,
            silences: VecDeque::new(),
            member_requests: 0,
        }
    }

    fn router(shared: Arc<Shared>) -> Router {
        http::router(shared)
    }

    fn record(&self) -> &Record<Effect> {
        &self.record
    }

    fn record_mut(&mut self) -> &mut Record<Effect> {
        &mut self.record
    }

    fn story(&self) -> Vec<String> {
        let brief = |value: &Value| value.to_string().chars().take(300).collect::<String>();
        let answer = |c: &Call| {
            c.answer.as_ref().map_or("no answer".to_owned(), |(status, body)| {
                format!("{status} {}", brief(body))
            })
        };
        let calls = self
            .calls
            .iter()
            .map(|c| format!("{} {:?} {} -> {}", c.route, c.channel, brief(&c.body), answer(c)));
        let sessions = self.sessions.all.values();
        calls
            .chain(sessions.map(|s| {
                format!(
                    "session {} at {}, told {}, connection {:?}",
                    s.id, s.sequence, s.acknowledged, s.connection
                )
            }))
            .collect()
    }
}
