//! A program under way: its output line by line, its input, signals, its end.

use std::{
    process::ExitStatus,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWriteExt as _, BufReader},
    process::{Child, ChildStdin},
    sync::watch,
};

/// After this long a wait fails with the output so far: only a test or program that is wrong takes
/// so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Which stream a line came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

#[derive(Debug)]
struct Output {
    lines: Mutex<Vec<(Stream, String)>>,
    /// Counts lines and ended streams.
    changed: watch::Sender<usize>,
    ended: Mutex<usize>,
}

impl Default for Output {
    fn default() -> Self {
        Self { lines: Mutex::default(), changed: watch::Sender::new(0), ended: Mutex::default() }
    }
}

impl Output {
    fn all(&self) -> Vec<(Stream, String)> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn is_over(&self) -> bool {
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) == 2
    }

    fn text(&self, wanted: Option<Stream>) -> String {
        let lines = self.all();
        lines
            .iter()
            .filter(|(s, _)| wanted.is_none_or(|w| w == *s))
            .map(|(_, l)| format!("{l}\n"))
            .collect()
    }
}

async fn collect(output: Arc<Output>, stream: Stream, from: impl AsyncRead + Unpin) {
    let mut reader = BufReader::new(from);
    let mut bytes = Vec::new();
    while matches!(reader.read_until(b'\n', &mut bytes).await, Ok(n) if n > 0) {
        let line = String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']).to_owned();
        bytes.clear();
        output.lines.lock().unwrap_or_else(PoisonError::into_inner).push((stream, line));
        output.changed.send_modify(|n| *n += 1);
    }
    *output.ended.lock().unwrap_or_else(PoisonError::into_inner) += 1;
    output.changed.send_modify(|n| *n += 1);
}

/// A program under way.
#[derive(Debug)]
pub struct Running {
    child: Child,
    pid: Option<u32>,
    stdin: Option<ChildStdin>,
    output: Arc<Output>,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// Everything on standard output.
    pub stdout: String,
    /// Everything on standard error.
    pub stderr: String,
}

impl Running {
    /// A child just started, its streams piped.
    pub(super) fn of(mut child: Child) -> Self {
        let output = Arc::new(Output::default());
        if let Some(stdout) = child.stdout.take() {
            tokio::spawn(collect(output.clone(), Stream::Out, stdout));
        }
        if let Some(stderr) = child.stderr.take() {
            tokio::spawn(collect(output.clone(), Stream::Err, stderr));
        }
        Self { stdin: child.stdin.take(), pid: child.id(), child, output }
    }

    /// Its process id.
    pub fn pid(&self) -> Option<u32> {
        self.pid
    }

    /// Everything it wrote so far, both streams as they came.
    pub fn output(&self) -> String {
        self.output.text(None)
    }

    /// Its standard output so far.
    pub fn stdout(&self) -> String {
        self.output.text(Some(Stream::Out))
    }

    /// Its standard error so far.
    pub fn stderr(&self) -> String {
        self.output.text(Some(Stream::Err))
    }

    /// Waits for a line with this text, on either stream, and returns it.
    ///
    /// # Panics
    /// When the program ends or a minute passes without it; with the output.
    pub async fn wait_for_line(&self, text: &str) -> String {
        self.wait_for(text, |line| line.contains(text).then(|| line.to_owned())).await
    }

    /// Waits for a line with this text, or for the end: whether the line came.
    ///
    /// # Panics
    /// When a minute passes without either; with the output.
    pub async fn line_or_end(&self, text: &str) -> bool {
        self.look_for(text, |line| line.contains(text).then_some(())).await.is_some()
    }

    /// Waits for a line in which `look` finds something.
    ///
    /// # Panics
    /// When the program ends or a minute passes without one; with the output.
    pub async fn wait_for<T>(&self, what: &str, look: impl Fn(&str) -> Option<T>) -> T {
        self.look_for(what, look).await.unwrap_or_else(|| {
            panic!("the program ended without a line with {what:?}:\n{}", self.output())
        })
    }

    async fn look_for<T>(&self, what: &str, look: impl Fn(&str) -> Option<T>) -> Option<T> {
        let mut changes = self.output.changed.subscribe();
        let waiting = async {
            loop {
                // Asked before the lines are read, so that the last ones are not missed.
                let over = self.output.is_over();
                if let Some(found) = self.output.all().iter().find_map(|(_, l)| look(l)) {
                    return Some(found);
                }
                if over || changes.changed().await.is_err() {
                    return None;
                }
            }
        };
        match tokio::time::timeout(PATIENCE, waiting).await {
            Ok(found) => found,
            Err(_) => panic!("waited {PATIENCE:?} for a line with {what:?}:\n{}", self.output()),
        }
    }

    /// Writes a line to its standard input.
    ///
    /// # Panics
    /// When it does not listen.
    pub async fn write_line(&mut self, line: &str) {
        let Some(stdin) = &mut self.stdin else { panic!("standard input is closed") };
        let wrote = async {
            stdin.write_all(line.as_bytes()).await?;
            stdin.write_all(b"\n").await?;
            stdin.flush().await
        };
        wrote.await.unwrap_or_else(|e| panic!("cannot write to standard input: {e}"));
    }

    /// Closes its standard input.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Ends it at once, as a crash does (SIGKILL), and waits until it is gone.
    pub async fn kill_9(&mut self) {
        let _ = self.child.kill().await;
        self.pid = None;
    }

    /// `kill -9`, without waiting for its end.
    pub fn kill_now(&self) {
        self.signal(Signal::SIGKILL);
    }

    /// Asks it to stop (SIGTERM).
    pub fn terminate(&self) {
        self.signal(Signal::SIGTERM);
    }

    /// Closes its terminal (SIGHUP).
    pub fn hang_up(&self) {
        self.signal(Signal::SIGHUP);
    }

    /// Presses Ctrl-C (SIGINT).
    pub fn interrupt(&self) {
        self.signal(Signal::SIGINT);
    }

    /// Freezes it (SIGSTOP).
    pub fn freeze(&self) {
        self.signal(Signal::SIGSTOP);
    }

    /// Lets it go on (SIGCONT).
    pub fn thaw(&self) {
        self.signal(Signal::SIGCONT);
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid.and_then(|p| i32::try_from(p).ok()) {
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for its end and its last output.
    ///
    /// # Panics
    /// When it does not end within a minute; with the output.
    pub async fn finish(&mut self) -> Finished {
        let mut changes = self.output.changed.subscribe();
        let ending = async {
            let status = self.child.wait().await.ok();
            while !self.output.is_over() && changes.changed().await.is_ok() {}
            status.as_ref().and_then(ExitStatus::code)
        };
        match tokio::time::timeout(PATIENCE, ending).await {
            Ok(code) => {
                self.pid = None;
                Finished { code, stdout: self.stdout(), stderr: self.stderr() }
            }
            Err(_) => panic!("the program did not end within {PATIENCE:?}:\n{}", self.output()),
        }
    }
}
