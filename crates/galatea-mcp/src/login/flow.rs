//! Signing in at a server: the browser of the owner, and a callback on this machine.

use galatea_core::{Error, ErrorKind, Result};
use rmcp::transport::auth::{AuthorizationManager, AuthorizationRequest, OAuthState};
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};
use url::Url;

use super::store::LoginFile;
use crate::{
    config::{ServerConfig, Transport},
    places::Places,
};

/// How long the owner may take in the browser.
const PATIENCE: Duration = Duration::from_secs(600);
/// Longest request of the browser that is read, in bytes.
const REQUEST: usize = 16 << 10;

/// A sign-in that waits for the owner.
pub struct Login {
    state: OAuthState,
    listener: TcpListener,
    /// The address that the owner opens: https, or one of this machine.
    pub address: String,
}

/// The name under which we register at a server.
const CLIENT: &str = "Galatea";

pub(crate) async fn manager(url: &Url, store: LoginFile) -> Result<AuthorizationManager> {
    let mut manager =
        AuthorizationManager::new(url.as_str()).await.map_err(|error| failed(&error))?;
    manager.set_credential_store(store);
    Ok(manager)
}

/// Begins to sign in. Makes the callback's port, and asks the server where its owner signs in.
///
/// # Errors
/// `Invalid` for a server without an address, `Unauthorized` (`GAL-MCP-LOGIN`) if the server offers no
/// way to sign in.
pub async fn begin(config: &ServerConfig, places: &Places) -> Result<Login> {
    let Transport::Http { url, .. } = &config.transport else {
        return Err(Error::invalid("a server that is a program has no sign-in")
            .with_code("GAL-MCP-LOGIN")
            .with("server", &config.name)
            .with_fix("give it its key in \"env\""));
    };
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(|error| {
        Error::new(ErrorKind::Exhausted, "no port for the answer of the browser is free")
            .with_source(error)
    })?;
    let port = listener.local_addr().map(|address| address.port()).unwrap_or_default();
    let store = LoginFile::new(places.clone(), &config.key(), config.identity());
    let mut state = OAuthState::Unauthorized(manager(url, store).await?);
    let request = AuthorizationRequest::new(format!("http://127.0.0.1:{port}/callback"))
        .with_client_name(CLIENT)
        .with_application_type("native");
    state.start_authorization(request).await.map_err(|error| failed(&error))?;
    let address = state.get_authorization_url().await.map_err(|error| failed(&error))?;
    check(&address)?;
    Ok(Login { state, listener, address })
}

impl Login {
    /// Waits until the owner has signed in, at most ten minutes, and stores the login.
    ///
    /// # Errors
    /// `Timeout` without an answer of the browser, `Unauthorized` (`GAL-MCP-LOGIN`) if the server
    /// refuses.
    pub async fn finish(mut self) -> Result<()> {
        let answer = timeout(PATIENCE, answer(&self.listener)).await.map_err(|_| {
            Error::new(ErrorKind::Timeout, "the browser did not come back from the sign-in")
                .with_code("GAL-MCP-LOGIN")
                .with_fix("sign in again, within ten minutes")
        })??;
        let (mut stream, address) = answer;
        let result = self.state.handle_callback_url(&address).await;
        let words = match &result {
            Ok(()) => "Signed in. You can close this page.",
            Err(_) => "The sign-in failed. The terminal says why.",
        };
        let page = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{words}",
            words.len()
        );
        let _ = stream.write_all(page.as_bytes()).await;
        result.map_err(|error| failed(&error))
    }
}

/// The first request for the callback. Others, such as one for an icon, are refused.
async fn answer(listener: &TcpListener) -> Result<(TcpStream, String)> {
    loop {
        let (mut stream, _) = listener.accept().await.map_err(|error| {
            Error::unexpected("the answer of the browser could not be read").with_source(error)
        })?;
        let mut bytes = Vec::new();
        let mut piece = [0_u8; 2_048];
        let read = async {
            while bytes.len() < REQUEST && !bytes.windows(4).any(|end| end == b"\r\n\r\n") {
                match stream.read(&mut piece).await {
                    Ok(some @ 1..) => {
                        bytes.extend_from_slice(piece.get(..some).unwrap_or_default())
                    }
                    _ => break,
                }
            }
        };
        let _ = timeout(Duration::from_secs(5), read).await;
        let text = String::from_utf8_lossy(&bytes);
        let path = text.split_whitespace().nth(1).unwrap_or_default();
        if text.starts_with("GET /callback?") {
            let port = listener.local_addr().map(|address| address.port()).unwrap_or_default();
            return Ok((stream, format!("http://127.0.0.1:{port}{path}")));
        }
        let refused = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        let _ = stream.write_all(refused).await;
    }
}

/// Refuses an address to sign in at that no browser should open.
fn check(address: &str) -> Result<()> {
    let url = Url::parse(address).ok();
    let fine = url.as_ref().is_some_and(|url| {
        url.scheme() == "https" || (url.scheme() == "http" && crate::config::is_loopback(url))
    });
    if fine {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Unauthorized,
        "the server names an address to sign in at that is not https",
    )
    .with_code("GAL-MCP-LOGIN")
    .with_fix("tell the operator of the server"))
}

/// An error of the sign-in, without tokens or whole addresses.
pub(crate) fn failed(error: &rmcp::transport::auth::AuthError) -> Error {
    let cause = galatea_http::redact::redact(&error.to_string(), &[]);
    Error::new(ErrorKind::Unauthorized, "the sign-in at an MCP server failed")
        .with_code("GAL-MCP-LOGIN")
        .with("cause", galatea_http::redact::shorten(&cause, 300))
        .with_fix("sign in again with `galatea mcp login`")
}
