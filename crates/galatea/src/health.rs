//! Health server on the loopback interface: reports whether this process is alive (`/healthz`) and
//! ready to answer (`/readyz`).

mod owner;

use axum::{
    Json, Router,
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
};
use futures::future::BoxFuture;
use galatea_core::{Error, ErrorKind, Result, Settings, Variable, breaker::BreakerState};
use galatea_http::listen::Limits;
use serde::{Deserialize, Serialize};
use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
};
use tokio::net::TcpListener;

/// Address the health server listens on.
pub(crate) const SERVER_HOST: Variable = Variable::new(
    "SERVER_HOST",
    "Address of the health server; only the loopback interface is allowed.",
)
.or("127.0.0.1");
/// Port of the health server. The default 3000 is elizaOS's.
pub(crate) const SERVER_PORT: Variable =
    Variable::new("SERVER_PORT", "Port of the health server; 0 takes any free one.").or("3000");

/// Every setting this module reads.
pub(crate) const VARIABLES: &[Variable] = &[SERVER_HOST, SERVER_PORT];

/// Answer of `/readyz`: whether the process can work, and the problems that prevent it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Readiness {
    /// No problem was found.
    pub(crate) ready: bool,
    /// Problems, the most severe first.
    pub(crate) reasons: Vec<Reason>,
    /// Every agent with its connectors.
    pub(crate) agents: Vec<AgentState>,
    /// The processes that share the database; `None` for a single process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cluster: Option<ClusterState>,
    /// Findings made while models were in use: names the provider does not have, answers from
    /// another model.
    #[serde(default)]
    pub(crate) remarks: Vec<Reason>,
    /// States of the circuit breakers of accounts and models.
    #[serde(default)]
    pub(crate) breakers: Vec<BreakerState>,
    /// Caps of money or tokens that are almost used up today.
    #[serde(default)]
    pub(crate) budgets: Vec<galatea_runtime::BudgetState>,
    pub(crate) version: String,
    pub(crate) pid: u32,
    /// In seconds, since the process started.
    pub(crate) uptime: u64,
    /// SQL statements since the process started.
    #[serde(default)]
    pub(crate) statements: u64,
    /// Rows written since the process started; SQLite only.
    #[serde(default)]
    pub(crate) rows: Option<u64>,
}

/// The processes that share a database, as this process sees them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClusterState {
    /// Number of live processes.
    pub(crate) alive: usize,
    /// How far the database clock is ahead of this machine's clock, in milliseconds. Negative if it
    /// is behind.
    pub(crate) skew_millis: i64,
    /// Conditions to check although all work is done: clocks that differ, processes with another
    /// version or configuration.
    pub(crate) notes: Vec<Note>,
}

/// A condition to check that does not prevent work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    /// Stable code.
    pub(crate) code: String,
    /// One sentence.
    pub(crate) message: String,
}

/// A problem that prevents work.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Reason {
    /// Subject: `connector`, `model`, `storage`, `cluster` or `process`.
    pub(crate) subject: String,
    /// Name of the affected agent; `None` if the problem affects the process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    /// One sentence.
    pub(crate) message: String,
    /// Stable code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<String>,
    /// What was observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cause: Option<String>,
    /// Where the setting comes from.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub(crate) origin: Option<String>,
    /// The next action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fix: Option<String>,
}

/// An agent in [`Readiness`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AgentState {
    pub(crate) name: String,
    /// Its model, such as `openai gpt-6.1-terra`.
    pub(crate) model: String,
    pub(crate) connectors: Vec<ConnectorState>,
}

/// A connector in [`Readiness`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ConnectorState {
    pub(crate) source: String,
    pub(crate) account: String,
    /// `starting`, `elsewhere`, `up`, `degraded`, `retrying` or `down`.
    pub(crate) state: String,
    /// Details for people.
    pub(crate) detail: String,
}

/// Computes the readiness. Called for every request.
pub(crate) type Probe = Arc<dyn Fn() -> BoxFuture<'static, Readiness> + Send + Sync>;

