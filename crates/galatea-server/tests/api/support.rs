//! A server without agents, and requests to it.

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::Request,
    http::{Method, StatusCode, header},
    response::Response,
};
use galatea_core::{
    Clock, EventBus, ExposeSecret as _, Store, SystemClock, redact::Redactor, store::OperatorRole,
};
use galatea_host::{
    ops::{Operator, Ops, live::Live},
    readiness::{Probe, Readiness, Reason},
};
use galatea_server::{App, Version, router};
use galatea_store::Database;
use serde_json::Value;
use std::sync::Arc;
use tower_service::Service as _;

/// A server.
pub(crate) struct Server {
    pub(crate) router: Router,
    pub(crate) ops: Ops,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) events: EventBus,
}

/// What was answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: axum::http::HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    pub(crate) fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }

    /// The cookie that it sets, as a browser sends it.
    pub(crate) fn cookie(&self) -> String {
        let cookie = self.headers[header::SET_COOKIE].to_str().unwrap();
        cookie.split(';').next().unwrap().to_owned()
    }
}

/// A request that is being made.
pub(crate) struct Ask {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Option<Value>,
}

pub(crate) fn ask(method: &str, path: &str) -> Ask {
    Ask { method: method.parse().unwrap(), path: path.to_owned(), headers: Vec::new(), body: None }
}

impl Ask {
    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) fn token(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    pub(crate) fn body(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }
}

fn probe() -> Probe {
    Arc::new(|| {
        Box::pin(async {
            let message = "no model answers correct-horse-battery".to_owned();
            let reason = Reason { subject: "model".into(), message, ..Reason::default() };
            Readiness {
                ready: false,
                reasons: vec![reason],
                agents: Vec::new(),
                remarks: Vec::new(),
                cluster: None,
                breakers: Vec::new(),
                budgets: Vec::new(),
                version: "0".into(),
                pid: 1,
                uptime: 2,
                statements: 3,
                servers: Vec::new(),
                rows: None,
            }
        })
    })
}

impl Server {
    pub(crate) async fn new() -> Self {
        let store = Database::in_memory().await.unwrap().store();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let events = EventBus::default();
        let ops = Ops::new(Arc::clone(&store), Arc::clone(&clock), None);
        let live = Live::start(&store, &clock, &events, true);
        let redactor = Redactor::default();
        redactor.learn("correct-horse-battery");
        let version = Version { version: "0.1.0", commit: Some("abc") };
        let app = App::new(ops.clone(), live, probe(), redactor, version);
        app.count_events(&events);
        Self { router: router(app), ops, store, events }
    }

    pub(crate) async fn raw(&self, ask: Ask) -> Response {
        let mut request = Request::builder().method(ask.method).uri(ask.path);
        if !ask.headers.iter().any(|(name, _)| *name == "host") {
            request = request.header("host", "localhost:3000");
        }
        for (name, value) in &ask.headers {
            request = request.header(*name, value);
        }
        let body = match ask.body {
            Some(body) => {
                request = request.header("content-type", "application/json");
                Body::from(body.to_string())
            }
            None => Body::empty(),
        };
        self.router.clone().call(request.body(body).unwrap()).await.unwrap()
    }

    pub(crate) async fn answer(&self, ask: Ask) -> Answer {
        let (parts, body) = self.raw(ask).await.into_parts();
        let text = to_bytes(body, 1 << 22).await.unwrap();
        let text = String::from_utf8(text.to_vec()).unwrap();
        Answer { status: parts.status, headers: parts.headers, text }
    }

    /// A token of a role.
    pub(crate) async fn token(&self, role: OperatorRole) -> String {
        let by = Operator::command_line();
        let made = self.ops.make_token(&by, role.as_str(), role, None).await.unwrap();
        made.secret.expose_secret().to_owned()
    }

    pub(crate) async fn link(&self) -> String {
        let made = self.ops.login_link(&Operator::command_line()).await.unwrap();
        made.secret.expose_secret().to_owned()
    }

    /// Signs in with a link, as the login page does.
    pub(crate) async fn sign_in(&self, link: &str) -> Answer {
        let ask = ask("POST", "/api/v1/session").header("origin", "http://localhost:3000");
        self.answer(ask.body(serde_json::json!({ "link": link }))).await
    }
}
