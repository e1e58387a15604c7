//! Attack on the webhook's port: half-sent requests use up neither the program's file descriptors
//! nor its time.

use std::time::{Duration, Instant};

use galatea_testkit::{port::free_port, process::Program};
use tokio::{io::AsyncWriteExt as _, net::TcpStream};

use crate::stage::Stage;

/// Limit of the program's open files: a third of the attacker's connections.
const FILES: usize = 512;
/// Connections of the attacker, as far as the test's own limit of open files allows.
const HALVES: usize = 1_500;
/// Open files that the test needs for its servers and pipes.
const OWN: usize = 200;
/// Limit for a wait; only a faulty program reaches it.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program with a low limit of open files.
fn limited(stage: &Stage, port: u16, health: u16) -> Program {
    stage
        .program()
        .open_files(FILES)
        .env("TELEGRAM_MODE", "webhook")
        .env("TELEGRAM_WEBHOOK_URL", format!("http://127.0.0.1:{port}/hook"))
        .env("TELEGRAM_WEBHOOK_LISTEN", format!("127.0.0.1:{port}"))
        .env("SERVER_PORT", health.to_string())
}

/// The limit of open files of a process.
fn most_files(process: &str) -> usize {
    let limits = std::fs::read_to_string(format!("/proc/{process}/limits")).unwrap();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap_or(usize::MAX)
}

/// Sends half of the headers, or all of them with a wrong secret and half of the body.
async fn half(port: u16, n: usize) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let head = "POST /hook HTTP/1.1\r\nHost: bot.example\r\nContent-Type: application/json\r\n";
    let whole = format!(
        "{head}X-Telegram-Bot-Api-Secret-Token: wrong\r\nContent-Length: 900\r\n\r\n{{\"update_id\":"
    );
    // The program may close the connection at any time.
    let _ = stream
        .write_all(if n.is_multiple_of(2) { head.as_bytes() } else { whole.as_bytes() })
        .await;
    stream
}

#[tokio::test]
async fn half_sent_requests_to_the_real_program_keep_no_true_call_waiting() {
    let many = HALVES.min(most_files("self").saturating_sub(OWN));
    assert!(many > FILES, "this test needs more open files than the program: ulimit -n 2048");
    let stage = Stage::set().await;
    stage.telegram.allow_violation("https");
    stage.telegram.allow_violation("port");
    let (port, health) = (free_port(), free_port());
    let galatea = limited(&stage, port, health).arg("start").spawn();
    galatea.wait_for_line("ready in").await;
    assert_eq!(most_files(&galatea.pid().unwrap().to_string()), FILES);
    let direct = stage.ann.direct();
    stage.ann.says(&direct, "Q1").send();
    stage.wait_text(&direct, "A1").await;

    let opening = async {
        let mut halves = Vec::new();
        for n in 0..many {
            halves.push(half(port, n).await);
        }
        halves
    };
    let halves = tokio::time::timeout(PATIENCE, opening)
        .await
        .expect("every connection is taken or waits in the backlog");

    let begun = Instant::now();
    stage.ann.says(&direct, "Q2").send();
    stage.telegram.wait_confirmed().await;
    let stored = begun.elapsed();
    stage.wait_text(&direct, "A2").await;
    let answered = begun.elapsed();
    let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build().unwrap();
    let ready = client.get(format!("http://127.0.0.1:{health}/readyz")).send().await.unwrap();
    assert_eq!(ready.status().as_u16(), 200, "{}", ready.text().await.unwrap());
    let files = std::fs::read_dir(format!("/proc/{}/fd", galatea.pid().unwrap())).unwrap().count();
    println!(
        "among {} half-sent requests: stored after {stored:?}, answered after {answered:?}; {files} of {FILES} files open",
        halves.len()
    );
    let said = galatea.output();
    assert!(!said.contains("Too many open files") && !said.contains("GAL-NET-FILES"), "{said}");
}
