//! Copies each line of the log into memory, masked, for `galatea logs` and the console.

use galatea_core::{Clock as _, SystemClock, redact::Redactor};
use galatea_host::ops::logs::{LogLevel, LogLine, LogRing};
use std::{
    fmt::{Debug, Write as _},
    sync::Arc,
};
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{Layer, layer::Context};

/// Copies lines into a ring.
pub(crate) struct RingLayer {
    ring: Arc<LogRing>,
    redactor: Redactor,
}

impl RingLayer {
    pub(crate) fn new(ring: Arc<LogRing>, redactor: Redactor) -> Self {
        Self { ring, redactor }
    }
}

impl<S: Subscriber> Layer<S> for RingLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        let mut fields = Fields::default();
        event.record(&mut fields);
        let Fields { message, rest, turn } = fields;
        let text = format!("{message}{rest}");
        self.ring.push(LogLine {
            seq: 0,
            at: SystemClock.now(),
            level: level(*metadata.level()),
            target: metadata.target().to_owned(),
            text: self.redactor.clean_error(&text).into_owned(),
            turn,
        });
    }
}

fn level(level: Level) -> LogLevel {
    match level {
        Level::ERROR => LogLevel::Error,
        Level::WARN => LogLevel::Warn,
        Level::INFO => LogLevel::Info,
        Level::DEBUG => LogLevel::Debug,
        Level::TRACE => LogLevel::Trace,
    }
}

/// The fields of an event as text.
#[derive(Default)]
struct Fields {
    message: String,
    rest: String,
    turn: Option<String>,
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field.name(), value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.add(field.name(), &format!("{value:?}"));
    }
}

impl Fields {
    fn add(&mut self, name: &str, value: &str) {
        match name {
            "message" => self.message.push_str(value),
            // Lines that libraries wrote through `log`.
            name if name.starts_with("log.") => {}
            _ => {
                if name == "turn" {
                    self.turn = Some(value.to_owned());
                }
                let _ = write!(self.rest, " {name}={value}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing_subscriber::layer::SubscriberExt as _;

    #[test]
    fn a_line_is_copied_with_its_turn_and_without_secrets() {
        let (ring, redactor) = (Arc::new(LogRing::default()), Redactor::default());
        redactor.learn("correct-horse-battery");
        let layer = RingLayer::new(Arc::clone(&ring), redactor);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            tracing::warn!(turn = %"018f", key = "correct-horse-battery", n = 3, "it failed");
        });
        let lines = ring.read(None, LogLevel::Trace, 10);
        assert_eq!(lines.len(), 1);
        let line = &lines[0];
        assert_eq!((line.level, line.turn.as_deref()), (LogLevel::Warn, Some("018f")));
        assert!(line.text.starts_with("it failed") && line.text.contains("n=3"), "{}", line.text);
        assert!(!line.text.contains("correct-horse"), "{}", line.text);
    }
}