/// Address to listen on. `port` is the value of the flag `--port`.
///
/// # Errors
/// `Invalid` for an invalid host (`GAL-CFG-VALUE`) and for a host outside the loopback interface
/// (`GAL-BIND`).
pub(crate) fn address(settings: &Settings, port: Option<u16>) -> Result<SocketAddr> {
    let host = settings.text(&SERVER_HOST).unwrap_or_default();
    let host = host.trim();
    let ip = match host {
        "localhost" => IpAddr::V4(Ipv4Addr::LOCALHOST),
        other => other
            .trim_matches(['[', ']'])
            .parse()
            .map_err(|_| settings.complain(&SERVER_HOST, "is not an IP address"))?,
    };
    if !ip.is_loopback() {
        return Err(Error::invalid("the health server answers on this machine only, because it asks for no password")
            .with_code("GAL-BIND")
            .with("where", format!("SERVER_HOST from {}", settings.origin(&SERVER_HOST)))
            .with_fix("remove SERVER_HOST or set it to 127.0.0.1; in a container use `galatea status` as the health check"));
    }
    let port = match port {
        Some(port) => port,
        None => settings.parse(&SERVER_PORT, "a port number from 0 to 65535")?.unwrap_or(0),
    };
    Ok(SocketAddr::new(ip, port))
}

/// Binds the port. Never falls back to another port.
///
/// # Errors
/// `Conflict` (`GAL-PORT`) with the process that uses the port, if it can be determined.
pub(crate) async fn bind(address: SocketAddr, origin: &str) -> Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|e| refused(address, e).with("where", origin))
}

/// Where the port number comes from, for error messages. `port` is the value of the flag `--port`.
pub(crate) fn origin(settings: &Settings, port: Option<u16>) -> String {
    match (port, settings.find(&SERVER_PORT)) {
        (Some(_), _) => "--port on the command line".to_owned(),
        (None, Some(setting)) => format!("{} from {}", SERVER_PORT.name, setting.origin),
        (None, None) => format!("the default of {}", SERVER_PORT.name),
    }
}

fn refused(address: SocketAddr, source: io::Error) -> Error {
    if source.kind() != io::ErrorKind::AddrInUse {
        return Error::new(ErrorKind::Unavailable, "the health server cannot listen")
            .with_code("GAL-BIND")
            .with("cause", format!("{address}: {source}"))
            .with_fix("choose another port with `--port` or SERVER_PORT")
            .with_source(source);
    }
    let who = owner::of(address).unwrap_or_else(|| "another process".to_owned());
    Error::new(ErrorKind::Conflict, format!("port {} is taken by {who}", address.port()))
        .with_code("GAL-PORT")
        .with("cause", format!("something listens on {address} already"))
        .with_fix("stop that process, or choose another port with `--port` or SERVER_PORT")
}

/// Serves requests until the future is dropped.
pub(crate) async fn serve(listener: TcpListener, probe: Probe) -> io::Result<()> {
    galatea_http::listen::serve(listener, router(probe), Limits::LOCAL, std::future::pending())
        .await
}

fn router(probe: Probe) -> Router {
    Router::new()
        .route("/healthz", get(async || Json(serde_json::json!({ "status": "alive" }))))
        .route("/readyz", get(ready))
        .route(
            "/version",
            get(async || {
                Json(serde_json::json!({ "name": "galatea", "version": env!("CARGO_PKG_VERSION") }))
            }),
        )
        .with_state(probe)
        .layer(middleware::from_fn(only_for_this_host))
}

async fn ready(State(probe): State<Probe>) -> Response {
    let readiness = probe().await;
    let status = if readiness.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, [(header::CACHE_CONTROL, "no-store")], Json(readiness)).into_response()
}

/// Rejects requests whose `Host` header does not name the loopback interface. In a DNS rebinding
/// attack, a web page whose name points to 127.0.0.1 sends its own name.
async fn only_for_this_host(request: Request, next: Next) -> Response {
    let named = request.uri().host().is_none_or(is_this_host)
        && host(request.headers()).is_some_and(is_this_host);
    if named {
        return next.run(request).await;
    }
    let body = serde_json::json!({ "error": "this server answers to its loopback address only", "code": "GAL-HOST" });
    (StatusCode::FORBIDDEN, Json(body)).into_response()
}

fn host(headers: &HeaderMap) -> Option<&str> {
    let mut all = headers.get_all(header::HOST).iter();
    let only = all.next()?.to_str().ok()?;
    // Two Host headers are a smuggling attempt (RFC 9112 §3.2).
    all.next().is_none().then_some(only)
}

