//! Ends of the program: after one signal, after a second one, and when killed.

use super::home::{Home, Running, err, out};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    process::Stdio,
    sync::mpsc,
    time::Duration,
};

/// A model server with OpenAI's API that answers on the test's signal.
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
        let (answer, requests) = mpsc::channel();
        std::thread::spawn(move || {
            let mut stream = loop {
                let (mut stream, _) = listener.accept().unwrap();
                if read_request(&mut stream).starts_with("POST ") {
                    break stream;
                }
                // The request for the list of models, which this server does not have.
                write!(
                    stream,
                    "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                )
                .unwrap();
            };
            ask.send(()).unwrap();
            let Ok(()) = requests.recv() else { return };
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
            command
                .env("OPENAI_API_KEY", "sk-test")
                .env("OPENAI_BASE_URL", format!("http://{}/v1", self.address))
                // The trial of a model's tools would take the only answer.
                .env("MODEL_TOOLS", "true")
                .env("BOOTSTRAP_REFLECTION", "false");
            command
        })
    }

    fn wait(&self) {
        self.asked.recv_timeout(Duration::from_secs(60)).unwrap();
    }
}

/// Reads a whole request and returns its first line.
fn read_request(stream: &mut TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let (mut length, mut first) = (0, String::new());
    reader.read_line(&mut first).unwrap();
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
    first
}

#[test]
fn an_interrupt_drains_and_ends_well() {
    let home = Home::new();
    let mut running = home.start(&[]);
    running.signal("-INT");
    assert_eq!(running.child.wait().unwrap().code(), Some(0));
}

#[test]
fn an_answer_under_way_is_finished_and_delivered_before_the_end() {
    // SIGHUP arrives when the terminal of the program is closed.
    for signal in ["-TERM", "-HUP"] {
        let (home, model) = (Home::new(), SlowModel::new());
        let mut running = model.start(&home);
        assert!(running.banner.contains("openai"), "{}", running.banner);
        let chat = home
            .command(&["chat", "-m", "hello"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        model.wait();
        running.signal(signal);
        running.until("Stopping");
        model.answer.send(()).unwrap();
        let chat = chat.wait_with_output().unwrap();
        assert_eq!(out(&chat), "Eliza › A late answer.\n", "{signal}: {}", err(&chat));
        assert_eq!(running.child.wait().unwrap().code(), Some(0), "{signal}");
    }
}

#[test]
fn a_second_signal_ends_it_at_once_and_the_message_is_answered_after_the_next_start() {
    let (home, model) = (Home::new(), SlowModel::new());
    let mut running = model.start(&home);
    let mut chat = home
        .command(&["chat", "-m", "hello"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    model.wait();
    running.signal("-INT");
    running.until("Stopping");
    running.signal("-INT");
    assert_eq!(running.child.wait().unwrap().code(), Some(130));
    assert_eq!(chat.wait().unwrap().code(), Some(5), "the conversation broke off");

    let again = home.start(&[]);
    again.wait_printed("answered");
    // The answer waits in the outbox until a client of that name connects.
    let answer = home.run(&["chat", "-m", "are you back?"]);
    assert!(answer.status.success(), "{}", err(&answer));
    assert_eq!(again.stop(), Some(0));
}

#[test]
fn a_killed_process_leaves_nothing_in_the_way() {
    let home = Home::new();
    let mut first = home.start(&[]);
    first.wait_printed("terminal.sock");
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    assert!(home.path().join(".galatea/terminal.sock").exists());
    let second = home.start(&[]);
    assert!(!second.banner.contains("created"), "{}", second.banner);
    second.wait_printed("terminal.sock");
    let answer = home.run(&["chat", "-m", "hello"]);
    assert!(answer.status.success(), "{}", err(&answer));
    assert_eq!(second.stop(), Some(0));
}
