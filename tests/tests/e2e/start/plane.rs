//! The control plane of the running program: a login link, secrets that are set, and a stream at the end.

use super::home::{Home, Running, out};
use serde_json::{Value, json};
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

const CANARY: &str = "sk-canary-0d6e4b1f92a7";

/// Sends a request and returns the stream from which its answer comes.
fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    cookie: &str,
    body: Option<&Value>,
) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let body = body.map(Value::to_string).unwrap_or_default();
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\nCookie: {cookie}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
    .unwrap();
    stream
}

fn call(
    address: SocketAddr,
    method: &str,
    path: &str,
    cookie: &str,
    body: Option<&Value>,
) -> String {
    let mut answer = String::new();
    send(address, method, path, cookie, body).read_to_string(&mut answer).unwrap();
    answer
}

/// Signs in with the link that `galatea login` prints: the cookie.
fn sign_in(home: &Home, running: &Running) -> String {
    let login = home.run(&["login"]);
    let link = out(&login);
    let (place, secret) = link.trim().split_once("/login#").unwrap();
    assert_eq!(place, format!("http://{}", running.health()));
    let body = json!({ "link": secret });
    let answer = call(running.health(), "POST", "/api/v1/session", "", Some(&body));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let again = call(running.health(), "POST", "/api/v1/session", "", Some(&body));
    assert!(again.contains("GAL-AUTH-LINK"), "a link signs in once: {again}");
    let line = answer.lines().find(|line| line.to_lowercase().starts_with("set-cookie: ")).unwrap();
    let cookie = line.split_once(": ").unwrap().1;
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    cookie.split(';').next().unwrap().to_owned()
}

#[test]
fn an_open_stream_does_not_keep_the_process() {
    let home = Home::new();
    let mut running = home.start(&[]);
    let cookie = sign_in(&home, &running);
    let mut stream = send(running.health(), "GET", "/api/v1/events", &cookie, None);
    let mut first = [0; 12];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    let began = Instant::now();
    running.signal("-TERM");
    let code = running.child.wait().unwrap().code();
    let took = began.elapsed();
    assert_eq!(code, Some(0));
    assert!(took < Duration::from_secs(5), "{took:?}");
    let mut rest = String::new();
    let _ = stream.read_to_string(&mut rest);
    assert!(rest.contains("event: end"), "{rest}");
}

#[test]
fn a_secret_that_is_set_is_in_no_answer_no_log_and_no_file() {
    let home = Home::new();
    let running = Running::of({
        let mut command = home.command(&["-vv", "start", "--port", "0"]);
        command.env("LOG_LEVEL", "debug");
        command
    });
    let (address, cookie) = (running.health(), sign_in(&home, &running));
    let body = json!({ "value": CANARY });
    let set = call(address, "PATCH", "/api/v1/settings/ANTHROPIC_API_KEY", &cookie, Some(&body));
    assert!(set.starts_with("HTTP/1.1 200") && set.contains("\"isSet\":true"), "{set}");
    let mut said = set;
    for path in ["settings", "changes", "system", "agents", "connectors", "plugins"] {
        let path = format!("/api/v1/{path}");
        said.push_str(&call(address, "GET", &path, &cookie, None));
    }
    said.push_str(&super::home::get(address, "/readyz"));
    running.signal("-TERM");
    let mut running = running;
    running.child.wait().unwrap();
    said.push_str(&running.rest.iter().collect::<Vec<_>>().join("\n"));
    assert!(!said.contains(CANARY), "a secret is said");
    let mut found = Vec::new();
    crate::secrets::search(home.path(), &[CANARY.to_owned()], &mut found);
    assert!(found.is_empty(), "a secret is stored in {found:?}");
    let key = home.path().join(".galatea/secret.key");
    assert!(key.exists(), "the secret is sealed with a key of its own");
}

#[test]
fn another_address_needs_the_public_one() {
    let home = Home::new();
    let running = Running::of({
        let mut command = home.command(&["start", "--port", "0"]);
        command.env("PUBLIC_URL", "https://bot.example.org");
        command
    });
    let mut login = home.command(&["login"]);
    let login = out(&login.env("PUBLIC_URL", "https://bot.example.org").output().unwrap());
    assert!(login.starts_with("https://bot.example.org/login#"), "{login}");
    let ask = |host: &str| {
        let mut stream = TcpStream::connect(running.health()).unwrap();
        write!(stream, "GET /version HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    assert!(ask("bot.example.org").starts_with("HTTP/1.1 200"));
    assert!(ask("other.example.org").contains("GAL-HOST"));
}
