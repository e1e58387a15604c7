//! What every handler has.

use galatea_core::{EventBus, redact::Redactor};
use galatea_host::{
    ops::{Ops, chat::Chat, live::Live},
    readiness::Probe,
};
use std::{sync::Arc, time::Instant};

use crate::{
    attempts::Attempts, chat_pages::Embed, jwt::Jwt, metrics::Metrics, oidc::Oidc, told::Told,
};

/// The state of the server.
pub struct App {
    pub(crate) ops: Ops,
    pub(crate) live: Arc<Live>,
    pub(crate) chat: Arc<Chat>,
    pub(crate) probe: Probe,
    pub(crate) redactor: Redactor,
    pub(crate) version: Version,
    pub(crate) attempts: Attempts,
    pub(crate) told: Arc<Told>,
    pub(crate) started: Instant,
    pub(crate) embed: Embed,
    pub(crate) jwt: Jwt,
    pub(crate) oidc: Option<Arc<Oidc>>,
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
        let chat = Chat::start(&ops, &live);
        let metrics = Metrics::default();
        if let Some(events) = ops.events() {
            metrics.follow(events);
        }
        let options = ops.sign_in_options();
        let key = ops.signing_key();
        let jwt = Jwt::new(options.foreign.as_ref(), key);
        let oidc = options.oidc.clone().zip(options.public.as_ref());
        let oidc =
            oidc.and_then(|(provider, public)| Oidc::new(provider, &public.origin, key).ok());
        Arc::new(Self {
            jwt,
            oidc: oidc.map(Arc::new),
            ops,
            live,
            chat,
            probe,
            redactor,
            version,
            attempts: Attempts::default(),
            told: Arc::default(),
            started: Instant::now(),
            embed: Embed::default(),
            metrics,
        })
    }

    /// Counts the events of this bus for `/metrics`, in place of those of the agents.
    pub fn count_events(&self, events: &EventBus) {
        self.metrics.follow(events);
    }

    /// Pages of other servers that may show the chat script (`WEB_ORIGINS`). Called once, before it serves.
    pub fn allow_pages(&self, origins: Vec<String>) {
        self.embed.allow(origins);
    }

    /// Browsers reach it by https, so cookies are Secure.
    pub(crate) fn is_https(&self) -> bool {
        self.ops.sign_in_options().public.as_ref().is_some_and(|public| public.https)
    }
}
