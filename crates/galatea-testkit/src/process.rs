//! Running a program as a child in end-to-end tests: its own home, its output line by line, signals, and no inheritance of the
//! developer's environment.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWriteExt as _, BufReader},
    process::{Child, ChildStdin, Command},
    sync::watch,
};

/// After this long a wait fails with the output so far: only a test or program that is wrong takes so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// A temporary folder for one program: working folder and `HOME`. Removed when dropped.
#[derive(Debug)]
pub struct Home(tempfile::TempDir);

impl Home {
    /// A new, empty one.
    ///
    /// # Panics
    /// When the machine has no room for temporary files.
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap_or_else(|e| panic!("no temporary folder: {e}")))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file in it, folders on the way included, and returns its path.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        let made = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(&path, text));
        made.unwrap_or_else(|e| panic!("cannot write {}: {e}", path.display()));
        path
    }

    /// Reads a file in it; none when there is none.
    pub fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.path().join(name)).ok()
    }
}

impl Default for Home {
    fn default() -> Self {
        Self::new()
    }
}

/// A port of the loopback that was free a moment ago.
///
/// # Panics
/// When there is none.
pub fn free_port() -> u16 {
    let bound = std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr());
    bound.unwrap_or_else(|e| panic!("no free port: {e}")).port()
}

/// A program to run.
#[derive(Debug, Clone)]
pub struct Program {
    path: PathBuf,
    args: Vec<OsString>,
    env: BTreeMap<OsString, OsString>,
    dir: PathBuf,
}

impl Program {
    /// A program at a path, with a home as working folder and `HOME`. Of the environment only `PATH` is passed on.
    pub fn new(path: impl Into<PathBuf>, home: &Home) -> Self {
        let mut env = BTreeMap::from([("HOME".into(), home.path().into())]);
        if let Some(path) = std::env::var_os("PATH") {
            env.insert("PATH".into(), path);
        }
        Self { path: path.into(), args: Vec::new(), env, dir: home.path().to_owned() }
    }

    /// With one more argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// With more arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// With an environment variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Without an environment variable.
    #[must_use]
    pub fn without_env(mut self, name: impl Into<OsString>) -> Self {
        self.env.remove(&name.into());
        self
    }

    /// Starts it. It is killed when the [`Running`] is dropped.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn spawn(&self) -> Running {
        let mut command = Command::new(&self.path);
        command.args(&self.args).env_clear().envs(&self.env).current_dir(&self.dir).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|e| panic!("cannot start {}: {e}", self.path.display()));
        let output = Arc::new(Output::default());
        if let Some(stdout) = child.stdout.take() {
            tokio::spawn(collect(output.clone(), Stream::Out, stdout));
        }
        if let Some(stderr) = child.stderr.take() {
            tokio::spawn(collect(output.clone(), Stream::Err, stderr));
        }
        Running { stdin: child.stdin.take(), pid: child.id(), child, output }
    }

    /// Runs it to its end and returns how it ended.
    ///
    /// # Panics
    /// When it cannot be started or does not end.
    pub async fn run(&self) -> Finished {
        let mut running = self.spawn();
        running.close_stdin();
        running.finish().await
    }
}

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
        lines.iter().filter(|(s, _)| wanted.is_none_or(|w| w == *s)).map(|(_, l)| format!("{l}\n")).collect()
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
        self.look_for(what, look).await.unwrap_or_else(|| panic!("the program ended without a line with {what:?}:\n{}", self.output()))
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

    /// Asks it to stop (SIGTERM).
    pub fn terminate(&self) {
        self.signal(Signal::SIGTERM);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(home: &Home, script: &str) -> Program {
        Program::new("/bin/sh", home).arg("-c").arg(script)
    }

    #[tokio::test]
    async fn output_environment_and_code_come_back() {
        let home = Home::new();
        home.write("sub/hello.txt", "hi");
        let program = shell(&home, "cat sub/hello.txt; echo; echo $NAME >&2; echo ${CARGO:-none}; exit 3").env("NAME", "Ann");
        let finished = program.run().await;
        assert_eq!(finished, Finished { code: Some(3), stdout: "hi\nnone\n".into(), stderr: "Ann\n".into() });
    }

    #[tokio::test]
    async fn lines_are_awaited_and_input_is_heard() {
        let home = Home::new();
        let mut running = shell(&home, "echo ready; read x; echo got $x").spawn();
        running.wait_for_line("ready").await;
        running.write_line("42").await;
        assert_eq!(running.wait_for_line("got").await, "got 42");
        assert_eq!(running.finish().await.code, Some(0));
    }

    #[tokio::test]
    async fn signals_reach_it() {
        let home = Home::new();
        let mut polite = shell(&home, "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done").spawn();
        polite.wait_for_line("ready").await;
        polite.terminate();
        let finished = polite.finish().await;
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "ready\nbye\n"));
        let mut killed = shell(&home, "trap '' TERM; echo ready; while :; do sleep 0.05; done").spawn();
        killed.wait_for_line("ready").await;
        killed.kill_9().await;
        assert!(!killed.is_running());
    }

    #[tokio::test]
    #[should_panic(expected = "ended without a line")]
    async fn waiting_for_what_never_comes_shows_the_output() {
        let home = Home::new();
        let running = shell(&home, "echo something else").spawn();
        running.wait_for_line("ready").await;
    }
}
