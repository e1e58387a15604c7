//! Every row of the error table, produced by the real program: code, cause, place and fix, and no
//! secret in any output.

mod discord;
mod files;
mod machine;
mod model;
mod pages;
mod sending;
mod shapes;
mod startup;
mod webhook;
mod x;

use std::{fs, os::unix::fs::PermissionsExt as _};

use galatea_testkit::process::{Finished, Program, Running};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use crate::{secrets::search, stage::Stage};

/// A stage whose settings stand in a `.env`, so that every message can name a line.
pub(crate) struct Scene {
    pub(crate) stage: Stage,
    lines: Vec<(String, String)>,
    canaries: Vec<String>,
}

impl Scene {
    /// `.env`: the bot's token in line 1, the Bot API's address in line 2, the model's address in
    /// line 3, its key in line 4.
    pub(crate) async fn set() -> Self {
        let stage = Stage::set().await;
        let canaries = stage.canaries();
        let lines =
            ["TELEGRAM_BOT_TOKEN", "TELEGRAM_API_ROOT", "OPENAI_BASE_URL", "OPENAI_API_KEY"]
                .into_iter()
                .zip([
                    stage.telegram.token(),
                    stage.telegram.url().to_owned(),
                    stage.model.base_url(),
                    canaries[1].clone(),
                ])
                .map(|(name, value)| (name.to_owned(), value))
                .collect();
        Self { stage, lines, canaries }
    }

    /// Sets a variable in its line of `.env`, or in a new line. Returns its place as messages name
    /// it.
    pub(crate) fn env(&mut self, name: &str, value: &str) -> String {
        let line = self.lines.iter().position(|(known, _)| known == name);
        match line {
            Some(line) => value.clone_into(&mut self.lines[line].1),
            None => self.lines.push((name.to_owned(), value.to_owned())),
        }
        // Further accounts read `NAME_2` as `NAME`; the line tells them apart.
        let account = name.rsplit_once('_').filter(|(_, n)| n.parse::<u8>().is_ok());
        let shown = account.map_or(name, |(name, _)| name);
        format!("{shown} from .env line {}", line.map_or(self.lines.len(), |line| line + 1))
    }

    /// Adds a secret that must not appear in any output.
    pub(crate) fn canary(&mut self, secret: &str) {
        self.canaries.push(secret.to_owned());
    }

    /// The program. Its environment contains only variables that do not affect the place of a
    /// setting.
    pub(crate) fn program(&self) -> Program {
        let text: String =
            self.lines.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        let path = self.stage.home.write(".env", &text);
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
        let inherited = self.stage.program();
        let plain = [
            "TELEGRAM_BOT_TOKEN",
            "TELEGRAM_API_ROOT",
            "OPENAI_BASE_URL",
            "OPENAI_API_KEY",
            "OPENAI_SMALL_MODEL",
            "OPENAI_LARGE_MODEL",
        ]
        .into_iter()
        .fold(inherited, Program::without_env);
        plain.env("LOG_JSON_FORMAT", "false")
    }

    /// Runs the program until it ends.
    pub(crate) async fn run(&self, args: &[&str]) -> Finished {
        let finished = self.program().args(args.iter().copied()).run().await;
        self.assert_clean(&finished);
        finished
    }

    /// Starts the program and waits until it is ready.
    pub(crate) async fn start(&self) -> Running {
        let running = self.program().arg("start").spawn();
        running.wait_for_line("ready in").await;
        running
    }

    /// Stops a started program and returns its output.
    pub(crate) async fn end(&self, mut running: Running) -> Finished {
        running.terminate();
        let finished = running.finish().await;
        self.assert_clean(&finished);
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        finished
    }

    /// Checks that no secret was printed or stored, and that no internal detail was shown.
    fn assert_clean(&self, finished: &Finished) {
        for line in finished.stdout.lines().chain(finished.stderr.lines()) {
            let hidden =
                self.canaries.iter().fold(line.to_owned(), |l, c| l.replace(c, "<SECRET>"));
            assert_eq!(hidden, line, "a secret was printed");
            for trace in
                ["panicked at", "stack backtrace", "RUST_BACKTRACE", ".rs:", "<html", "<!DOCTYPE"]
            {
                assert!(!line.contains(trace), "{trace:?} was printed: {line}");
            }
        }
        let mut found = Vec::new();
        search(self.stage.home.path(), &self.canaries, &mut found);
        found.retain(|path| !path.ends_with("/.env"));
        assert!(found.is_empty(), "a secret is stored in {found:?}");
    }
}

/// Address of a server that is not a Bot API server: it sends the same answer to every request and
/// closes the connection.
pub(crate) async fn something_else(answer: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    format!("http://{address}")
}

/// Text of an HTTP answer.
pub(crate) fn http(status: &str, kind: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// Asserts that the parts follow one another, wherever lines are wrapped.
#[track_caller]
pub(crate) fn says(text: &str, parts: &[&str]) {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let whole = words(text);
    let mut rest = whole.as_str();
    for part in parts {
        match rest.split_once(words(part).as_str()) {
            Some((_, after)) => rest = after,
            None => panic!("{part:?} is missing or out of order in:\n{text}"),
        }
    }
}

/// Asserts that the parts follow one another within one report, wherever lines are wrapped.
#[track_caller]
pub(crate) fn reports(text: &str, parts: &[&str]) {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (whole, parts) = (words(text), parts.iter().map(|part| words(part)).collect::<Vec<_>>());
    let found = whole.match_indices(parts[0].as_str()).any(|(at, _)| {
        let mut rest: String = whole[at..].chars().take(LONGEST_REPORT).collect();
        parts.iter().all(|part| {
            let after = rest.split_once(part.as_str()).map(|(_, after)| after.to_owned());
            after.map(|after| rest = after).is_some()
        })
    });
    assert!(found, "{parts:?} stand in no report of:\n{text}");
}

/// Characters of a report of one problem, at most.
const LONGEST_REPORT: usize = 900;

/// A finding of `--json`, by its code.
#[track_caller]
pub(crate) fn finding(finished: &Finished, code: &str) -> serde_json::Value {
    let found = findings(finished).into_iter().find(|found| found["id"] == code);
    found.unwrap_or_else(|| panic!("no {code}:\n{}", finished.stdout))
}

/// The findings of `--json` that are not ok.
#[track_caller]
pub(crate) fn findings(finished: &Finished) -> Vec<serde_json::Value> {
    let all: serde_json::Value = serde_json::from_str(&finished.stdout)
        .unwrap_or_else(|e| panic!("{e}:\n{}{}", finished.stdout, finished.stderr));
    let lists = all["connectors"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|c| &c["findings"])
        .chain([&all["findings"]]);
    lists
        .filter_map(|l| l.as_array())
        .flatten()
        .filter(|finding| finding["severity"] != "ok")
        .cloned()
        .collect()
}
