//! Opens a connection to a server, in the era that it speaks.

use galatea_core::{Error, ErrorKind, ExposeSecret, Result};
use http::{HeaderName, HeaderValue};
use rmcp::{
    model::ProtocolVersion,
    service::{
        ClientInitializeError, ClientLifecycleMode, Peer, RoleClient, RunningService,
        serve_client_with_lifecycle,
    },
    transport::{
        StreamableHttpClientTransport, async_rw::AsyncRwTransport, auth::AuthClient,
        streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use std::{collections::HashMap, time::Duration};
use tokio::time::timeout;

use super::{
    Surroundings,
    handler::{Channels, Handler},
};
use crate::{
    child::{
        line::BoundedLines,
        spawn::{self, Process, Said},
    },
    config::{ServerConfig, Transport},
    login,
};

/// Longest message of a server, in bytes: a picture of 3 MB. A quarter of the library's bound, since no
/// chat shows more.
pub(crate) const LONGEST_MESSAGE: usize = 4 << 20;
/// Longest time to open a connection. A legacy server that does not answer the modern question costs ten
/// seconds of it; `npx` may download a server first.
const OPEN: Duration = Duration::from_secs(60);
/// Longest time to close one.
const CLOSE: Duration = Duration::from_secs(6);

/// An open connection.
pub(crate) struct Connection {
    pub(crate) service: RunningService<RoleClient, Handler>,
    pub(crate) channels: Channels,
    process: Option<Process>,
}

impl Connection {
    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    /// Version of the protocol that the server speaks.
    pub(crate) fn version(&self) -> ProtocolVersion {
        self.peer()
            .peer_info()
            .map_or(ProtocolVersion::LATEST, |info| info.protocol_version.clone())
    }

    /// What the server's process said; none of a server with an address.
    pub(crate) fn said(&self) -> Option<Said> {
        self.process.as_ref().map(|process| process.said.clone())
    }

    /// Closes the connection, and waits until the server's process and all that came of it has ended.
    pub(crate) async fn close(mut self) {
        let _ = self.service.close_with_timeout(CLOSE).await;
        drop(self.service);
        if let Some(process) = self.process {
            process.ended().await;
        }
    }
}

/// Opens a connection. `version` is the one that the server spoke last.
///
/// # Errors
/// `Unauthorized` (`GAL-MCP-LOGIN`) if its owner has to sign in, `Timeout` for a server that does not
/// answer, `Unavailable` with the cause for any other failure.
pub(crate) async fn open(
    config: &ServerConfig,
    around: &Surroundings,
    version: Option<&str>,
) -> Result<Connection> {
    match open_once(config, around, lifecycle(version)).await {
        // It knows the modern question, and says that it speaks legacy versions only.
        Err(Unopened::Legacy) => open_once(config, around, ClientLifecycleMode::Initialize).await,
        opened => opened,
    }
    .map_err(|unopened| match unopened {
        Unopened::Error(error) => error,
        Unopened::Legacy => {
            this_is_down(config, "it speaks no version of the protocol that is known here")
        }
    })
}

enum Unopened {
    Legacy,
    Error(Error),
}

async fn open_once(
    config: &ServerConfig,
    around: &Surroundings,
    lifecycle: ClientLifecycleMode,
) -> Result<Connection, Unopened> {
    let is_legacy = |error: &ClientInitializeError| {
        matches!(error, ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. }
            if server_supported.iter().any(ProtocolVersion::has_initialize))
    };
    let channels = Channels::default();
    let handler = Handler(channels.clone());
    match &config.transport {
        Transport::Stdio { .. } => {
            let home = around.places.home(&config.key());
            let spawned = spawn::spawn(config, &around.keeper, &home).map_err(Unopened::Error)?;
            let lines = BoundedLines::new(spawned.stdout, LONGEST_MESSAGE);
            let transport = AsyncRwTransport::new_client(lines, spawned.stdin)
                .with_max_line_length(LONGEST_MESSAGE);
            let serving = serve_client_with_lifecycle(handler, transport, lifecycle);
            let opened = timeout(OPEN, serving).await;
            let said = spawned.process.said.clone();
            match opened {
                Ok(Ok(service)) => {
                    Ok(Connection { service, channels, process: Some(spawned.process) })
                }
                failed => {
                    // The transport is gone, and so its input is closed.
                    spawned.process.ended().await;
                    let error = failed.map(Result::err).ok().flatten();
                    if error.as_ref().is_some_and(is_legacy) {
                        return Err(Unopened::Legacy);
                    }
                    Err(Unopened::Error(unopened(config, error.as_ref(), &said.lines())))
                }
            }
        }
        Transport::Http { .. } => {
            let opened = timeout(OPEN, over_http(config, around, handler, lifecycle)).await;
            match opened {
                Ok(Ok(service)) => Ok(Connection { service, channels, process: None }),
                Ok(Err(Failed::Setup(error))) => Err(Unopened::Error(error)),
                Ok(Err(Failed::Opening(error))) if is_legacy(&error) => Err(Unopened::Legacy),
                Ok(Err(Failed::Opening(error))) => {
                    Err(Unopened::Error(unopened(config, Some(&error), &[])))
                }
                Err(_) => Err(Unopened::Error(unopened(config, None, &[]))),
            }
        }
    }
}

enum Failed {
    Setup(Error),
    Opening(Box<ClientInitializeError>),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Setup(error)
    }
}

