//! A running program: its output line by line, its input, signals, its end.

use parking_lot::Mutex;
use std::{process::ExitStatus, sync::Arc, time::Duration};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWriteExt as _, BufReader},
    process::{Child, ChildStdin},
    sync::watch,
};

/// Limit for one wait; it then fails with the output so far. Only a faulty test or program reaches
/// it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Stream of an output line.
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
    /// Number of lines and ended streams so far.
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
        self.lines.lock().clone()
    }

    fn is_over(&self) -> bool {
        *self.ended.lock() == 2
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
        output.lines.lock().push((stream, line));
        output.changed.send_modify(|n| *n += 1);
    }
    *output.ended.lock() += 1;
    output.changed.send_modify(|n| *n += 1);
}

/// A running program.
#[derive(Debug)]
pub struct Running {
    child: Child,
    pid: Option<u32>,
    stdin: Option<ChildStdin>,
    output: Arc<Output>,
}

/// Result of a program that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Exit code; `None` when a signal ended the program.
    pub code: Option<i32>,
    /// All of standard output.
    pub stdout: String,
    /// All of standard error.
    pub stderr: String,
}

impl Running {
    /// Takes over a child that was just started with piped streams.
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

    /// Process id, kept after the program has ended.
    pub fn pid(&self) -> Option<u32> {
        self.pid
    }

    /// All output so far, both streams in the order of arrival.
    pub fn output(&self) -> String {
        self.output.text(None)
    }

    /// Standard output so far.
    pub fn stdout(&self) -> String {
        self.output.text(Some(Stream::Out))
    }

    /// Standard error so far.
    pub fn stderr(&self) -> String {
        self.output.text(Some(Stream::Err))
    }

    /// Waits for a line that contains `text` on either stream, and returns it.
    ///
    /// # Panics
    /// When the program ends, or a minute passes, without such a line; shows the output.
    pub async fn wait_for_line(&self, text: &str) -> String {
        self.wait_for(text, |line| line.contains(text).then(|| line.to_owned())).await
    }

    /// Waits for a line that contains `text`, or for the end. Returns whether the line came.
    ///
    /// # Panics
    /// When a minute passes without either; shows the output.
    pub async fn line_or_end(&self, text: &str) -> bool {
        self.look_for(text, |line| line.contains(text).then_some(())).await.is_some()
    }

    /// Waits for a line in which `look` finds something, and returns that.
    ///
    /// # Panics
    /// When the program ends, or a minute passes, without such a line; shows the output.
    pub async fn wait_for<T>(&self, what: &str, look: impl Fn(&str) -> Option<T>) -> T {
        self.look_for(what, look).await.unwrap_or_else(|| {
            panic!("the program ended without a line with {what:?}:\n{}", self.output())
        })
    }

    async fn look_for<T>(&self, what: &str, look: impl Fn(&str) -> Option<T>) -> Option<T> {
        let mut changes = self.output.changed.subscribe();
        let waiting = async {
            loop {
                // Checked before the lines are read, so that the last lines are not missed.
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

    /// Writes a line to standard input.
    ///
    /// # Panics
    /// When the program does not read its input.
    pub async fn write_line(&mut self, line: &str) {
        let Some(stdin) = &mut self.stdin else { panic!("standard input is closed") };
        let wrote = async {
            stdin.write_all(line.as_bytes()).await?;
            stdin.write_all(b"\n").await?;
            stdin.flush().await
        };
        wrote.await.unwrap_or_else(|e| panic!("cannot write to standard input: {e}"));
    }

    /// Closes standard input.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Kills the program (SIGKILL), as a crash does, and waits until it has ended.
    pub async fn kill_9(&mut self) {
        let _ = self.child.kill().await;
        self.pid = None;
    }

    /// Kills the program (SIGKILL) without waiting for its end.
    pub fn kill_now(&self) {
        self.signal(Signal::SIGKILL);
    }

    /// Asks the program to stop (SIGTERM).
    pub fn terminate(&self) {
        self.signal(Signal::SIGTERM);
    }

    /// Sends SIGHUP, as a closed terminal does.
    pub fn hang_up(&self) {
        self.signal(Signal::SIGHUP);
    }

    /// Sends SIGINT, as Ctrl-C does.
    pub fn interrupt(&self) {
        self.signal(Signal::SIGINT);
    }

    /// Suspends the program (SIGSTOP).
    pub fn freeze(&self) {
        self.signal(Signal::SIGSTOP);
    }

    /// Resumes the program (SIGCONT).
    pub fn thaw(&self) {
        self.signal(Signal::SIGCONT);
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid.and_then(|p| i32::try_from(p).ok()) {
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }

    /// True if the program is still running.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for the end of the program and of its output.
    ///
    /// # Panics
    /// When it does not end within a minute; shows the output.
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
