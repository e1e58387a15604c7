//! Captures everything one thread logs, as text.

use parking_lot::Mutex;
use std::{
    fmt::{Debug, Write as _},
    sync::{Arc, atomic},
};

use tracing::{
    Event, Id, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Record},
};

/// Captures the current thread's spans and events at every level while its guard lives.
#[derive(Clone, Default)]
pub struct CapturedLog {
    text: Arc<Mutex<String>>,
    spans: Arc<atomic::AtomicU64>,
}

impl CapturedLog {
    /// Starts capturing; dropping the guard ends it.
    pub fn start() -> (Self, tracing::subscriber::DefaultGuard) {
        let log = Self::default();
        let guard = tracing::subscriber::set_default(log.clone());
        (log, guard)
    }

    /// The captured log: one line per span, record or event, with every field.
    pub fn text(&self) -> String {
        self.text.lock().clone()
    }

    fn line(&self, head: &str, record: impl FnOnce(&mut Line)) {
        let mut line = Line(head.to_owned());
        record(&mut line);
        let mut text = self.text.lock();
        text.push_str(&line.0);
        text.push('\n');
    }
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = write!(self.0, " {}={value:?}", field.name());
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        let _ = write!(self.0, " {}={value}", field.name());
    }
}

impl Subscriber for CapturedLog {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.line(
            &format!("span {}:{}", span.metadata().target(), span.metadata().name()),
            |line| span.record(line),
        );
        Id::from_u64(self.spans.fetch_add(1, atomic::Ordering::Relaxed) + 1)
    }
    fn record(&self, _: &Id, values: &Record<'_>) {
        self.line("record", |line| values.record(line));
    }
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        self.line(
            &format!("{} {}:", event.metadata().level(), event.metadata().target()),
            |line| event.record(line),
        );
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_spans_and_events_are_all_there() {
        let (log, guard) = CapturedLog::start();
        tracing::trace_span!("send", url = "http://secret-1")
            .in_scope(|| tracing::debug!(error = ?Some("secret-2"), "failed: {}", "secret-3"));
        drop(guard);
        tracing::error!("afterwards");
        for secret in ["secret-1", "secret-2", "secret-3"] {
            assert!(log.text().contains(secret), "{}", log.text());
        }
        assert!(!log.text().contains("afterwards"));
    }
}
