//! Fetches addresses that strangers supply, and prevents them from reaching the internal network
//! (SSRF).
//!
//! The resolver of the connection itself checks each address. The checked address is therefore the
//! one connected to, and a name that changes its address between two look-ups gains nothing.
//! Literal addresses bypass resolvers, so they are checked before each hop. No proxy is used, since
//! it would resolve names without this check.

use bytes::Bytes;
use galatea_core::{Error, ErrorKind, Result, Sent};
use reqwest::header::LOCATION;
use std::{error::Error as StdError, fmt, net::IpAddr, time::Duration};
use tokio::time::{Instant, timeout_at};
use url::{Host, Url};

use super::resolver::{Denied, check};
use crate::{
    client::{HttpClient, is_loopback, place},
    error::{codes, status_error, timed_out, transport},
    response::Response,
};

/// Bounds of one fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchLimits {
    /// Longest body, in bytes after decompression.
    pub max_bytes: usize,
    /// Longest total time, redirects included.
    pub total: Duration,
    /// Most redirects followed; each is checked again.
    pub max_redirects: u8,
}

impl Default for FetchLimits {
    /// 20 MiB, 20 s, 5 redirects.
    fn default() -> Self {
        Self { max_bytes: 20 << 20, total: Duration::from_secs(20), max_redirects: 5 }
    }
}

/// The result of a fetch.
#[derive(Clone, PartialEq, Eq)]
pub struct Fetched {
    /// The body.
    pub bytes: Bytes,
    /// Media type without parameters, as the server states it; empty when it does not.
    pub media_type: String,
}

impl fmt::Debug for Fetched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fetched({} bytes, {})", self.bytes.len(), self.media_type)
    }
}

impl HttpClient {
    /// Fetches an address that a stranger supplied; see [`crate::untrusted`].
    ///
    /// # Errors
    /// `Forbidden` with [`codes::SSRF`] for an address inside our network, `Invalid` for another
    /// scheme or too many bytes, `Timeout`, `Unavailable`, or the kind that belongs to the HTTP
    /// status.
    pub async fn fetch_untrusted(&self, url: &str, limits: &FetchLimits) -> Result<Fetched> {
        fetch(self, self.guarded()?, url, limits).await
    }

    /// The client itself, for a protocol that another library speaks to the server of an address. It
    /// connects to public addresses only, follows no redirect and uses no proxy. `loopback` says that
    /// the operator allowed an address of this machine.
    ///
    /// # Errors
    /// `Forbidden` with [`codes::SSRF`] for an address inside our network, `Invalid` for another
    /// scheme, `Unexpected` when the client cannot be set up.
    pub fn for_protocol(&self, url: &Url, loopback: bool) -> Result<reqwest::Client> {
        if loopback && is_loopback(url) {
            return self.direct().cloned();
        }
        admit(url, &self.options().untrusted_exceptions)?;
        self.guarded().cloned()
    }

    /// True if [`HttpClient::fetch_untrusted`] refuses the host of an address whatever its name
    /// resolves to: an address of an internal network, or this machine. Called for error messages.
    pub fn refuses(&self, url: &Url) -> bool {
        let refused = |ip| check(ip, &self.options().untrusted_exceptions).is_some();
        match url.host() {
            Some(Host::Ipv4(ip)) => refused(ip.into()),
            Some(Host::Ipv6(ip)) => refused(ip.into()),
            Some(Host::Domain(_)) | None => is_loopback(url),
        }
    }
}

async fn fetch(
    client: &HttpClient,
    guarded: &reqwest::Client,
    url: &str,
    limits: &FetchLimits,
) -> Result<Fetched> {
    let start = Instant::now();
    let exceptions = &client.options().untrusted_exceptions;
    let mut url = Url::parse(url).map_err(|error| {
        Error::invalid("this is not a valid URL").with_code(codes::URL).with("cause", error)
    })?;
    for _ in 0..=limits.max_redirects {
        admit(&url, exceptions)?;
        let here = place(&url);
        let answer = match timeout_at(start + limits.total, guarded.get(url.clone()).send()).await {
            Ok(answer) => answer.map_err(|error| explain(error, &here))?,
            Err(_) => {
                return Err(timed_out("no answer within the time allowed", &here, limits.total)
                    .with_sent(Sent::No));
            }
        };
        if answer.status().is_redirection()
            && let Some(next) = answer.headers().get(LOCATION)
        {
            url = next.to_str().ok().and_then(|next| url.join(next).ok()).ok_or_else(|| {
                Error::invalid("the server redirects to an invalid URL")
                    .with_code(codes::URL)
                    .with("host", &here)
            })?;
            continue;
        }
        let answer = Response::new(
            answer,
            here,
            start,
            limits.total,
            None,
            limits.max_bytes,
            client.options().clock.clone(),
        );
        if !answer.is_success() {
            return Err(status_error(answer.status(), answer.place(), answer.retry_after())
                .with_sent(Sent::No));
        }
        let media_type = answer.media_type();
        return Ok(Fetched { bytes: answer.bytes().await?, media_type });
    }
    let message = match limits.max_redirects {
        0 => "the server redirects to another address, which is not followed here",
        _ => "the server redirects too often",
    };
    Err(Error::invalid(message)
        .with_code(codes::URL)
        .with("host", place(&url))
        .with_fix("give the address to which it redirects"))
}

/// Checks scheme, user info and literal addresses. Names are checked when they are resolved.
fn admit(url: &Url, exceptions: &[IpAddr]) -> Result<()> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(
            Error::invalid("only http and https addresses are fetched").with_code(codes::URL)
        );
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Error::invalid("addresses with a user name are not fetched")
            .with_code(codes::URL)
            .with("host", place(url)));
    }
    let literal = match url.host() {
        Some(Host::Ipv4(ip)) => Some(IpAddr::V4(ip)),
        Some(Host::Ipv6(ip)) => Some(IpAddr::V6(ip)),
        Some(Host::Domain(_)) => None,
        None => return Err(Error::invalid("the address names no host").with_code(codes::URL)),
    };
    match literal.and_then(|ip| check(ip, exceptions)) {
        Some(why) => Err(refused(why, &place(url))),
        None => Ok(()),
    }
}

fn explain(error: reqwest::Error, place: &str) -> Error {
    let mut next: Option<&(dyn StdError + 'static)> = Some(&error);
    while let Some(source) = next {
        if let Some(Denied(why)) = source.downcast_ref() {
            return refused(why, place);
        }
        next = source.source();
    }
    transport(error, place)
}

fn refused(why: &'static str, place: &str) -> Error {
    Error::new(
        ErrorKind::Forbidden,
        "this address lies inside a network that strangers must not reach",
    )
    .with_code(codes::SSRF)
    .with("host", place)
    .with("why", why)
}

#[cfg(test)]
mod tests;
