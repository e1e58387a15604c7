//! How a test starts this server, and its story for a failed test.

use axum::Router;
use serde_json::Value;
use std::sync::Arc;

use super::{
    faults::Effect,
    http,
    state::{Call, Options, Shared, State},
};
use crate::loopback::{Record, Scene};

impl Scene for State {
    type Options = Options;
    type Effect = Effect;
    const RULES: &'static str = "the Bot API's rules";

    fn new(options: Options, _base: &str) -> Self {
        Self::new(options)
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
        let quiet = |c: &&Call| {
            c.method == "getUpdates"
                && c.answer.as_ref().is_none_or(|a| a["result"] == serde_json::json!([]))
        };
        let line = |c: &Call| {
            format!(
                "{} {} -> {}",
                c.method,
                Value::Object(c.params.clone()),
                c.answer.as_ref().map_or("no answer".to_owned(), Value::to_string)
            )
        };
        self.calls.iter().filter(|c| !quiet(c)).map(line).collect()
    }
}
