//! Runs the program in an empty folder and captures its output.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Child, Command, Output, Stdio},
    sync::mpsc,
    time::Duration,
};

/// A temporary folder without files, and an empty environment.
pub(crate) struct Home(tempfile::TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_galatea"));
        command
            .args(args)
            .current_dir(self.path())
            .env_clear()
            .env("HOME", self.path())
            .env("USER", "maria")
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    pub(crate) fn start(&self, args: &[&str]) -> Running {
        Running::of(self.command(&[&["start", "--port", "0"], args].concat()))
    }
}

/// A running `galatea start` that has reported readiness.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) banner: String,
    pub(crate) rest: mpsc::Receiver<String>,
}

impl Running {
    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let (put, rest) = mpsc::channel();
        let stderr = child.stderr.take().unwrap();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if put.send(line).is_err() {
                    return;
                }
            }
        });
        let mut running = Self { child, banner: String::new(), rest };
        running.banner = running.until("ready in ");
        running
    }

    /// The output up to and including the line that contains `word`.
    pub(crate) fn until(&self, word: &str) -> String {
        let mut text = String::new();
        loop {
            let line = self
                .rest
                .recv_timeout(Duration::from_secs(60))
                .unwrap_or_else(|_| panic!("never said {word:?}, only:\n{text}"));
            text.push_str(&line);
            text.push('\n');
            if line.contains(word) {
                return text;
            }
        }
    }

    /// Waits until `word` was printed, in the banner or after it.
    pub(crate) fn wait_printed(&self, word: &str) -> String {
        if self.banner.contains(word) { self.banner.clone() } else { self.until(word) }
    }

    pub(crate) fn health(&self) -> SocketAddr {
        let (_, rest) = self.banner.split_once("http://").unwrap();
        rest.split_once('/').unwrap().0.parse().unwrap()
    }

    pub(crate) fn signal(&self, name: &str) {
        assert!(
            Command::new("kill")
                .args([name, &self.child.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
    }

    pub(crate) fn stop(mut self) -> Option<i32> {
        self.signal("-TERM");
        self.child.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

pub(crate) fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

pub(crate) fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}\n{}", out(output), err(output)))
}
