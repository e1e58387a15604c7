//! Runs the measured program as a child process: starts it, waits until it is ready, reads its
//! health server, stops it.

use anyhow::{Context, Result, bail};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    net::{Ipv4Addr, TcpListener},
    path::Path,
    process::Stdio,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child as Process, ChildStderr, Command},
    sync::watch,
    time::timeout,
};

/// Longest wait for a start or a stop. The program itself takes at most 25 s to finish work in
/// flight.
const PATIENCE: Duration = Duration::from_secs(40);
/// Interval of requests to a health server that does not answer yet. It limits the precision of
/// measured starts.
const LOOK: Duration = Duration::from_millis(1);
/// Number of its last output lines that are shown after a failure.
const TAIL: usize = 30;

/// The program to start.
#[derive(Debug, Clone, Copy)]
pub(super) enum Program<'a> {
    /// Galatea, or another build of it.
    Galatea(&'a Path),
    /// Another program, as a shell command. Its environment has the settings under Galatea's names,
    /// such as `TELEGRAM_API_ROOT` and `TELEGRAM_BOT_TOKEN`.
    Other(&'a str),
}

/// Parameters of a start.
pub(super) struct Launch<'a> {
    pub(super) program: Program<'a>,
    /// Working folder. Contains no settings.
    pub(super) home: &'a Path,
    /// Data folder. The program creates it.
    pub(super) data: &'a Path,
    pub(super) characters: &'a [std::path::PathBuf],
    /// Settings. The environment of this process is not inherited.
    pub(super) settings: &'a [(&'static str, String)],
}

impl Launch<'_> {
    /// Sets working folder and environment of a command.
    fn set(&self, command: &mut Command) {
        command.current_dir(self.home).env_clear().env("HOME", self.home);
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.envs(self.settings.iter().map(|(name, value)| (*name, value)));
        command.env("GALATEA_DATA_DIR", self.data).stdin(Stdio::null()).kill_on_drop(true);
    }

    /// The database by `galatea audit --json`. It works beside the running program.
    /// `None` for another program.
    pub(super) async fn audit(&self) -> Result<Option<serde_json::Value>> {
        let Program::Galatea(binary) = self.program else { return Ok(None) };
        let mut command = Command::new(binary);
        command.args(["audit", "--json"]);
        self.set(&mut command);
        let output = timeout(PATIENCE, command.output())
            .await
            .context("`galatea audit` does not end")?
            .context("cannot start `galatea audit`")?;
        let text = String::from_utf8_lossy(&output.stdout);
        serde_json::from_str(&text).map(Some).with_context(|| {
            format!("`galatea audit` says:\n{text}{}", String::from_utf8_lossy(&output.stderr))
        })
    }
}

/// The program's report about its database.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) statements: Option<u64>,
    pub(super) rows: Option<u64>,
}

/// A running program. Killed when dropped.
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
    pub(super) fn start(launch: &Launch<'_>) -> Result<Self> {
        let port = free_port()?;
        let client =
            reqwest::Client::builder().no_proxy().build().context("cannot make an HTTP client")?;
        let mut command = match launch.program {
            Program::Galatea(binary) => {
                let mut command = Command::new(binary);
                command.arg("start");
                for character in launch.characters {
                    command.arg("--character").arg(character);
                }
                command
            }
            Program::Other(line) => {
                let mut command = Command::new("sh");
                // Without `exec` the shell would be measured.
                command.arg("-c").arg(format!("exec {line}"));
                command
            }
        };
        launch.set(&mut command);
        command.env("SERVER_PORT", port.to_string());
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let started = Instant::now();
        let mut process =
            command.spawn().with_context(|| format!("cannot start {:?}", launch.program))?;
        let pid = process.id().context("the program ended at once")?;
        let stderr = process.stderr.take().context("the program's stderr is not piped")?;
        let (ready_sender, ready) = watch::channel(None);
        let tail = Arc::new(Mutex::new(VecDeque::with_capacity(TAIL)));
        tokio::spawn(listen(stderr, ready_sender, Arc::clone(&tail)));
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

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits for the line that reports readiness and for `/readyz` to answer 200. Returns the time
    /// since the start for both.
    pub(super) async fn ready(&self) -> Result<(Duration, Duration)> {
        match timeout(PATIENCE, async { tokio::try_join!(self.line(), self.readyz()) }).await {
            Ok(both) => both,
            Err(_) => bail!(
                "the program was not ready after {} s{}; it said:\n{}",
                PATIENCE.as_secs(),
                self.reason().await,
                self.last_output()
            ),
        }
    }

    async fn line(&self) -> Result<Duration> {
        let mut ready = self.ready.clone();
        match ready.wait_for(Option::is_some).await.map(|at| *at) {
            Ok(Some(at)) => Ok(at.duration_since(self.started)),
            _ => bail!("the program ended before it was ready; it said:\n{}", self.last_output()),
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

    /// The answer of `/readyz`, for the message of a failure.
    async fn reason(&self) -> String {
        let answer =
            async { self.client.get(format!("{}/readyz", self.health)).send().await?.text().await };
        answer.await.map(|text| format!(", /readyz says {text}")).unwrap_or_default()
    }

    /// SQL statements and written rows since the start, if the health server reports them
    /// (`statements` and `rows` in `/readyz`).
    pub(super) async fn database(&self) -> Counts {
        let body = async {
            let answer = self.client.get(format!("{}/readyz", self.health)).send().await.ok()?;
            answer.json::<serde_json::Value>().await.ok()
        };
        let body = body.await.unwrap_or_default();
        Counts { statements: body["statements"].as_u64(), rows: body["rows"].as_u64() }
    }

    /// Its last output lines.
    pub(super) fn last_output(&self) -> String {
        let tail = self.tail.lock();
        tail.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    /// Sends SIGTERM and waits until the program has ended.
    pub(super) async fn stop(mut self) -> Result<()> {
        let pid = Pid::from_raw(i32::try_from(self.pid).context("the process id is out of range")?);
        kill(pid, Signal::SIGTERM).context("cannot stop the program")?;
        match timeout(PATIENCE, self.process.wait()).await {
            Ok(status) => {
                let status = status.context("cannot wait for the program")?;
                if !status.success() {
                    bail!("the program ended with {status}; it said:\n{}", self.last_output());
                }
                Ok(())
            }
            Err(_) => bail!(
                "the program did not stop within {} s; it said:\n{}",
                PATIENCE.as_secs(),
                self.last_output()
            ),
        }
    }
}

/// Reads the output to the end, so that the program never blocks on a full pipe, and records when
/// it reports readiness.
async fn listen(
    stderr: ChildStderr,
    ready_sender: watch::Sender<Option<Instant>>,
    tail: Arc<Mutex<VecDeque<String>>>,
) {
    let mut lines = BufReader::new(stderr).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if ready_sender.borrow().is_none() && line.trim_start().starts_with("ready in ") {
            ready_sender.send_replace(Some(Instant::now()));
        }
        let mut tail = tail.lock();
        if tail.len() == TAIL {
            tail.pop_front();
        }
        tail.push_back(line);
    }
}

/// A free port. If another process takes it before the program does, the program fails and the run
/// ends.
fn free_port() -> Result<u16> {
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("the loopback has no free port")?;
    Ok(listener.local_addr().context("a listener without an address")?.port())
}
