//! Figures for Prometheus. Counters follow the events of the process; gauges are read when they are
//! asked for. No label names a person or a Room, and values that models or platforms choose are bounded.

mod labels;

use galatea_core::{Event, EventBus};
use parking_lot::Mutex;
use prometheus_client::{
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::{Registry, Unit},
};
use std::sync::Arc;
use tokio::{sync::broadcast::error::RecvError, task::JoinHandle};

use self::labels::Known;

/// Names and values of a series.
pub(crate) type Labels = Vec<(&'static str, String)>;
pub(crate) type Counters = Family<Labels, Counter>;
type Histograms = Family<Labels, Histogram, fn() -> Histogram>;

/// Bounds of durations in seconds, from a cached answer to the deadline of a turn (`TURN_TIMEOUT_SECONDS`).
const SECONDS: [f64; 11] = [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0];

fn seconds() -> Histogram {
    Histogram::new(SECONDS)
}

/// What was counted since the process began.
#[derive(Clone)]
pub(crate) struct Metrics {
    received: Counters,
    messages: Counters,
    turn_failures: Counters,
    turns: Histograms,
    sends: Counters,
    model_calls: Counters,
    model_tokens: Counters,
    model_seconds: Histograms,
    actions: Counters,
    evaluators: Counters,
    requests: Counters,
    lost: Counter,
    known: Arc<Known>,
    follower: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            received: Family::default(),
            messages: Family::default(),
            turn_failures: Family::default(),
            turns: Family::new_with_constructor(seconds),
            sends: Family::default(),
            model_calls: Family::default(),
            model_tokens: Family::default(),
            model_seconds: Family::new_with_constructor(seconds),
            actions: Family::default(),
            evaluators: Family::default(),
            requests: Family::default(),
            lost: Counter::default(),
            known: Arc::default(),
            follower: Arc::default(),
        }
    }
}

impl Metrics {
    /// Begins to count the events of a bus, in place of those of an earlier one.
    pub(crate) fn follow(&self, events: &EventBus) {
        let mut events = events.subscribe();
        let counted = Self { follower: Arc::default(), ..self.clone() };
        let task = tokio::spawn(async move {
            loop {
                match events.recv().await {
                    Ok(event) => counted.count(&event),
                    Err(RecvError::Lagged(missed)) => {
                        counted.lost.inc_by(missed);
                    }
                    Err(RecvError::Closed) => return,
                }
            }
        });
        if let Some(before) = self.follower.lock().replace(task) {
            before.abort();
        }
    }

    /// Counts a request by its method and the class of its answer.
    pub(crate) fn count_request(&self, method: &str, status: u16) {
        let class = format!("{}xx", status / 100);
        self.requests
            .get_or_create(&vec![("method", self.known.method(method)), ("status", class)])
            .inc();
    }

    fn count(&self, event: &Event) {
        let agent = |id: &galatea_core::AgentId| ("agent", self.known.agent(&id.to_string()));
        match event {
            Event::MessageReceived { agent: id, .. } => {
                self.received.get_or_create(&vec![agent(id)]).inc();
            }
            Event::TurnDecided { agent: id, decision, .. } => {
                let decision = serde_json::to_value(decision).ok();
                let decision = decision.as_ref().and_then(|d| d.as_str()).unwrap_or("other");
                let labels = vec![agent(id), ("decision", decision.to_owned())];
                self.messages.get_or_create(&labels).inc();
            }
            Event::TurnFailed { agent: id, .. } => {
                self.turn_failures.get_or_create(&vec![agent(id)]).inc();
            }
            Event::TurnFinished { agent: id, millis, .. } => {
                self.turns.get_or_create(&vec![agent(id)]).observe(in_seconds(*millis));
            }
            Event::DeliverySent { .. } => self.count_send("sent"),
            Event::DeliveryRetrying { .. } => self.count_send("retry"),
            Event::DeliveryFailed { .. } => self.count_send("failed"),
            Event::ModelUsed { provider, model, usage, millis, .. } => {
                let provider = ("provider", self.known.provider(provider));
                let model = ("model", self.known.model(model));
                self.model_calls.get_or_create(&vec![provider.clone(), model.clone()]).inc();
                for (kind, tokens) in
                    [("input", usage.input), ("cached", usage.cached), ("output", usage.output)]
                {
                    let labels = vec![provider.clone(), model.clone(), ("kind", kind.to_owned())];
                    self.model_tokens.get_or_create(&labels).inc_by(tokens);
                }
                self.model_seconds.get_or_create(&vec![provider]).observe(in_seconds(*millis));
            }
            Event::ActionCompleted { action, success, .. } => {
                let labels =
                    vec![("action", self.known.action(action)), ("success", success.to_string())];
                self.actions.get_or_create(&labels).inc();
            }
            Event::EvaluatorCompleted { evaluator, success, .. } => {
                let labels = vec![
                    ("evaluator", self.known.action(evaluator)),
                    ("success", success.to_string()),
                ];
                self.evaluators.get_or_create(&labels).inc();
            }
            _ => {}
        }
    }

    /// Adds what was counted to a page.
    pub(crate) fn register(&self, registry: &mut Registry) {
        let Metrics {
            received,
            messages,
            turn_failures,
            turns,
            sends,
            model_calls,
            model_tokens,
            model_seconds,
            actions,
            evaluators,
            requests,
            lost,
            ..
        } = self;
        registry.register("messages_received", "New messages that were stored", received.clone());
        registry.register("messages", "Messages by what was decided about them", messages.clone());
        registry.register("turn_failures", "Turns without an answer", turn_failures.clone());
        registry.register_with_unit(
            "turn_duration",
            "Time from the beginning of a turn to its commit",
            Unit::Seconds,
            turns.clone(),
        );
        registry.register("send_attempts", "Attempts to send a part, by outcome", sends.clone());
        registry.register("model_calls", "Answers of models", model_calls.clone());
        registry.register("model_tokens", "Tokens of these calls, by kind", model_tokens.clone());
        registry.register_with_unit(
            "model_duration",
            "Time of a call with its retries and fallbacks",
            Unit::Seconds,
            model_seconds.clone(),
        );
        registry.register("actions", "Actions that ended", actions.clone());
        registry.register("evaluators", "Evaluators that ended", evaluators.clone());
        registry.register("http_requests", "Requests to this server", requests.clone());
        registry.register(
            "events_lost",
            "Events that came faster than they were counted",
            lost.clone(),
        );
    }

    fn count_send(&self, outcome: &str) {
        self.sends.get_or_create(&vec![("outcome", outcome.to_owned())]).inc();
    }
}

fn in_seconds(millis: u64) -> f64 {
    std::time::Duration::from_millis(millis).as_secs_f64()
}