/// Whether `host[:port]` names the loopback interface.
fn is_this_host(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((name, "")) => name,
            Some((name, port)) if port.starts_with(':') => name,
            _ => return false,
        },
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    fn probe(ready: bool) -> Probe {
        Arc::new(move || {
            Box::pin(async move {
                let reason = Reason {
                    subject: "model".into(),
                    message: "no model answers".into(),
                    ..Reason::default()
                };
                let reasons = if ready { Vec::new() } else { vec![reason] };
                Readiness {
                    ready,
                    reasons,
                    agents: Vec::new(),
                    remarks: Vec::new(),
                    cluster: None,
                    breakers: Vec::new(),
                    budgets: Vec::new(),
                    version: "0".into(),
                    pid: 1,
                    uptime: 2,
                    statements: 3,
                    rows: None,
                }
            })
        })
    }

    async fn ask(address: SocketAddr, request: &str) -> String {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    async fn server(ready: bool) -> SocketAddr {
        let listener = bind("127.0.0.1:0".parse().unwrap(), "here").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(serve(listener, probe(ready)));
        address
    }

    #[tokio::test]
    async fn the_three_questions() {
        let address = server(true).await;
        for (path, expect) in [
            ("/healthz", "\"alive\""),
            ("/readyz", "\"ready\":true"),
            ("/version", env!("CARGO_PKG_VERSION")),
        ] {
            let answer = ask(
                address,
                &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
            )
            .await;
            assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains(expect), "{answer}");
        }
        let address = server(false).await;
        let answer = ask(
            address,
            "GET /readyz HTTP/1.1\r\nHost: 127.0.0.1:3000\r\nConnection: close\r\n\r\n",
        )
        .await;
        assert!(
            answer.starts_with("HTTP/1.1 503 ") && answer.contains("no model answers"),
            "{answer}"
        );
    }

    #[tokio::test]
    async fn half_sent_requests_take_no_room() {
        let address = server(true).await;
        let mut halves = Vec::new();
        for _ in 0..500 {
            let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
            stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: local").await.unwrap();
            halves.push(stream);
        }
        let answer =
            ask(address, "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                .await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        // The server closes the oldest connections beyond its limit.
        for stream in &mut halves[..500 - Limits::LOCAL.connections] {
            assert!(matches!(stream.read(&mut [0]).await, Ok(0) | Err(_)));
        }
    }

    #[tokio::test]
    async fn strange_hosts_and_methods_are_refused() {
        let address = server(true).await;
        for host in [
            "Host: evil.example\r\n",
            "Host: 127.0.0.1.evil.example\r\n",
            "Host: 10.0.0.1\r\n",
            "",
            "Host: localhost\r\nHost: evil.example\r\n",
        ] {
            let answer =
                ask(address, &format!("GET /readyz HTTP/1.1\r\n{host}Connection: close\r\n\r\n"))
                    .await;
            assert!(answer.starts_with("HTTP/1.1 4"), "{host}: {answer}");
            assert!(!answer.contains("\"ready\""), "{host}: {answer}");
        }
        let answer = ask(address, "GET http://evil.example/readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
        let answer = ask(address, "POST /readyz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 405"), "{answer}");
    }

    #[test]
    fn hosts_are_told_apart() {
        for good in
            ["localhost", "LOCALHOST:3000", "127.0.0.1", "127.9.9.9:1", "[::1]", "[::1]:3000"]
        {
            assert!(is_this_host(good), "{good}");
        }
        for bad in [
            "",
            "evil",
            "[::1",
            "[::1]evil",
            "[::2]",
            "localhost.evil",
            "0.0.0.0",
            "192.168.0.1:80",
            "::1",
        ] {
            assert!(!is_this_host(bad), "{bad}");
        }
    }

    #[tokio::test]
    async fn a_taken_port_names_its_owner() {
        let first = bind("127.0.0.1:0".parse().unwrap(), "here").await.unwrap();
        let error = bind(first.local_addr().unwrap(), "here").await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Conflict, Some("GAL-PORT")));
        #[cfg(target_os = "linux")]
        assert!(error.message().contains(&std::process::id().to_string()), "{error}");
        assert!(error.fix().unwrap().contains("--port"));
    }

    #[test]
    fn only_the_loopback_interface() {
        let settings =
            |host: &str| Settings::from_pairs([("SERVER_HOST", host), ("SERVER_PORT", "8080")]);
        assert_eq!(address(&settings("localhost"), None).unwrap().to_string(), "127.0.0.1:8080");
        assert_eq!(address(&settings("::1"), Some(9)).unwrap().to_string(), "[::1]:9");
        assert_eq!(address(&Settings::default(), None).unwrap().to_string(), "127.0.0.1:3000");
        for open in ["0.0.0.0", "::", "192.168.1.1"] {
            assert_eq!(
                address(&settings(open), None).unwrap_err().code(),
                Some("GAL-BIND"),
                "{open}"
            );
        }
        assert_eq!(
            address(&settings("example.org"), None).unwrap_err().code(),
            Some("GAL-CFG-VALUE")
        );
        assert_eq!(
            address(&Settings::from_pairs([("SERVER_PORT", "70000")]), None).unwrap_err().code(),
            Some("GAL-CFG-VALUE")
        );
    }
}
