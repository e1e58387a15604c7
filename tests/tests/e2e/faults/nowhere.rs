//! With an API unreachable at the start, the program contacts no hosts but the configured ones.

use serde_json::json;
use std::time::Duration;

use galatea_testkit::{port::free_port, process::Running};
use tokio::{io::AsyncReadExt as _, net::TcpListener, sync::mpsc};

use crate::{
    discord,
    stage::Stage,
    x::{start, with_x},
};
use galatea_testkit::{process::Program, x::XApi};

/// Catches requests meant for other hosts than this machine. Returns the trap's address and the
/// requested targets.
async fn trap() -> (String, mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (caught, seen) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut bytes = [0; 512];
            let count = stream.read(&mut bytes).await.unwrap_or(0);
            let _ = caught.send(
                String::from_utf8_lossy(&bytes[..count])
                    .lines()
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
            );
        }
    });
    (address, seen)
}

fn trapped(program: Program, trap: &str) -> Program {
    let names =
        ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
    let program = names.into_iter().fold(program, |program, name| program.env(name, trap));
    // The connector logs each attempt at this level.
    program.env("LOG_LEVEL", "debug").env("NO_PROXY", "127.0.0.1").env("no_proxy", "127.0.0.1")
}

/// Remote ends of the program's sockets outside this machine; DNS lookups count.
fn elsewhere(galatea: &Running) -> Vec<String> {
    let pid = galatea.pid().unwrap();
    let own: Vec<String> = std::fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .filter_map(|fd| {
            Some(
                std::fs::read_link(fd.ok()?.path())
                    .ok()?
                    .to_str()?
                    .strip_prefix("socket:[")?
                    .trim_end_matches(']')
                    .to_owned(),
            )
        })
        .collect();
    let tables = ["tcp", "tcp6", "udp", "udp6"].map(|table| {
        std::fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default()
    });
    let remote = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (remote, inode) = (*fields.get(2)?, *fields.get(9)?);
        let here = [
            "0100007F:",
            "00000000:",
            "00000000000000000000000001000000:",
            "00000000000000000000000000000000:",
            "0000000000000000FFFF00000100007F:",
        ];
        (own.iter().any(|i| i == inode) && !here.iter().any(|h| remote.starts_with(h)))
            .then(|| remote.to_owned())
    };
    tables.iter().flat_map(|table| table.lines().skip(1)).filter_map(remote).collect()
}

/// Waits until this many attempts have failed, and checks the sockets all the while.
async fn fails(galatea: &Running, line: &str, times: usize) {
    let mut pause = tokio::time::interval(Duration::from_millis(100));
    let waiting = async {
        while galatea.stderr().matches(line).count() < times {
            assert_eq!(elsewhere(galatea), [""; 0]);
            pause.tick().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), waiting)
        .await
        .unwrap_or_else(|_| panic!("{}", galatea.output()));
}

#[tokio::test]
async fn an_unreachable_discord_leads_nowhere_else() {
    let stage = discord::Stage::set().await;
    let (trap, mut caught) = trap().await;
    stage.discord.set_reachable(false);
    let galatea = trapped(stage.program(), &trap).arg("start").spawn();
    galatea.wait_for_line("ready in").await;
    fails(&galatea, "a connector ended; restarting it after the pause", 3).await;
    stage.discord.set_reachable(true);
    stage.discord.wait_connected(1).await;
    let direct = stage.ann.direct();
    stage.ann.says(&direct, "Q1").send();
    assert_eq!(stage.wait_text(&direct, "A1").await, ["A1"], "it comes up by itself");
    assert_eq!(elsewhere(&galatea), [""; 0]);
    drop(galatea);
    assert!(caught.try_recv().is_err(), "another host was contacted");
}

#[tokio::test]
async fn an_unreachable_x_leads_nowhere_else() {
    let (stage, api) = (Stage::set().await, XApi::start().await);
    let (trap, mut caught) = trap().await;
    api.set_reachable(false);
    let program = trapped(with_x(stage.program(), &api), &trap).env("TWITTER_DRY_RUN", "false");
    let galatea = start(program).await;
    fails(&galatea, "a connector ended; restarting it after the pause", 3).await;
    api.set_reachable(true);
    api.wait_calls("GET /2/users/:id/mentions", 1).await;
    let asked = api.user("Ann", "ann_x").posts("@galatea_test Q1");
    assert_eq!(api.wait_shown(1).await[0].reply_to, Some(asked), "it comes up by itself");
    assert_eq!(elsewhere(&galatea), [""; 0]);
    drop(galatea);
    assert!(caught.try_recv().is_err(), "another host was contacted");
}

/// Where the API is reached without the proxy, Discord's file hosts still go through it.
#[tokio::test]
async fn the_file_hosts_of_discord_go_through_the_proxy() {
    let stage = discord::Stage::set().await;
    let (trap, mut caught) = trap().await;
    let _galatea = stage.run(trapped(stage.program(), &trap)).await;
    let url = "https://cdn.discordapp.com/attachments/1/2/note.txt?ex=1&is=2&hm=3";
    let file = json!({ "id": "2", "filename": "note.txt", "size": 20, "url": url, "proxy_url": url, "content_type": "text/plain" });
    let direct = stage.ann.direct();
    stage.ann.says(&direct, "Q1 what is in it?").with(&json!({ "attachments": [file] })).send();
    stage.wait_text(&direct, "A1").await;
    let line = caught.try_recv().unwrap_or_default();
    assert!(line.starts_with("CONNECT cdn.discordapp.com:443"), "{line}");
}

#[tokio::test]
async fn the_trap_catches() {
    let stage = discord::Stage::set().await;
    let (trap, mut caught) = trap().await;
    let elsewhere = format!("http://discord.invalid:{}", free_port());
    let galatea =
        trapped(stage.program(), &trap).env("DISCORD_API_ROOT", elsewhere).arg("start").spawn();
    let seen = tokio::time::timeout(Duration::from_secs(20), caught.recv()).await.ok().flatten();
    assert!(seen.is_some_and(|line| line.contains("discord.invalid")), "{}", galatea.output());
}
