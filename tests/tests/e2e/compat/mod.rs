//! elizaOS's API on the running program: every route in a table, and elizaOS's own clients.

mod clients;
mod routes;
mod talks;

use galatea_testkit::process::Running;
use reqwest::{Client, Method, StatusCode};
use serde_json::Value;
use std::time::Duration;

use crate::stage::Stage;

/// elizaOS's key of these tests.
pub(crate) const KEY: &str = "eliza-e2e-canary-key-987654321";
/// Two people, and a channel of the programs.
pub(crate) const ADA: &str = "11111111-1111-4111-8111-111111111111";
pub(crate) const BOB: &str = "22222222-2222-4222-8222-222222222222";
/// The message server that always exists.
pub(crate) const SERVER: &str = "00000000-0000-0000-0000-000000000000";

/// The program with elizaOS's key, and its address.
pub(crate) struct House {
    pub(crate) stage: Stage,
    pub(crate) running: Running,
    pub(crate) url: String,
    client: Client,
}

/// What was answered.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }
}

/// The address that the running process published.
fn address(stage: &Stage) -> String {
    let lock = stage.home.read(".galatea/galatea.lock").unwrap();
    lock.lines().find_map(|line| line.strip_prefix("health ")).unwrap().to_owned()
}

impl House {
    pub(crate) async fn start() -> Self {
        Self::again(Stage::set().await).await
    }

    /// The program on a stage where it ran before.
    pub(crate) async fn again(stage: Stage) -> Self {
        let running = stage.program().env("ELIZA_SERVER_AUTH_TOKEN", KEY).arg("start").spawn();
        running.wait_for_line("ready in").await;
        let url = format!("http://{}", address(&stage));
        let client = Client::builder().no_proxy().timeout(Duration::from_secs(40)).build().unwrap();
        Self { stage, running, url, client }
    }

    pub(crate) async fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        self.ask_as(Some(KEY), method, path, body).await
    }

    pub(crate) async fn ask_as(
        &self,
        key: Option<&str>,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Answer {
        let method: Method = method.parse().unwrap();
        let mut request = self.client.request(method, format!("{}{path}", self.url));
        if let Some(key) = key {
            request = request.header("x-api-key", key);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let answer = request.send().await.unwrap();
        let status = answer.status();
        Answer { status, text: answer.text().await.unwrap() }
    }

    /// The id of the only agent.
    pub(crate) async fn agent(&self) -> String {
        let agents = self.ask("GET", "/api/agents", None).await.json();
        agents["data"]["agents"][0]["id"].as_str().unwrap().to_owned()
    }
}
