//! `galatea connector login`: logs in with a browser, and stores the tokens in the data folder.

use clap::Args;
use galatea_core::{BrowserLogin, Clock, Error, ErrorKind, Host, SystemClock};
use std::{process::ExitCode, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    sync::mpsc,
};
use url::Url;

use crate::{
    cli::flags::Characters,
    context::Context,
    report::{
        exit::Exit,
        failure::{Failure, Result},
    },
};
use galatea_host::{
    characters::personas, platforms::PLATFORMS, report::Report, storage::data_dir::DataDir,
};

/// In bytes. The address with its code is far shorter.
const MAX_REQUEST: usize = 16 << 10;
/// Longest wait for a request, so that an idle connection does not block the browser's.
const PATIENCE: Duration = Duration::from_secs(5);

/// Log in to a platform with a browser
///
/// Prints the page to open. When the browser comes back to this machine, or its last address is
/// pasted here, the tokens are kept.
#[derive(Debug, Clone, Args)]
pub(super) struct Login {
    /// Platform, such as x
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    characters: Characters,
}

impl Login {
    /// Logs in for the first of the characters.
    pub(super) async fn run(&self, context: &Context) -> Result<ExitCode> {
        let wanted = self.name.to_lowercase();
        let platform = PLATFORMS
            .iter()
            .find(|p| p.source.as_str() == wanted)
            .ok_or_else(|| super::names::unknown(&wanted))?;
        let configuration = context.configuration()?;
        let data_dir = DataDir::locate(&configuration.settings, &context.working_dir);
        let personas =
            personas::load(&self.characters.characters, configuration, &context.working_dir)?;
        let persona = personas
            .first()
            .ok_or_else(|| Error::invalid("there is no character to log in for"))?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let agent_name = persona.character.name.clone();
        let host = Host {
            agent: persona.character.identity(),
            agent_name: agent_name.clone(),
            data_dir: data_dir.path().to_owned(),
            clock,
        };
        let login =
            (platform.login)(&persona.settings, &host)?.ok_or_else(|| nothing(platform.title))?;
        data_dir.create()?;
        context.output.say(format_args!(
            "Open this page, log in as the account {agent_name} is to use, and allow the app:\n"
        ));
        context.output.data(login.page());
        let who = wait(login.as_ref(), context).await?;
        context
            .output
            .say(format_args!("✓ {} of {agent_name} is logged in as {who}", platform.title));
        Ok(ExitCode::SUCCESS)
    }
}

fn nothing(title: &str) -> Error {
    Error::invalid(format!("{title} needs no login with a browser here"))
        .with_code("GAL-CONNECTOR-LOGIN")
        .with_fix("for X set TWITTER_CLIENT_ID, and leave the four keys of OAuth 1.0a out; other platforms take their token from the settings")
}

/// Waits for the browser or for a pasted address, whichever comes first.
async fn wait(login: &dyn BrowserLogin, context: &Context) -> Result<String> {
    let listener = listen(login.redirect()).await;
    context.output.say(match listener {
        Some(_) => "\nWaiting for the browser to come back. If it runs on another machine, paste the address it ends at here:",
        None => "\nPaste the address the browser ends at here:",
    });
    let mut lines = pasted();
    let mut typing = true;
    loop {
        let answer = tokio::select! {
            answer = from_browser(listener.as_ref(), login.redirect()) => answer,
            line = lines.recv(), if typing => match line {
                Some(line) => Some(line).filter(|line| !line.trim().is_empty()),
                // The parent process may have closed stdin. The browser can still connect.
                None if listener.is_some() => { typing = false; None }
                None => return Err(Failure::usage("nothing was pasted", "run it in a terminal, or let the browser come back to this machine")),
            },
            _ = tokio::signal::ctrl_c() => return Err(Failure::new(Vec::new(), Exit::Interrupted)),
        };
        let Some(answer) = answer else { continue };
        match login.finish(&answer).await {
            Ok(who) => return Ok(who),
            // The address belongs to another login, or is mistyped. The right one may still come.
            Err(error) if error.kind() == ErrorKind::Invalid => {
                context.output.report(&Report::from(&error))
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Lines of stdin, read by a thread that is not joined. The runtime's reader would keep the process
/// alive until the next line.
fn pasted() -> mpsc::Receiver<String> {
    let (put, lines) = mpsc::channel(16);
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(std::io::Result::ok) {
            if put.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// A listener on the address of the redirect, if it is on this machine.
async fn listen(redirect: &str) -> Option<TcpListener> {
    let url = Url::parse(redirect).ok().filter(|url| url.scheme() == "http")?;
    let host = url.host_str().filter(|host| matches!(*host, "127.0.0.1" | "localhost"))?;
    TcpListener::bind((host, url.port_or_known_default()?)).await.ok()
}

/// The address a browser was redirected to. `None` for any other request.
async fn from_browser(listener: Option<&TcpListener>, redirect: &str) -> Option<String> {
    let Some(listener) = listener else { return std::future::pending().await };
    let (mut stream, _) = listener.accept().await.ok()?;
    let mut request = Vec::new();
    let mut buffer = [0_u8; 1024];
    let read = async {
        while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < MAX_REQUEST {
            match stream.read(&mut buffer).await {
                Ok(0) | Err(_) => break,
                Ok(n) => request.extend_from_slice(&buffer[..n]),
            }
        }
    };
    let _ = tokio::time::timeout(PATIENCE, read).await;
    let answer = address(&request, redirect);
    let (status, words) = if answer.is_some() {
        ("200 OK", "Galatea has what it needs. You can close this page.")
    } else {
        ("404 Not Found", "Nothing here.")
    };
    let response = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{words}",
        words.len()
    );
    let _ = tokio::time::timeout(PATIENCE, stream.write_all(response.as_bytes())).await;
    answer
}

/// The full address of a GET request for the path of the redirect.
fn address(request: &[u8], redirect: &str) -> Option<String> {
    let head = std::str::from_utf8(request).ok()?;
    let target = head.lines().next()?.strip_prefix("GET ")?.split(' ').next()?;
    let url = Url::parse(redirect).ok()?.join(target).ok()?;
    (url.path() == Url::parse(redirect).ok()?.path() && url.query().is_some())
        .then(|| url.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_redirects_path_with_a_query_is_an_answer() {
        let redirect = "http://127.0.0.1:8765/callback";
        assert_eq!(
            address(b"GET /callback?state=s&code=c HTTP/1.1\r\nhost: x\r\n\r\n", redirect)
                .as_deref(),
            Some("http://127.0.0.1:8765/callback?state=s&code=c")
        );
        for other in [
            "GET /favicon.ico HTTP/1.1\r\n\r\n",
            "GET /callback HTTP/1.1\r\n\r\n",
            "POST /callback?code=c HTTP/1.1\r\n\r\n",
            "",
            "\u{1}\u{2}",
        ] {
            assert_eq!(address(other.as_bytes(), redirect), None, "{other}");
        }
    }
}
