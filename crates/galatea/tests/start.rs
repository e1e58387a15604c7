//! start, status, chat, explain and connector through the real binary, on the loopback interface and in folders of their own.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Output, Stdio},
    sync::mpsc,
    time::Duration,
};

/// A folder with nothing in it, and an environment with nothing in it.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_galatea"));
        command.args(args).current_dir(self.path()).env_clear().env("HOME", self.path()).env("USER", "maria").stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    fn start(&self, args: &[&str]) -> Running {
        Running::of(self.command(&[&["start", "--port", "0"], args].concat()))
    }
}

/// A `galatea start` that said it is ready.
struct Running {
    child: Child,
    banner: String,
    rest: mpsc::Receiver<String>,
}

impl Running {
    fn of(mut command: Command) -> Self {
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

    /// Everything said up to and including the line that holds `word`.
    fn until(&self, word: &str) -> String {
        let mut text = String::new();
        loop {
            let line = self.rest.recv_timeout(Duration::from_secs(60)).unwrap_or_else(|_| panic!("never said {word:?}, only:\n{text}"));
            text.push_str(&line);
            text.push('\n');
            if line.contains(word) {
                return text;
            }
        }
    }

    /// Waits until this was said, before or after the banner.
    fn said(&self, word: &str) -> String {
        if self.banner.contains(word) { self.banner.clone() } else { self.until(word) }
    }

    fn health(&self) -> SocketAddr {
        let (_, rest) = self.banner.split_once("http://").unwrap();
        rest.split_once('/').unwrap().0.parse().unwrap()
    }

    fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap().success());
    }

    fn stop(mut self) -> Option<i32> {
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

fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}\n{}", out(output), err(output)))
}

#[test]
fn without_any_key_it_starts_answers_and_stops() {
    let home = Home::new();
    let running = home.start(&[]);
    for line in [
        "no .env here, starting the demo agent",
        "galatea.db (SQLite, created)",
        "Eliza (built-in)",
        "offline script — pattern matching, not AI",
        "off  set TELEGRAM_BOT_TOKEN",
    ] {
        assert!(running.banner.contains(line), "{line:?} is missing:\n{}", running.banner);
    }
    running.said("terminal.sock");
    assert!(get(running.health(), "/healthz").starts_with("HTTP/1.1 200 "));
    let ready = get(running.health(), "/readyz");
    assert!(ready.starts_with("HTTP/1.1 200 "), "{ready}");

    let status = home.run(&["status"]);
    assert!(status.status.success() && out(&status).starts_with("ready "), "{}{}", out(&status), err(&status));
    assert_eq!(json(&home.run(&["status", "--json"]))["schema"], "galatea.status/1");

    let answer = home.run(&["chat", "-m", "my build is broken"]);
    assert!(answer.status.success(), "{}", err(&answer));
    assert!(out(&answer).starts_with("Eliza (offline script) › "), "{}", out(&answer));

    let handled = running.until("answered");
    assert!(!handled.contains("my build is broken"), "ids only:\n{handled}");
    assert_eq!(running.stop(), Some(0));
    assert!(!home.path().join(".galatea/terminal.sock").exists());
    let status = home.run(&["status"]);
    assert_eq!(status.status.code(), Some(5));
    assert!(err(&status).contains("GAL-STATUS-OFF"), "{}", err(&status));
}

#[test]
fn a_second_start_names_the_first() {
    let home = Home::new();
    let running = home.start(&[]);
    let second = home.run(&["start", "--port", "0"]);
    assert_eq!(second.status.code(), Some(6));
    assert!(err(&second).contains("GAL-LOCK") && err(&second).contains(&running.child.id().to_string()), "{}", err(&second));
    assert_eq!(running.stop(), Some(0));
}

#[test]
fn a_killed_process_leaves_nothing_in_the_way() {
    let home = Home::new();
    let mut first = home.start(&[]);
    first.said("terminal.sock");
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    assert!(home.path().join(".galatea/terminal.sock").exists());
    let second = home.start(&[]);
    assert!(!second.banner.contains("created"), "{}", second.banner);
    second.said("terminal.sock");
    let answer = home.run(&["chat", "-m", "hello"]);
    assert!(answer.status.success(), "{}", err(&answer));
    assert_eq!(second.stop(), Some(0));
}

#[test]
fn a_taken_port_is_told_and_not_dodged() {
    let home = Home::new();
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = holder.local_addr().unwrap().port().to_string();
    let refused = home.run(&["start", "--port", &port]);
    assert_eq!(refused.status.code(), Some(6));
    assert!(err(&refused).contains("GAL-PORT") && err(&refused).contains("--port"), "{}", err(&refused));
    #[cfg(target_os = "linux")]
    assert!(err(&refused).contains(&std::process::id().to_string()), "the owner is named: {}", err(&refused));
}

