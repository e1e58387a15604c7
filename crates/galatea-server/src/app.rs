//! What every handler has.

use galatea_core::redact::Redactor;
use galatea_host::{
    ops::{Ops, chat::Chat, live::Live},
    readiness::Probe,
};
use std::sync::Arc;

use crate::{attempts::Attempts, chat_pages::Embed};

/// The state of the server.
pub struct App {
    pub(crate) ops: Ops,
    pub(crate) live: Arc<Live>,
    pub(crate) chat: Arc<Chat>,
    pub(crate) probe: Probe,
    pub(crate) redactor: Redactor,
    pub(crate) version: Version,
    pub(crate) attempts: Attempts,
    pub(crate) embed: Embed,
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
        let (attempts, embed) = (Attempts::default(), Embed::default());
        Arc::new(Self { ops, live, chat, probe, redactor, version, attempts, embed })
    }

    /// Pages of other servers that may show the chat script (`WEB_ORIGINS`). Called once, before it serves.
    pub fn allow_pages(&self, origins: Vec<String>) {
        self.embed.allow(origins);
    }
}
