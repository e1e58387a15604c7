//! How a test starts this server, and its story for a failed test.

use axum::Router;
use std::sync::Arc;

use super::{
    faults::Effect,
    http,
    limits::Limits,
    media::Uploads,
    oauth1::Nonces,
    oauth2::Grants,
    options::Options,
    state::{Call, Shared, State},
    world::World,
};
use crate::loopback::{Record, Scene};

impl Scene for State {
    type Options = Options;
    type Effect = Effect;
    const RULES: &'static str = "the X API's rules";

    fn new(options: Options, base: &str) -> Self {
        let world = World::new(options.account, &options.name, &options.handle);
        Self {
            options,
            origin: base.to_owned(),
            world,
            limits: Limits::default(),
            nonces: Nonces::default(),
            grants: Grants::default(),
            uploads: Uploads::default(),
            record: Record::default(),
            calls: Vec::new(),
            credits: true,
            enrolled: true,
            suspended: false,
            forgetful: 0,
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
        let empty = |c: &&Call| {
            c.route == "GET /2/users/:id/mentions"
                && c.answer.as_ref().is_some_and(|(_, a)| a["meta"]["result_count"] == 0)
        };
        let line = |c: &Call| {
            let secret = c.route == "POST /2/oauth2/token";
            let answer = c.answer.as_ref().map_or("no answer".to_owned(), |(status, body)| {
                if secret { status.to_string() } else { format!("{status} {body}") }
            });
            format!("{} {} {:?} {} -> {answer}", c.route, c.path, c.query, c.body)
        };
        self.calls.iter().filter(|c| !empty(c)).map(line).collect()
    }
}
