//! Opens TCP connections for WebSockets, through the environment's proxy in the cases where reqwest
//! would use it too.
//!
//! A proxy carries both plain and encrypted WebSockets inside CONNECT (RFC 6455 §4.1, RFC 9110
//! §9.3.6).

use galatea_core::{Error, ErrorKind, Result};
use hyper_util::client::{
    legacy::connect::{HttpConnector, proxy::Tunnel},
    proxy::matcher::Matcher,
};
use reqwest::header::HeaderValue;
use std::{fmt, sync::Arc};
use tokio::net::TcpStream;
use tower_service::Service;
use url::Url;

use crate::{
    client::{is_loopback, place},
    error::codes,
};

/// Decides which addresses are reached through which proxy.
#[derive(Clone)]
pub struct Tunnels(Arc<Matcher>);

impl fmt::Debug for Tunnels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The proxy's address may contain a password.
        f.write_str("Tunnels")
    }
}

impl Tunnels {
    /// Reads `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`.
    pub fn from_environment() -> Self {
        Self(Arc::new(Matcher::from_env()))
    }

    /// Uses one proxy for all hosts except those in `except`, written as in `NO_PROXY`.
    pub fn through(proxy: &str, except: &str) -> Self {
        Self(Arc::new(Matcher::builder().all(proxy).no(except).build()))
    }

    /// Connects to the host and port of an address. As with [`crate::HttpClient`], loopback
    /// addresses never go through a proxy.
    ///
    /// # Errors
    /// `Invalid` for a proxy that cannot carry a WebSocket, `Unavailable` when the proxy or the
    /// host cannot be reached. The error names the hosts.
    pub async fn connect(&self, url: &Url) -> Result<TcpStream> {
        let wrong =
            || Error::invalid("an address without a host and a port").with_code(codes::SETUP);
        let (host, port) =
            (url.host_str().ok_or_else(wrong)?, url.port_or_known_default().ok_or_else(wrong)?);
        // Proxies support only http and https. The port is always written, as CONNECT requires.
        let scheme = if matches!(url.scheme(), "wss" | "https") { "https" } else { "http" };
        let target: http::Uri =
            format!("{scheme}://{host}:{port}/").parse().map_err(|_| wrong())?;
        let proxy = if is_loopback(url) { None } else { self.0.intercept(&target) };
        let Some(proxy) = proxy else {
            let (name, port) = (host.trim_matches(['[', ']']), port);
            return TcpStream::connect((name, port)).await.map_err(|e| {
                unreachable(place(url), "the host cannot be reached").with("cause", e.kind())
            });
        };
        if proxy.uri().scheme_str() != Some("http") {
            return Err(Error::invalid("this proxy cannot carry a WebSocket")
                .with_code(codes::SETUP)
                .with("scheme", proxy.uri().scheme_str().unwrap_or("none"))
                .with_fix("set HTTPS_PROXY to an http:// proxy that allows CONNECT, or except the host with NO_PROXY"));
        }
        let through = proxy.uri().authority().map_or_else(String::new, |a| a.host().to_owned());
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        let mut tunnel = Tunnel::new(proxy.uri().clone(), connector);
        if let Some(credentials) = proxy.basic_auth().cloned() {
            tunnel = tunnel.with_auth(sensitive(credentials));
        }
        let stream = tunnel.call(target).await.map_err(|error| {
            unreachable(place(url), "the proxy did not let us through")
                .with("proxy", through)
                .with("cause", error)
                .with_fix(
                    "check HTTPS_PROXY and what the proxy allows: CONNECT to this host and port",
                )
        })?;
        Ok(stream.into_inner())
    }
}

fn sensitive(mut credentials: HeaderValue) -> HeaderValue {
    credentials.set_sensitive(true);
    credentials
}

fn unreachable(host: String, what: &'static str) -> Error {
    Error::new(ErrorKind::Unavailable, what).with_code(codes::CONNECT).with("host", host)
}
