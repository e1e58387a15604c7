//! The outgoing HTTP client: a cheap handle to a shared connection pool.

use std::{
    fmt,
    net::IpAddr,
    sync::{Arc, OnceLock},
    time::Duration,
};

use galatea_core::{Clock, Error, Result, SystemClock};
use reqwest::redirect::Policy;
use url::{Host, Url};

use crate::{error::codes, resolver, tls};

/// Options of the client. A request can override the timeouts and the size limit.
#[derive(Clone)]
pub struct HttpOptions {
    /// Longest time to connect, including DNS and TLS.
    pub connect_timeout: Duration,
    /// Longest time from sending to the last byte of the answer.
    pub total_timeout: Duration,
    /// Value of the `User-Agent` header.
    pub user_agent: String,
    /// Time for which an idle connection is kept.
    pub idle_connection: Duration,
    /// Most idle connections kept per host. Each takes about 30 KiB here and a connection at the
    /// server. When more than this many requests run at once, the surplus opens a new connection
    /// per request.
    pub idle_connections: usize,
    /// Longest answer read, in bytes after decompression.
    pub max_body: usize,
    /// Use `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`. Loopback addresses never go
    /// through a proxy.
    pub proxy_from_environment: bool,
    /// Addresses the operator exempts from the guard of [`HttpClient::fetch_untrusted`], such as an
    /// internal file server.
    pub untrusted_exceptions: Vec<IpAddr>,
    /// The clock that `Retry-After` dates are compared with.
    pub clock: Arc<dyn Clock>,
}

impl Default for HttpOptions {
    /// 5 s to connect, 120 s in total, 16 MiB; 128 idle connections per host, kept for 90 s.
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            total_timeout: Duration::from_secs(120),
            user_agent: concat!("galatea/", env!("CARGO_PKG_VERSION")).to_owned(),
            idle_connection: Duration::from_secs(90),
            idle_connections: 128,
            max_body: 16 << 20,
            proxy_from_environment: true,
            untrusted_exceptions: Vec::new(),
            clock: Arc::new(SystemClock),
        }
    }
}

impl fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpOptions")
            .field("connect_timeout", &self.connect_timeout)
            .field("total_timeout", &self.total_timeout)
            .field("max_body", &self.max_body)
            .finish_non_exhaustive()
    }
}

/// The outgoing HTTP client. Clones share one pool of connections.
#[derive(Clone)]
pub struct HttpClient(Arc<Inner>);

struct Inner {
    options: HttpOptions,
    through_proxy: bool,
    /// Each is built by its first request: many processes need only one of them, and none before
    /// they are ready.
    direct: OnceLock<reqwest::Client>,
    proxied: OnceLock<reqwest::Client>,
    guarded: OnceLock<reqwest::Client>,
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HttpClient").field(&self.0.options).finish()
    }
}

impl HttpClient {
    /// Creates the client. Makes no network calls. The first request sets up TLS and reports its
    /// errors, unless a proxy is set.
    ///
    /// # Errors
    /// `Invalid` for an invalid user agent. `Unexpected` when the HTTP library or TLS cannot be set
    /// up, which is tried here only if a proxy is set.
    pub fn new(options: HttpOptions) -> Result<Self> {
        if reqwest::header::HeaderValue::try_from(&options.user_agent).is_err() {
            return Err(Error::invalid("the user agent is not a valid header value")
                .with_code(codes::SETUP));
        }
        let through_proxy = options.proxy_from_environment && proxy_in_environment();
        let client = Self(Arc::new(Inner {
            options,
            through_proxy,
            direct: OnceLock::new(),
            proxied: OnceLock::new(),
            guarded: OnceLock::new(),
        }));
        if through_proxy {
            client.proxied()?;
        }
        Ok(client)
    }

    pub(crate) fn direct(&self) -> Result<&reqwest::Client> {
        made(&self.0.direct, || base(&self.0.options).no_proxy())
    }

    pub(crate) fn proxied(&self) -> Result<&reqwest::Client> {
        if self.0.through_proxy {
            made(&self.0.proxied, || base(&self.0.options))
        } else {
            self.direct()
        }
    }

    pub(crate) fn guarded(&self) -> Result<&reqwest::Client> {
        made(&self.0.guarded, || {
            resolver::guard(base(&self.0.options).no_proxy(), &self.0.options.untrusted_exceptions)
        })
    }

    /// The options that the client was built with.
    pub fn options(&self) -> &HttpOptions {
        &self.0.options
    }
}

fn base(options: &HttpOptions) -> reqwest::ClientBuilder {
    // Redirects are not followed: custom key headers would be sent to the new host, and no API that
    // Galatea calls redirects.
    reqwest::Client::builder()
        .redirect(Policy::none())
        .referer(false)
        .tcp_nodelay(true)
        .connect_timeout(options.connect_timeout)
        .pool_idle_timeout(options.idle_connection)
        .pool_max_idle_per_host(options.idle_connections)
        .user_agent(&options.user_agent)
}

fn made(
    place: &OnceLock<reqwest::Client>,
    builder: impl FnOnce() -> reqwest::ClientBuilder,
) -> Result<&reqwest::Client> {
    match place.get() {
        Some(client) => Ok(client),
        // Two concurrent first requests may both build a client; one is kept.
        None => build(builder()).map(|client| place.get_or_init(|| client)),
    }
}

fn build(builder: reqwest::ClientBuilder) -> Result<reqwest::Client> {
    builder.tls_backend_preconfigured(tls::connector()?).build().map_err(|error| {
        Error::unexpected("the HTTP client could not be set up")
            .with_code(codes::SETUP)
            .with_fix("check the proxy variables and the certificate file named by SSL_CERT_FILE")
            .with_source(crate::error::chain(&error.without_url()))
    })
}

fn proxy_in_environment() -> bool {
    ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => {
            name.eq_ignore_ascii_case("localhost")
                || name.to_ascii_lowercase().ends_with(".localhost")
        }
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

/// `host:port` of a URL, the only part that may appear in messages.
pub fn place(url: &Url) -> String {
    match (url.host_str(), url.port_or_known_default()) {
        (Some(host), Some(port)) => format!("{host}:{port}"),
        (Some(host), None) => host.to_owned(),
        _ => "unknown host".to_owned(),
    }
}
