//! State of the server, behind one lock that is never held across an await.

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use galatea_core::{Clock, SystemClock, Timestamp};
use serde_json::Value;

use axum::Router;

use super::{
    faults::Effect, http, limits::Limits, media::Uploads, oauth1::Nonces, oauth2::Grants,
    world::World,
};
use crate::loopback::{Record, Scene};

/// Credentials of OAuth 1.0a.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys {
    /// API key.
    pub api_key: String,
    /// API key secret.
    pub api_secret: String,
    /// Access token; begins with the account's id.
    pub token: String,
    /// Access token secret.
    pub token_secret: String,
}

/// Permission of the access token, reported in `x-access-level`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read only.
    Read,
    /// Read and write.
    Write,
}

/// Behaviour of the server. `Options::default()` is strict and records everything.
#[derive(Clone)]
pub struct Options {
    /// The account's id.
    pub account: u64,
    /// The account's name.
    pub name: String,
    /// The account's handle.
    pub handle: String,
    /// Credentials of OAuth 1.0a.
    pub keys: Keys,
    /// Client id of OAuth 2.
    pub client_id: String,
    /// Client secret of OAuth 2; a public client has none.
    pub client_secret: Option<String>,
    /// Redirect URL of OAuth 2.
    pub redirect: String,
    /// Permission of the access token.
    pub access: Access,
    /// True if the account may reply unsummoned, like and quote.
    pub enterprise: bool,
    /// Handles the account may mention besides those in the conversation; any other mention is a
    /// violation.
    pub may_mention: Vec<String>,
    /// Most posts on one page, whatever the request asks for.
    pub page: usize,
    /// Clock of dates, windows and tokens.
    pub clock: Arc<dyn Clock>,
}

impl Default for Options {
    fn default() -> Self {
        let account = 1_700_000_000_000_000_001;
        Self {
            account,
            name: "Galatea".to_owned(),
            handle: "galatea_test".to_owned(),
            keys: Keys {
                api_key: "testkitCanaryApiKey01234".to_owned(),
                api_secret: "testkitCanaryApiSecret0123456789abcdefghijklmnop".to_owned(),
                token: format!("{account}-testkitCanaryToken0123456789abcdef"),
                token_secret: "testkitCanaryTokenSecret0123456789abcdef".to_owned(),
            },
            client_id: "testkitClient".to_owned(),
            client_secret: None,
            redirect: "http://127.0.0.1:8765/callback".to_owned(),
            access: Access::Write,
            enterprise: false,
            may_mention: Vec::new(),
            page: 100,
            clock: Arc::new(SystemClock),
        }
    }
}

/// A recorded call.
#[derive(Debug, Clone)]
pub struct Call {
    /// Time of its arrival, by the server's clock.
    pub at: Timestamp,
    /// Time of its arrival, by the machine's clock.
    pub instant: Instant,
    /// Route as documented: `GET /2/users/:id/mentions`.
    pub route: String,
    /// Path of the request.
    pub path: String,
    /// Query parameters.
    pub query: BTreeMap<String, String>,
    /// JSON body; null for no body or another type.
    pub body: Value,
    /// Status and body of the answer; `None` while it is pending, or when there was none.
    pub answer: Option<(u16, Value)>,
}

/// The server's state.
pub struct State {
    pub(super) options: Options,
    pub(super) origin: String,
    pub(super) world: World,
    pub(super) limits: Limits,
    pub(super) nonces: Nonces,
    pub(super) grants: Grants,
    pub(super) uploads: Uploads,
    pub(super) record: Record<Effect>,
    pub(super) calls: Vec<Call>,
    pub(super) credits: bool,
    pub(super) enrolled: bool,
    /// True if every post of the account is refused.
    pub(super) suspended: bool,
    /// Number of further timeline requests that ignore `since_id`.
    pub(super) forgetful: usize,
}

impl State {
    /// The time by the server's clock.
    pub(super) fn now(&self) -> Timestamp {
        self.options.clock.now()
    }

    /// That time in Unix seconds.
    pub(super) fn seconds(&self) -> i64 {
        self.now().0.div_euclid(1000)
    }

    /// Records a violation and the call that caused it.
    pub(super) fn violate(&mut self, route: &str, what: &str) {
        self.record.violate(route, what);
    }
}

/// The state and a notification of its changes.
pub(crate) type Shared = crate::loopback::Shared<State>;

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
