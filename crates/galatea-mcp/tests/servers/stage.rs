//! A data folder, and servers in it.

use galatea_core::SystemClock;
use galatea_http::{HttpClient, HttpOptions};
use galatea_mcp::{
    Outcome, Phase, Server, Surroundings,
    config::{self, ServerConfig},
    places::Places,
    probe,
};
use serde_json::{Value, json};
use std::{path::Path, sync::Arc, time::Duration};
use tempfile::TempDir;

pub(crate) const FIXTURE: &str = env!("CARGO_BIN_EXE_galatea-mcp-fixture");
/// Far longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Stage {
    pub(crate) folder: TempDir,
    pub(crate) around: Surroundings,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let around = Surroundings {
            keeper: FIXTURE.into(),
            places: Places::new(folder.path()),
            http: HttpClient::new(HttpOptions::default()).unwrap(),
            clock: Arc::new(SystemClock),
        };
        Self { folder, around }
    }

    /// The entry of a server.
    pub(crate) fn entry(&self, value: &Value) -> ServerConfig {
        let value = json!({ "mcpServers": { "fixture": value } });
        let mut read = config::read(&value, "mcp.json: ", self.folder.path(), &|_| None);
        assert!(read.faults.iter().all(|fault| fault.mild), "{:?}", read.faults);
        read.servers.remove(0)
    }

    /// The SDK's server with these arguments.
    pub(crate) fn fixture(&self, arguments: &[&str]) -> ServerConfig {
        self.entry(&json!({ "command": FIXTURE, "args": arguments, "timeout": 2 }))
    }

    /// Approves a server as it is, and starts it.
    pub(crate) async fn start(&self, config: &ServerConfig) -> Arc<Server> {
        let probed = probe(config, &self.around).await.unwrap();
        probed.approve(config, &self.around.places, None).unwrap();
        let server = Server::start(config.clone(), self.around.clone());
        until(|| server.is_ready()).await;
        server
    }
}

/// Waits until something holds.
pub(crate) async fn until(holds: impl Fn() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("it did not happen");
}

pub(crate) async fn call(server: &Server, tool: &str, arguments: Value) -> Outcome {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    server.try_tool(tool, arguments).await
}

/// Names of the tools that are offered.
pub(crate) fn offered(server: &Server) -> Vec<String> {
    server.offer().approved().map(|tool| tool.name.clone()).collect()
}

pub(crate) async fn ready_again(server: &Server) {
    until(|| server.view().phase == Phase::Ready).await;
}

/// Processes whose command line has this text, by `/proc`, without this one.
pub(crate) fn processes(text: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        let has = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(text);
        if pid != std::process::id() && (has(&line) || has(&environment)) {
            found.push(pid);
        }
    }
    found
}

/// Resident memory of this process, in KiB.
pub(crate) fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|size| size.trim().strip_suffix(" kB")?.trim().parse().ok()).unwrap_or(0)
}

pub(crate) fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .any(|folder: std::path::PathBuf| Path::new(&folder).join(program).is_file())
}