#[test]
fn the_health_server_stays_on_this_machine() {
    let home = Home::new();
    let refused = home.command(&["start"]).env("SERVER_HOST", "0.0.0.0").output().unwrap();
    assert_eq!(refused.status.code(), Some(3));
    assert!(err(&refused).contains("GAL-BIND"), "{}", err(&refused));
}

#[test]
fn an_interrupt_drains_and_ends_well() {
    let home = Home::new();
    let mut running = home.start(&[]);
    running.signal("-INT");
    assert_eq!(running.child.wait().unwrap().code(), Some(0));
}

#[test]
fn chat_needs_no_running_process() {
    let home = Home::new();
    let answer = home.run(&["chat", "--json", "-m", "I am unhappy"]);
    assert!(answer.status.success(), "{}", err(&answer));
    let first = json(&answer);
    assert_eq!(first["schema"], "galatea.chat/1");
    assert_eq!(first["answers"][0]["label"], "offline script");
    assert_eq!(first["answers"][0]["inReplyTo"], first["memory"]);

    let memory = first["memory"].as_str().unwrap();
    let why = home.run(&["explain", memory]);
    assert!(why.status.success(), "{}", err(&why));
    assert!(out(&why).contains("sent"), "{}", out(&why));
    assert!(json(&home.run(&["explain", memory, "--json"]))["schema"].as_str().unwrap().starts_with("galatea.explain/"));

    let mut piped = home.command(&["chat"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    piped.stdin.take().unwrap().write_all(b"hello\n\nmy mother is here\n").unwrap();
    let piped = piped.wait_with_output().unwrap();
    assert!(piped.status.success(), "{}", err(&piped));
    assert_eq!(out(&piped).matches("Eliza (offline script) › ").count(), 2, "{}", out(&piped));
}

#[test]
fn a_silent_agent_says_why() {
    let home = Home::new();
    let muted = home.command(&["chat", "-m", "hello"]).env("DM_POLICY", "disabled").output().unwrap();
    assert!(!muted.status.success());
    assert!(err(&muted).contains("GAL-CHAT-SILENT") && err(&muted).contains("DM_POLICY"), "{}", err(&muted));
}

#[test]
fn several_agents_are_told_apart() {
    let home = Home::new();
    for name in ["Ada", "Bob"] {
        std::fs::write(home.path().join(format!("{name}.json")), format!(r#"{{"name": "{name}", "bio": "A test."}}"#)).unwrap();
    }
    let running = home.start(&["--character", "Ada.json", "--character", "Bob.json"]);
    for name in ["Ada", "bob"] {
        let answer = home.run(&["chat", name, "-m", "hello"]);
        assert!(answer.status.success(), "{}", err(&answer));
        assert!(out(&answer).to_lowercase().starts_with(&format!("{} (offline script) › ", name.to_lowercase())), "{}", out(&answer));
    }
    let unknown = home.run(&["chat", "Eve", "-m", "hello"]);
    assert!(err(&unknown).contains("GAL-CHAT-AGENT") && err(&unknown).contains("Ada, Bob"), "{}", err(&unknown));
    assert_eq!(running.stop(), Some(0));
}

#[test]
fn a_broken_character_is_told_with_its_place() {
    let home = Home::new();
    std::fs::write(home.path().join("ada.json"), "{\n  \"name\": \"Ada\"\n  \"bio\": \"x\"\n}").unwrap();
    let refused = home.run(&["start", "--port", "0", "--character", "ada.json"]);
    assert_eq!(refused.status.code(), Some(3));
    assert!(err(&refused).contains("ada.json:2"), "{}", err(&refused));
    assert!(!home.path().join(".galatea").exists(), "nothing was made");
}

#[test]
fn connectors_are_listed_and_checked() {
    let home = Home::new();
    let list = home.run(&["connector", "ls"]);
    assert!(list.status.success(), "{}", err(&list));
    assert!(out(&list).contains("Telegram") && out(&list).contains("set TELEGRAM_BOT_TOKEN"), "{}", out(&list));
    let all = json(&home.run(&["connector", "ls", "--json"]));
    let sources: Vec<&str> = all["connectors"].as_array().unwrap().iter().map(|c| c["source"].as_str().unwrap()).collect();
    assert!(["telegram", "discord", "x", "terminal"].iter().all(|source| sources.contains(source)), "{sources:?}");
    assert!(out(&list).contains("set TWITTER_API_KEY and 3 more"), "{}", out(&list));

    std::fs::create_dir(home.path().join(".galatea")).unwrap();
    let check = home.run(&["connector", "check"]);
    assert!(check.status.success(), "{}{}", out(&check), err(&check));
    assert!(out(&check).contains("Terminal of Eliza"), "{}", out(&check));
    let off = home.run(&["connector", "check", "telegram"]);
    assert_eq!(off.status.code(), Some(7));
    let unknown = home.run(&["connector", "check", "telegam"]);
    assert!(err(&unknown).contains("did you mean telegram?"), "{}", err(&unknown));
}

#[test]
fn status_in_json_tells_whether_one_runs() {
    let home = Home::new();
    let off = home.run(&["status", "--json"]);
    assert_eq!(off.status.code(), Some(5));
    let told = json(&off);
    assert_eq!((&told["schema"], &told["running"], &told["ready"]), (&"galatea.status/1".into(), &false.into(), &false.into()));
    assert_eq!(told["error"]["code"], "GAL-STATUS-OFF");
    let running = home.start(&[]);
    running.said("terminal.sock");
    let told = json(&home.run(&["status", "--json"]));
    assert_eq!((&told["running"], &told["ready"], &told["pid"]), (&true.into(), &true.into(), &running.child.id().into()));
    assert_eq!(told["agents"][0]["connectors"][0]["source"], "terminal");
    assert_eq!(running.stop(), Some(0));
}

#[test]
fn a_fresh_folder_has_nothing_wrong_with_it() {
    let home = Home::new();
    for args in [&["connector", "check"][..], &["connector", "check", "terminal"], &["doctor"]] {
        let checked = home.command(args).env("SERVER_PORT", "0").output().unwrap();
        assert!(checked.status.success(), "{args:?}: {}{}", out(&checked), err(&checked));
    }
    let doctor = json(&home.command(&["doctor", "--json"]).env("SERVER_PORT", "0").output().unwrap());
    assert_eq!((&doctor["schema"], &doctor["ok"]), (&"galatea.doctor/1".into(), &true.into()));
    for finding in doctor["findings"].as_array().unwrap() {
        let known = |name: &str, all: &[&str]| all.contains(&finding[name].as_str().unwrap());
        assert!(known("severity", &["ok", "info", "warning", "error"]) && finding["id"].as_str().unwrap().starts_with("GAL-"), "{finding}");
        assert!(known("subject", &["connector", "model", "storage", "character", "file", "variable", "port", "clock"]), "{finding}");
        assert!(["message", "cause", "origin", "fix", "repair"].iter().all(|field| finding.get(field).is_some()), "{finding}");
    }
    assert!(!home.path().join(".galatea").exists(), "looking made nothing");
}

#[test]
fn a_new_character_comes_with_a_schema_that_editors_find_and_it_keeps() {
    let home = Home::new();
    assert!(home.run(&["character", "new", "Ada B."]).status.success());
    let folder = home.path().join("characters");
    let read = |name: &str| -> serde_json::Value { serde_json::from_slice(&std::fs::read(folder.join(name)).unwrap()).unwrap() };
    let character = read("ada-b.json");
    let beside = character["$schema"].as_str().unwrap().strip_prefix("./").unwrap().to_owned();
    let schema = read(&beside);
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    // Without a validator at hand: every field of the file is one the schema knows, so an editor completes and marks nothing.
    let known = schema["properties"].as_object().unwrap();
    assert!(character.as_object().unwrap().keys().all(|key| known.contains_key(key)), "{character}");
    assert!(schema["required"].as_array().unwrap().iter().all(|field| character.get(field.as_str().unwrap()).is_some()));
    assert!(known.values().filter(|property| property.get("description").is_some()).count() * 2 > known.len(), "editors show what a field is for");
    let valid = home.run(&["character", "validate", "characters/ada-b.json"]);
    assert!(valid.status.success() && !out(&valid).contains("remark"), "{}", out(&valid));
    // A schema of an earlier version is renewed, a character never.
    std::fs::write(folder.join(&beside), "{}").unwrap();
    assert!(home.run(&["character", "new", "Bob"]).status.success());
    assert_eq!(read(&beside), schema);
    assert_eq!(home.run(&["character", "new", "Bob"]).status.code(), Some(6));
    assert_eq!(home.run(&["character", "new", "Cem", "-o", "cem.toml"]).status.code(), Some(2));
}

/// A model server of the OpenAI kind that answers when it is told to.
struct SlowModel {
    address: SocketAddr,
    asked: mpsc::Receiver<()>,
    answer: mpsc::Sender<()>,
}

impl SlowModel {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (ask, asked) = mpsc::channel();
        let (answer, told) = mpsc::channel();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            read_request(&mut stream);
            ask.send(()).unwrap();
            let Ok(()) = told.recv() else { return };
            let body = serde_json::json!({
                "id": "1", "object": "chat.completion", "created": 0, "model": "m",
                "choices": [{ "index": 0, "message": { "role": "assistant", "content": "A late answer." }, "finish_reason": "stop" }],
                "usage": { "prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15 },
            })
            .to_string();
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len()).unwrap();
        });
        Self { address, asked, answer }
    }

    fn start(&self, home: &Home) -> Running {
        let mut command = home.command(&["start", "--port", "0"]);
        Running::of({
            command.env("OPENAI_API_KEY", "sk-test").env("OPENAI_BASE_URL", format!("http://{}/v1", self.address)).env("BOOTSTRAP_REFLECTION", "false");
            command
        })
    }

    fn wait(&self) {
        self.asked.recv_timeout(Duration::from_secs(60)).unwrap();
    }
}

fn read_request(stream: &mut TcpStream) {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
    }
    reader.read_exact(&mut vec![0; length]).unwrap();
}

