//! Finds the running agent by its socket in the data folder.

use galatea_core::{Error, ErrorKind, Result};
use galatea_terminal::{SOCKET_FILE, TerminalClient};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::time::Instant;

use galatea_host::storage::lock::{self, Holder};

/// Longest time between a process taking the lock and opening its terminal.
const STARTING: Duration = Duration::from_secs(2);
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(50);

/// Connects to a running agent: the one named, or the first. `None` if no agent answers.
///
/// # Errors
/// `NotFound` (`GAL-CHAT-AGENT`) if agents answer, but none has this name; any error of
/// [`TerminalClient::connect`].
pub(crate) async fn connect(
    data_dir: &Path,
    agent: Option<&str>,
    name: &str,
) -> Result<Option<TerminalClient>> {
    galatea_terminal::check_name(name)?;
    let mut running = Vec::new();
    for socket in sockets(data_dir) {
        let client = match TerminalClient::connect(&socket, name).await {
            Ok(client) => client,
            // A crash leaves the socket's file behind.
            Err(error) if error.code() == Some("GAL-TERM-CONNECT") => continue,
            Err(error) => return Err(error),
        };
        match agent {
            Some(wanted) if !is(&client, wanted) => {
                running.push(client.agent().to_owned());
                client.close().await;
            }
            _ => return Ok(Some(client)),
        }
    }
    match agent {
        Some(wanted) if !running.is_empty() => Err(unknown(wanted, &running)),
        _ => Ok(None),
    }
}

/// Like [`connect`], but waits for a process that holds the lock and is still starting.
///
/// # Errors
/// As [`connect`]; `Unavailable` (`GAL-CHAT-OFF`) if that process opens no terminal.
pub(crate) async fn running(
    data_dir: &Path,
    agent: Option<&str>,
    name: &str,
) -> Result<Option<TerminalClient>> {
    let deadline = Instant::now() + STARTING;
    loop {
        let found = connect(data_dir, agent, name).await;
        let late = Instant::now() >= deadline;
        match found {
            Ok(Some(client)) => return Ok(Some(client)),
            Ok(None) => match lock::holder(data_dir)? {
                None => return Ok(None),
                Some(holder) if late => return Err(unresponsive(holder)),
                Some(_) => {}
            },
            // Another agent of the process may open its terminal later.
            Err(error) if error.code() == Some("GAL-CHAT-AGENT") && !late => {}
            Err(error) => return Err(error),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn unresponsive(holder: Holder) -> Error {
    let who =
        holder.pid.map_or_else(|| "another galatea".to_owned(), |pid| format!("process {pid}"));
    Error::new(ErrorKind::Unavailable, format!("{who} runs here, but its terminal is switched off"))
        .with_code("GAL-CHAT-OFF")
        .with_fix("set TERMINAL_ENABLED=true (or leave it out) and start it again")
}

fn is(client: &TerminalClient, wanted: &str) -> bool {
    client.agent().to_lowercase() == wanted.to_lowercase()
        || client.agent_id().to_string() == wanted.to_lowercase()
}

pub(crate) fn unknown(wanted: &str, running: &[String]) -> Error {
    Error::not_found(format!("no agent named {wanted} is running here"))
        .with_code("GAL-CHAT-AGENT")
        .with_fix(format!("choose one of: {}", running.join(", ")))
}

/// The first agent's socket, then the others.
fn sockets(data_dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(data_dir).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| is_socket(name))
        .collect();
    names.sort_by_key(|name| (name != SOCKET_FILE, name.clone()));
    names.into_iter().map(|name| data_dir.join(name)).collect()
}

fn is_socket(name: &str) -> bool {
    name.starts_with("terminal") && name.ends_with(".sock")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_agents_socket_comes_first() {
        let dir = tempfile::tempdir().unwrap();
        for name in
            ["terminal-a.sock", "terminal.sock", "terminal.sock~", "galatea.db", "terminal-0.sock"]
        {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        let found: Vec<_> = sockets(dir.path())
            .iter()
            .map(|p| p.file_name().unwrap().to_str().unwrap().to_owned())
            .collect();
        assert_eq!(found, ["terminal.sock", "terminal-0.sock", "terminal-a.sock"]);
        assert!(sockets(&dir.path().join("missing")).is_empty());
    }
}