impl From<ClientInitializeError> for Failed {
    fn from(error: ClientInitializeError) -> Self {
        Self::Opening(Box::new(error))
    }
}

async fn over_http(
    config: &ServerConfig,
    around: &Surroundings,
    handler: Handler,
    lifecycle: ClientLifecycleMode,
) -> Result<RunningService<RoleClient, Handler>, Failed> {
    let Transport::Http { url, headers, .. } = &config.transport else {
        return Err(Error::unexpected("a server that is a program has no address").into());
    };
    let client = around.http.for_protocol(url, config.loopback)?;
    let mut named = HashMap::new();
    for (name, value) in headers {
        let parsed = name.parse::<HeaderName>().ok().zip(
            HeaderValue::from_str(value.expose_secret()).ok().map(|mut value| {
                value.set_sensitive(true);
                value
            }),
        );
        let Some((name, value)) = parsed else {
            return Err(Error::invalid("a header of an MCP server cannot be sent")
                .with_code("GAL-MCP-HTTP")
                .with("header", galatea_http::redact::plain(name, 60))
                .with_fix("correct its name, and remove line breaks from its value")
                .into());
        };
        named.insert(name, value);
    }
    let has_key = named.contains_key(&http::header::AUTHORIZATION);
    let settings = StreamableHttpClientTransportConfig::with_uri(url.as_str())
        .custom_headers(named)
        .max_json_response_size(LONGEST_MESSAGE)
        .max_sse_event_size(LONGEST_MESSAGE)
        .max_error_response_size(8 << 10)
        .reinit_on_expired_session(true);
    let store =
        login::store::LoginFile::new(around.places.clone(), &config.key(), config.identity());
    if !has_key && store.is_there() {
        let mut manager = login::manager(url, store).await?;
        manager.initialize_from_store().await.map_err(|error| login::failed(&error))?;
        let transport =
            StreamableHttpClientTransport::with_client(AuthClient::new(client, manager), settings);
        return Ok(serve_client_with_lifecycle(handler, transport, lifecycle).await?);
    }
    let transport = StreamableHttpClientTransport::with_client(client, settings);
    Ok(serve_client_with_lifecycle(handler, transport, lifecycle).await?)
}

/// The way to begin: as the server spoke last, or by asking it.
fn lifecycle(version: Option<&str>) -> ClientLifecycleMode {
    let modern = vec![ProtocolVersion::V_2026_07_28];
    match version {
        Some(version) if version < ProtocolVersion::V_2026_07_28.as_str() => {
            ClientLifecycleMode::Initialize
        }
        Some(_) => ClientLifecycleMode::Discover { preferred_versions: modern },
        None => ClientLifecycleMode::Auto {
            preferred_versions: modern,
            legacy_version: Some(ProtocolVersion::V_2025_11_25),
        },
    }
}

/// Why a connection could not be opened, with the last words of the server's process.
fn unopened(
    config: &ServerConfig,
    error: Option<&ClientInitializeError>,
    said: &[String],
) -> Error {
    let Some(error) = error else {
        return Error::new(ErrorKind::Timeout, "an MCP server did not answer")
            .with_code("GAL-MCP-SILENT")
            .with("server", &config.name)
            .with("seconds", OPEN.as_secs())
            .with_fix("run its command by hand, and look at what it waits for");
    };
    if error.is_authorization_required() || error.auth_challenge().is_some() {
        return needs_sign_in(config);
    }
    let failed = this_is_down(config, &shown(&error.to_string()));
    match said.last() {
        Some(last) => failed.with("it said", shown(last)),
        None => failed,
    }
}

fn this_is_down(config: &ServerConfig, cause: &str) -> Error {
    Error::new(ErrorKind::Unavailable, "an MCP server could not be reached")
        .with_code("GAL-MCP-DOWN")
        .with("server", &config.name)
        .with("cause", cause)
        .with_fix("try it with `galatea mcp test`")
}

fn needs_sign_in(config: &ServerConfig) -> Error {
    Error::new(ErrorKind::Unauthorized, "an MCP server wants its owner to sign in")
        .with_code("GAL-MCP-LOGIN")
        .with("server", &config.name)
        .with_fix(format!("run `galatea mcp login {}`", config.name))
}

/// Words of a server, safe to show: bounded, visible, without addresses beyond their host.
pub(crate) fn shown(words: &str) -> String {
    let words = galatea_core::visible::one_line(words);
    galatea_http::redact::shorten(&galatea_http::redact::redact(&words, &[]), 300)
}