#[test]
fn an_answer_under_way_is_finished_and_delivered_before_the_end() {
    let (home, model) = (Home::new(), SlowModel::new());
    let mut running = model.start(&home);
    assert!(running.banner.contains("openai"), "{}", running.banner);
    let chat = home.command(&["chat", "-m", "hello"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    model.wait();
    running.signal("-TERM");
    running.until("Stopping");
    model.answer.send(()).unwrap();
    let chat = chat.wait_with_output().unwrap();
    assert_eq!(out(&chat), "Eliza › A late answer.\n", "{}", err(&chat));
    assert_eq!(running.child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_second_signal_ends_it_at_once_and_the_message_is_answered_after_the_next_start() {
    let (home, model) = (Home::new(), SlowModel::new());
    let mut running = model.start(&home);
    let mut chat = home.command(&["chat", "-m", "hello"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    model.wait();
    running.signal("-INT");
    running.until("Stopping");
    running.signal("-INT");
    assert_eq!(running.child.wait().unwrap().code(), Some(130));
    assert_eq!(chat.wait().unwrap().code(), Some(5), "the conversation broke off");

    let again = home.start(&[]);
    again.said("answered");
    // The answer waits in the outbox until somebody of that name is there.
    let answer = home.run(&["chat", "-m", "are you back?"]);
    assert!(answer.status.success(), "{}", err(&answer));
    assert_eq!(again.stop(), Some(0));
}

#[test]
fn a_model_that_does_not_answer_shows_in_readyz_and_in_the_chat() {
    let home = Home::new();
    // A port that was free a moment ago: nobody answers there.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut command = home.command(&["start", "--port", "0"]);
    command.env("OPENAI_API_KEY", "sk-test-canary").env("OPENAI_BASE_URL", format!("http://{address}/v1"));
    let running = Running::of(command);
    running.said("terminal.sock");
    assert!(get(running.health(), "/readyz").starts_with("HTTP/1.1 200 "), "nobody has asked it yet");
    let chat = home.run(&["chat", "-m", "hello"]);
    assert!(!out(&chat).is_empty() || !chat.status.success(), "never silence");
    assert!(!out(&chat).contains("canary") && !err(&chat).contains("canary"));
    let ready = get(running.health(), "/readyz");
    assert!(ready.starts_with("HTTP/1.1 503 ") && ready.contains("no model answers") && !ready.contains("canary"), "{ready}");
    let status = home.run(&["status"]);
    assert_eq!(status.status.code(), Some(1));
    assert!(out(&status).contains("not ready") && out(&status).contains("no model answers"), "{}", out(&status));
    assert_eq!(running.stop(), Some(0));
}

#[test]
fn a_terminal_that_is_off_is_told() {
    let home = Home::new();
    let running = Running::of({
        let mut command = home.command(&["start", "--port", "0"]);
        command.env("TERMINAL_ENABLED", "false");
        command
    });
    assert!(running.banner.contains("Terminal   off"), "{}", running.banner);
    let beside = home.run(&["chat", "-m", "hello"]);
    assert_eq!(beside.status.code(), Some(5));
    assert!(err(&beside).contains("GAL-CHAT-OFF") && err(&beside).contains(&running.child.id().to_string()), "{}", err(&beside));
    assert_eq!(running.stop(), Some(0));
    let alone = home.command(&["chat", "-m", "hello"]).env("TERMINAL_ENABLED", "false").output().unwrap();
    assert!(err(&alone).contains("GAL-CHAT-OFF"), "{}", err(&alone));
}
