//! A server without agents, and requests to it.

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::Request,
    http::{Method, StatusCode, header},
    response::Response,
};
use galatea_core::{
    Clock, EventBus, ExposeSecret as _, Store, SystemClock,
    redact::Redactor,
    store::{OperatorRole, ProcessRole},
};
use galatea_host::{
    Platforms,
    agents::boot::{BootOptions, Booted, Place, boot_stored},
    characters::personas,
    config::{Configuration, SignInOptions, Sources},
    ops::{Installation, Operator, Ops, live::Live},
    readiness::{Probe, Readiness, Reason},
    storage::data_dir::DataDir,
};
use galatea_server::{App, Version, router};
use galatea_store::Database;
use serde_json::Value;
use std::{path::Path, sync::Arc};
use tower_service::Service as _;

/// A server.
pub(crate) struct Server {
    pub(crate) router: Router,
    pub(crate) ops: Ops,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) events: EventBus,
    pub(crate) live: Arc<Live>,
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
    pub(crate) raw: Option<String>,
}

pub(crate) fn ask(method: &str, path: &str) -> Ask {
    Ask {
        method: method.parse().unwrap(),
        path: path.to_owned(),
        headers: Vec::new(),
        body: None,
        raw: None,
    }
}

impl Ask {
    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) fn token(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    pub(crate) fn raw(mut self, bytes: &str) -> Self {
        self.raw = Some(bytes.to_owned());
        self
    }

    pub(crate) fn body(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }
}

pub(crate) fn probe() -> Probe {
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

/// Agents that run, with the folder that they run in.
pub(crate) struct Running {
    pub(crate) booted: Booted,
    pub(crate) server: Server,
}

impl Running {
    /// The character of `ada.json` in this folder and what operators stored there; its model is the
    /// offline script.
    pub(crate) async fn start(folder: &Path) -> Self {
        let redactor = Redactor::default();
        let sources = Sources::new(folder.to_owned(), None, None);
        let configuration = Configuration::load(&sources, &redactor).unwrap();
        let personas = personas::load(&["ada.json".into()], &configuration, folder).unwrap();
        let data_dir = DataDir::locate(&configuration.settings, folder);
        data_dir.create().unwrap();
        let options = BootOptions {
            settings: &configuration.settings,
            data_dir: &data_dir,
            platforms: Platforms::None,
            role: ProcessRole::All,
            redactor: &redactor,
            version: "0.1.0",
            parser: Path::new("/nonexistent"),
            place: Place::File,
        };
        let booted = boot_stored(options, personas, &configuration, folder).await.unwrap();
        booted.orchestrator.start().unwrap();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let orchestrator = Arc::clone(&booted.orchestrator);
        let ops = Ops::new(Arc::clone(&booted.store), clock, Some(orchestrator))
            .with_installation(Installation::new(&booted, &configuration, folder));
        let server = Server::over(ops, booted.orchestrator.events().clone());
        Self { booted, server }
    }

    /// Ends it, as a restart would.
    pub(crate) async fn stop(self) {
        self.booted.stop(std::time::Duration::from_secs(5)).await;
    }
}

impl Server {
    pub(crate) async fn new() -> Self {
        Self::with(SignInOptions::default()).await
    }

    /// With further ways to sign in.
    pub(crate) async fn with(options: SignInOptions) -> Self {
        let store = Database::in_memory().await.unwrap().store();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let ops = Ops::new(store, clock, None).with_sign_in(options);
        Self::over(ops, EventBus::default())
    }

    fn over(ops: Ops, events: EventBus) -> Self {
        let (store, clock) = (Arc::clone(ops.store()), Arc::clone(ops.clock()));
        let live = Live::start(&store, &clock, &events, true);
        let redactor = Redactor::default();
        redactor.learn("correct-horse-battery");
        let version = Version { version: "0.1.0", commit: Some("abc") };
        let app = App::new(ops.clone(), Arc::clone(&live), probe(), redactor, version);
        app.count_events(&events);
        Self { router: router(app), ops, store, events, live }
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
            None => ask.raw.map_or_else(Body::empty, Body::from),
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
