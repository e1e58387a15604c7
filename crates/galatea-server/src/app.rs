//! What every handler has.

use galatea_core::{ExposeSecret as _, SecretString, redact::Redactor, store::SecretDigest};
use galatea_host::{
    ops::{Ops, chat::Chat, digest, live::Live},
    readiness::Probe,
};
use std::{
    sync::{Arc, OnceLock},
    time::Instant,
};

use crate::{attempts::Attempts, embed::Embed, socket::Told};

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
    /// Digest of elizaOS's one key, where it is set.
    pub(crate) key: OnceLock<SecretDigest>,
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
        Arc::new(Self {
            ops,
            live,
            chat,
            probe,
            redactor,
            version,
            attempts: Attempts::default(),
            told: Arc::default(),
            started: Instant::now(),
            key: OnceLock::new(),
            embed: Embed::default(),
        })
    }

    /// Accepts elizaOS's one key (`ELIZA_SERVER_AUTH_TOKEN`) as a token of role operator. Called before the
    /// server begins to serve.
    pub fn accept_key(&self, key: &SecretString) {
        let _ = self.key.set(digest(key.expose_secret()));
    }

    /// Pages of other servers that may show the chat script (`WEB_ORIGINS`). Called once, before it serves.
    pub fn allow_pages(&self, origins: Vec<String>) {
        self.embed.allow(origins);
    }
}
