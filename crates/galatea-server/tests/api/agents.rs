//! A server with agents, whose model a test writes and holds back.

use async_trait::async_trait;
use axum::body::BodyDataStream;
use futures::StreamExt as _;
use galatea_core::{
    AgentId, Character, ModelInfo, Plugin, Result, TextModel,
    model::{ChatRole, OnText, PluginModel, TextAnswer, TextRequest, Tier, Usage},
    redact::Redactor,
};
use galatea_host::{
    Galatea, Platforms,
    ops::{Ops, live::Live},
};
use galatea_server::{App, Version, router};
use serde_json::Value;
use std::{sync::Arc, time::Duration};
use tokio::sync::Semaphore;

use crate::support::{Ask, Server, probe};

/// Longest wait of a test.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Answers `You said X. That is all.`, in pieces, and waits for a permit before the last one. `fail` in what was
/// said makes it fail.
pub(crate) struct Writer {
    info: ModelInfo,
    pub(crate) gate: Semaphore,
}

impl Writer {
    fn new(permits: usize) -> Arc<Self> {
        let info =
            ModelInfo { provider: "test".into(), model: "writer".into(), ..ModelInfo::default() };
        Arc::new(Self { info, gate: Semaphore::new(permits) })
    }

    fn plugin(self: &Arc<Self>) -> Plugin {
        let plugin = Plugin::new("writer", "1.0.0", "Says what it was told");
        [Tier::TextSmall, Tier::TextLarge].into_iter().fold(plugin, |plugin, tier| {
            plugin.model(1, PluginModel::Text(tier, Arc::clone(self) as _))
        })
    }
}

/// The words that a model was asked last, without the author's name.
fn asked(request: &TextRequest) -> String {
    let mut users = request.messages.iter().rev().filter(|m| m.role == ChatRole::User);
    let text = users.next().map(|message| message.text()).unwrap_or_default();
    let line = text.lines().last().unwrap_or_default().trim().to_owned();
    line.rsplit(": ").next().unwrap_or(&line).to_owned()
}

#[async_trait]
impl TextModel for Writer {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn generate(&self, request: &TextRequest, _: &OnText<'_>) -> Result<TextAnswer> {
        let asked = asked(request);
        if asked.contains("fail") {
            return Err(galatea_core::Error::unexpected("the model fails"));
        }
        let pieces = [format!("You said {asked}."), " That".to_owned(), " is all.".to_owned()];
        request.drafts.begin();
        for piece in &pieces[..2] {
            request.drafts.piece(piece);
        }
        self.gate.acquire().await.unwrap().forget();
        let usage = Usage { input: 11, output: 7, ..Usage::default() };
        Ok(TextAnswer { text: pieces.concat(), usage, ..TextAnswer::default() })
    }
}

/// A server with agents.
pub(crate) struct House {
    pub(crate) server: Server,
    pub(crate) galatea: Galatea,
    pub(crate) agents: Vec<AgentId>,
    pub(crate) model: Arc<Writer>,
    pub(crate) app: Arc<App>,
    folder: tempfile::TempDir,
}

impl House {
    /// Agents of these names whose model waits for nothing.
    pub(crate) async fn of(names: &[&str]) -> Self {
        Self::with(names, Semaphore::MAX_PERMITS, &[]).await
    }

    /// Agents whose model waits for this many permits.
    pub(crate) async fn with(names: &[&str], permits: usize, set: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let model = Writer::new(permits);
        let mut builder = Galatea::builder()
            .folder(folder.path())
            .database("sqlite::memory:")
            .platforms(Platforms::All)
            .setting("TERMINAL_ENABLED", "false")
            .plugin(model.plugin());
        for (name, value) in set {
            builder = builder.setting(name, value);
        }
        let galatea = builder.build().await.unwrap();
        let mut agents = Vec::new();
        for name in names {
            let json = format!(r#"{{"name": "{name}", "bio": "A test."}}"#);
            let character = Character::from_json(&json).unwrap();
            agents.push(galatea.add_agent(character).await.unwrap().id());
        }
        let store = galatea.database().store();
        let clock: Arc<dyn galatea_core::Clock> = Arc::new(galatea_core::SystemClock);
        let orchestrator = Arc::clone(galatea.orchestrator());
        let events = orchestrator.events().clone();
        let ops = Ops::new(Arc::clone(&store), Arc::clone(&clock), Some(orchestrator));
        let live = Live::start(&store, &clock, &events, true);
        let version = Version { version: "0.1.0", commit: None };
        let app = App::new(ops.clone(), Arc::clone(&live), probe(), Redactor::default(), version);
        let server = Server { router: router(Arc::clone(&app)), ops, store, events, live };
        Self { server, galatea, agents, model, app, folder }
    }

    pub(crate) async fn end(self) {
        self.model.gate.close();
        self.galatea.shutdown(PATIENCE).await;
        drop(self.folder);
    }

    /// Opens a stream.
    pub(crate) async fn stream(&self, ask: Ask) -> Stream {
        self.stream_with_cookie(ask).await.1
    }

    /// Opens a stream; gives the cookie that comes with it, too.
    pub(crate) async fn stream_with_cookie(&self, ask: Ask) -> (Option<String>, Stream) {
        let response = self.server.raw(ask.header("accept", "text/event-stream")).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let cookie = response.headers().get("set-cookie").map(|value| value.to_str().unwrap());
        let cookie = cookie.map(|text| text.split(';').next().unwrap().to_owned());
        let body = response.into_body().into_data_stream();
        (cookie, Stream { body, text: String::new() })
    }
}

/// Reads events of a stream.
pub(crate) struct Stream {
    body: BodyDataStream,
    text: String,
}

impl Stream {
    /// The next event: its name, and its data. None at the end.
    pub(crate) async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| {
                    let line = event.lines().find_map(|line| line.strip_prefix(name));
                    line.unwrap_or_default().trim().to_owned()
                };
                let (name, data) = (field("event:"), field("data:"));
                self.text = rest.to_owned();
                if data.is_empty() {
                    continue;
                }
                let value = serde_json::from_str(&data).unwrap_or(Value::String(data));
                return Some((name, value));
            }
            let piece = tokio::time::timeout(PATIENCE, self.body.next()).await.expect("in time");
            self.text.push_str(std::str::from_utf8(&piece?.unwrap()).unwrap());
        }
    }

    /// The next event of a name; others are passed over.
    pub(crate) async fn until(&mut self, name: &str) -> Value {
        loop {
            let (found, data) = self.next().await.unwrap_or_else(|| panic!("no {name}"));
            if found == name {
                return data;
            }
        }
    }

    /// All that follows.
    pub(crate) async fn rest(&mut self) -> Vec<(String, Value)> {
        let mut all = Vec::new();
        while let Some(event) = self.next().await {
            all.push(event);
        }
        all
    }
}
