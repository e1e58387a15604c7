//! The program under measurement as a child process: start, wait until it is ready, ask its health
//! server, stop.

use anyhow::{Context, Result, bail};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{
    collections::VecDeque,
    net::{Ipv4Addr, TcpListener},
    path::Path,
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child as Process, ChildStderr, Command},
    sync::watch,
    time::timeout,
};

/// Longest wait for a start or a stop; the program itself takes at most 25 s to finish what is
/// under way.
const PATIENCE: Duration = Duration::from_secs(40);
/// Between two looks at a health server that does not answer yet. It bounds how exactly a start is
/// timed.
const LOOK: Duration = Duration::from_millis(1);
/// Lines of its talk that are kept for a failure.
const TAIL: usize = 30;

/// What to start.
pub(super) struct Launch<'a> {
    /// The program.
    pub(super) binary: &'a Path,
    /// Working folder, without settings of its own.
    pub(super) home: &'a Path,
    /// Data folder; made by the program.
    pub(super) data: &'a Path,
    /// Character files.
    pub(super) characters: &'a [std::path::PathBuf],
    /// Settings; nothing of this process's own environment is passed on.
    pub(super) settings: &'a [(&'static str, String)],
}

/// A running program; killed when dropped.
pub(super) struct Child {
    process: Process,
    pid: u32,
    started: Instant,
    health: String,
    client: reqwest::Client,
    ready: watch::Receiver<Option<Instant>>,
    tail: Arc<Mutex<VecDeque<String>>>,
}

impl Child {
    /// Starts it.
    pub(super) fn start(launch: &Launch<'_>) -> Result<Self> {
        let port = free_port()?;
        let client =
            reqwest::Client::builder().no_proxy().build().context("cannot make an HTTP client")?;
        let mut command = Command::new(launch.binary);
        command.arg("start").current_dir(launch.home).env_clear().env("HOME", launch.home);
        command.envs(launch.settings.iter().map(|(name, value)| (*name, value)));
        command.env("GALATEA_DATA_DIR", launch.data).env("SERVER_PORT", port.to_string());
        for character in launch.characters {
            command.arg("--character").arg(character);
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let started = Instant::now();
        let mut process =
            command.spawn().with_context(|| format!("cannot start {}", launch.binary.display()))?;
        let pid = process.id().context("the program ended at once")?;
        let stderr = process.stderr.take().context("the program's stderr is not piped")?;
        let (told, ready) = watch::channel(None);
        let tail = Arc::new(Mutex::new(VecDeque::with_capacity(TAIL)));
        tokio::spawn(listen(stderr, told, Arc::clone(&tail)));
        Ok(Self {
            process,
            pid,
            started,
            health: format!("http://127.0.0.1:{port}"),
            client,
            ready,
            tail,
        })
    }

    /// Process id.
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits for the line that says it is ready, and for `/readyz` to answer 200; how long each
    /// took from the start.
    pub(super) async fn ready(&self) -> Result<(Duration, Duration)> {
        match timeout(PATIENCE, async { tokio::try_join!(self.line(), self.readyz()) }).await {
            Ok(both) => both,
            Err(_) => bail!(
                "the program was not ready after {} s{}; it said:\n{}",
                PATIENCE.as_secs(),
                self.reason().await,
                self.said()
            ),
        }
    }

    async fn line(&self) -> Result<Duration> {
        let mut ready = self.ready.clone();
        match ready.wait_for(Option::is_some).await.map(|at| *at) {
            Ok(Some(at)) => Ok(at.duration_since(self.started)),
            _ => bail!("the program ended before it was ready; it said:\n{}", self.said()),
        }
    }

    async fn readyz(&self) -> Result<Duration> {
        let address = format!("{}/readyz", self.health);
        loop {
            if self
                .client
                .get(&address)
                .send()
                .await
                .is_ok_and(|answer| answer.status().is_success())
            {
                return Ok(self.started.elapsed());
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// What `/readyz` says, for a failure.
    async fn reason(&self) -> String {
        let answer =
            async { self.client.get(format!("{}/readyz", self.health)).send().await?.text().await };
        answer.await.map(|text| format!(", /readyz says {text}")).unwrap_or_default()
    }

    /// SQL statements since the start, if the health server tells them (`statements` in `/readyz`).
    pub(super) async fn statements(&self) -> Option<u64> {
        let answer = self.client.get(format!("{}/readyz", self.health)).send().await.ok()?;
        let body: serde_json::Value = answer.json().await.ok()?;
        body["statements"].as_u64()
    }

    /// Its newest lines.
    pub(super) fn said(&self) -> String {
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    /// Asks it to stop and waits until it has.
    pub(super) async fn stop(mut self) -> Result<()> {
        let pid = Pid::from_raw(i32::try_from(self.pid).context("the process id is out of range")?);
        kill(pid, Signal::SIGTERM).context("cannot stop the program")?;
        match timeout(PATIENCE, self.process.wait()).await {
            Ok(status) => {
                let status = status.context("cannot wait for the program")?;
                if !status.success() {
                    bail!("the program ended with {status}; it said:\n{}", self.said());
                }
                Ok(())
            }
            Err(_) => bail!(
                "the program did not stop within {} s; it said:\n{}",
                PATIENCE.as_secs(),
                self.said()
            ),
        }
    }
}

/// Reads its talk to the end, so that it never waits for a full pipe, and notes when it says that
/// it is ready.
async fn listen(
    stderr: ChildStderr,
    told: watch::Sender<Option<Instant>>,
    tail: Arc<Mutex<VecDeque<String>>>,
) {
    let mut lines = BufReader::new(stderr).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if told.borrow().is_none() && line.trim_start().starts_with("ready in ") {
            told.send_replace(Some(Instant::now()));
        }
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        if tail.len() == TAIL {
            tail.pop_front();
        }
        tail.push_back(line);
    }
}

/// A port nobody has now. The program takes it a moment later; if somebody was faster, it says so
/// and the run ends.
fn free_port() -> Result<u16> {
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("the loopback has no free port")?;
    Ok(listener.local_addr().context("a listener without an address")?.port())
}
