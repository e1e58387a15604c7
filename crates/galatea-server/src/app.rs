//! What every handler has.

use galatea_core::{EventBus, redact::Redactor};
use galatea_host::{
    ops::{Ops, live::Live},
    readiness::Probe,
};
use std::sync::Arc;

use crate::{attempts::Attempts, metrics::Metrics};

/// The state of the server.
pub struct App {
    pub(crate) ops: Ops,
    pub(crate) live: Arc<Live>,
    pub(crate) probe: Probe,
    pub(crate) redactor: Redactor,
    pub(crate) version: Version,
    pub(crate) attempts: Attempts,
    pub(crate) metrics: Metrics,
}

/// Version of the program, for `/version`.
#[derive(Debug, Clone, Copy)]
pub struct Version {
    /// Such as `0.1.0`.
    pub version: &'static str,
    /// The commit that it was built from.
    pub commit: Option<&'static str>,
}

impl App {
    /// `redactor` masks secrets in what the health routes answer.
    pub fn new(
        ops: Ops,
        live: Arc<Live>,
        probe: Probe,
        redactor: Redactor,
        version: Version,
    ) -> Arc<Self> {
        let metrics = Metrics::default();
        if let Some(events) = ops.events() {
            metrics.follow(events);
        }
        Arc::new(Self {
            ops,
            live,
            probe,
            redactor,
            version,
            attempts: Attempts::default(),
            metrics,
        })
    }

    /// Counts the events of this bus for `/metrics`, in place of those of the agents.
    pub fn count_events(&self, events: &EventBus) {
        self.metrics.follow(events);
    }
}
