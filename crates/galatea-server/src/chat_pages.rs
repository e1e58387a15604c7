//! Pages of other servers that may show the chat script, and what their browsers ask first.

use axum::{
    extract::Request,
    http::{HeaderName, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use std::{
    collections::VecDeque,
    sync::{Mutex, OnceLock},
    time::{Duration, Instant},
};
use tokio::sync::Semaphore;

/// Addresses of the chat script begin with it.
const PREFIX: &str = "/embed/";
/// Answers to visitors that are under way at once.
const AT_ONCE: usize = 32;
/// New visitors a minute, of all pages together: each of them costs a row of several tables, and has a budget of
/// their own.
const NEW: usize = 60;
const WITHIN: Duration = Duration::from_secs(60);

/// The pages that may show the chat, and bounds of what their visitors cost.
pub(crate) struct Embed {
    origins: OnceLock<Vec<String>>,
    pub(crate) busy: Semaphore,
    met: Mutex<VecDeque<Instant>>,
}

impl Default for Embed {
    fn default() -> Self {
        Self { origins: OnceLock::new(), busy: Semaphore::new(AT_ONCE), met: Mutex::default() }
    }
}

impl Embed {
    /// Sets the pages, once.
    pub(crate) fn allow(&self, origins: Vec<String>) {
        let _ = self.origins.set(origins);
    }

    pub(crate) fn is_on(&self) -> bool {
        self.origins.get().is_some_and(|origins| !origins.is_empty())
    }

    /// Whether a page of this origin may ask this address.
    pub(crate) fn allows(&self, path: &str, origin: &str) -> bool {
        path.starts_with(PREFIX)
            && self
                .origins
                .get()
                .is_some_and(|all| all.iter().any(|one| one.eq_ignore_ascii_case(origin)))
    }

    /// Takes a place for a new visitor; false if there were too many lately.
    pub(crate) fn meets(&self, now: Instant) -> bool {
        let Ok(mut met) = self.met.lock() else { return false };
        while met.front().is_some_and(|at| now.duration_since(*at) >= WITHIN) {
            met.pop_front();
        }
        let free = met.len() < NEW;
        if free {
            met.push_back(now);
        }
        free
    }
}

/// Answers the question of a browser whether a page may ask (Fetch standard, "CORS-preflight fetch").
pub(crate) fn preflight(request: &Request) -> Option<Response> {
    let asks = request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    asks.then(|| {
        let headers = [
            (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, DELETE"),
            (header::ACCESS_CONTROL_ALLOW_HEADERS, "content-type, accept"),
            (header::ACCESS_CONTROL_MAX_AGE, "600"),
        ];
        (StatusCode::NO_CONTENT, headers).into_response()
    })
}

/// Lets the page read the answer.
pub(crate) fn admit(response: &mut Response, origin: &HeaderValue) {
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    headers.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
    headers.insert(header::VARY, HeaderValue::from_static("origin"));
    headers.insert(
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("cross-origin"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_pages_and_only_the_scripts_addresses() {
        let embed = Embed::default();
        assert!(!embed.is_on() && !embed.allows("/embed/agent", "https://example.org"));
        embed.allow(vec!["https://example.org".into()]);
        assert!(embed.is_on() && embed.allows("/embed/agent", "https://EXAMPLE.org"));
        for (path, origin) in [
            ("/api/v1/agents", "https://example.org"),
            ("/embed", "https://example.org"),
            ("/embed/agent", "https://example.org.evil"),
            ("/embed/agent", "http://example.org"),
            ("/embed/agent", "null"),
        ] {
            assert!(!embed.allows(path, origin), "{path} {origin}");
        }
    }

    #[test]
    fn new_visitors_are_bounded() {
        let (embed, now) = (Embed::default(), Instant::now());
        assert_eq!((0..1_000).filter(|_| embed.meets(now)).count(), NEW);
        assert!(embed.meets(now + WITHIN));
    }
}
