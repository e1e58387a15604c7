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
use galatea_core::{Error, ErrorKind, Result, Settings, redact::Redactor};
use galatea_host::{
    config::{SERVER_HOST, SERVER_PORT},
    readiness::Probe,
};
use galatea_http::listen::Limits;
use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
};
use tokio::net::TcpListener;

use crate::process::version;

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
            .map_err(|_| settings.invalid_setting(&SERVER_HOST, "is not an IP address"))?,
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

/// Serves requests until the future is dropped. `redactor` masks secrets in what they are answered.
pub(crate) async fn serve(
    listener: TcpListener,
    probe: Probe,
    redactor: Redactor,
) -> io::Result<()> {
    let router = router(probe, redactor);
    galatea_http::listen::serve(listener, router, Limits::LOCAL, std::future::pending()).await
}

fn router(probe: Probe, redactor: Redactor) -> Router {
    Router::new()
        .route("/healthz", get(async || Json(serde_json::json!({ "status": "alive" }))))
        .route("/readyz", get(ready))
        .route(
            "/version",
            get(async || {
                Json(serde_json::json!({
                    "name": "galatea",
                    "version": env!("CARGO_PKG_VERSION"),
                    "commit": version::commit(),
                }))
            }),
        )
        .with_state((probe, redactor))
        .layer(middleware::from_fn(only_for_this_host))
}

async fn ready(State((probe, redactor)): State<(Probe, Redactor)>) -> Response {
    let readiness = probe().await;
    let status = if readiness.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    match serde_json::to_string(&readiness) {
        Ok(text) => {
            let headers =
                [(header::CACHE_CONTROL, "no-store"), (header::CONTENT_TYPE, "application/json")];
            (status, headers, redactor.clean(&text).into_owned()).into_response()
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
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
mod tests;
