//! The outermost layer: names of hosts and pages, and headers that keep a browser from misusing an
//! answer. Nothing is served around it.

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use galatea_host::config::PublicUrl;
use std::{net::IpAddr, sync::Arc};

use crate::{app::App, chat_pages, error::Problem};

/// Headers of every answer. Scripts and styles come from this server only, and none stands within a
/// page.
const HEADERS: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; connect-src 'self'; img-src 'self' data:; manifest-src 'self'; base-uri 'none'; \
         form-action 'self'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// Refuses requests under a foreign name (DNS rebinding: a page whose name was made to point here
/// sends its own name) and from foreign pages.
pub(crate) async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let public = app.ops.sign_in_options().public.as_ref();
    let page = page(&app, &request);
    let refused =
        if page.is_some() { foreign(&request, public) } else { refusal(&request, public) };
    let mut response = match refused {
        Some(problem) => problem.into_response(),
        None => match page.as_ref().and_then(|_| chat_pages::preflight(&request)) {
            Some(answer) => answer,
            None => next.run(request).await,
        },
    };
    if let Some(origin) = page {
        chat_pages::admit(&mut response, &origin);
    }
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// The page of the allow list that asks for what the chat script may have.
fn page(app: &App, request: &Request) -> Option<HeaderValue> {
    let origin = only(request.headers(), &header::ORIGIN)?;
    if !app.embed.allows(request.uri().path(), origin) {
        return None;
    }
    HeaderValue::from_str(origin).ok()
}

/// True for the host of `PUBLIC_URL`.
fn is_public(host: &str, public: Option<&PublicUrl>) -> bool {
    public.is_some_and(|own| own.host.eq_ignore_ascii_case(host))
}

/// Refuses a foreign name.
fn foreign(request: &Request, public: Option<&PublicUrl>) -> Option<Problem> {
    let headers = request.headers();
    let is_ours = |host: &str| is_this_host(host) || is_public(host, public);
    let named = request.uri().authority().map(axum::http::uri::Authority::as_str);
    let own = only(headers, &header::HOST).is_some_and(is_ours) && named.is_none_or(is_ours);
    (!own).then(|| foreign_host(headers))
}

fn refusal(request: &Request, public: Option<&PublicUrl>) -> Option<Problem> {
    let headers = request.headers();
    if let Some(refused) = foreign(request, public) {
        return Some(refused);
    }
    let host = only(headers, &header::HOST).unwrap_or_default();
    if headers.contains_key(header::ORIGIN) {
        let own = only(headers, &header::ORIGIN).is_some_and(|origin| {
            match public.filter(|_| is_public(host, public)) {
                Some(public) => origin == public.origin,
                None => origin
                    .strip_prefix("http://")
                    .is_some_and(|origin| origin.eq_ignore_ascii_case(host)),
            }
        });
        if !own {
            return Some(
                Problem::new(
                    StatusCode::FORBIDDEN,
                    "GAL-ORIGIN",
                    "the request comes from a page of another server",
                )
                .fix("programs send no Origin and use a token"),
            );
        }
    }
    None
}

fn foreign_host(headers: &HeaderMap) -> Problem {
    let seen = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let seen: String = seen.chars().filter(|c| c.is_ascii_graphic()).take(100).collect();
    Problem::new(
        StatusCode::FORBIDDEN,
        "GAL-HOST",
        format!("this server does not answer to the name {seen}"),
    )
    .fix("open it as http://127.0.0.1 or http://localhost with its port, or set PUBLIC_URL to the address by which it is reached")
}

/// The only value of a header. Two Host headers are a smuggling attempt (RFC 9112 §3.2).
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut all = headers.get_all(name).iter();
    let value = all.next()?.to_str().ok()?;
    all.next().is_none().then_some(value)
}

/// Whether `host[:port]` names the loopback interface.
fn is_this_host(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((name, "")) => name,
            Some((name, port)) if is_port(port) => name,
            _ => return false,
        },
        None => match host.split_once(':') {
            Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
            Some(_) => return false,
            None => host,
        },
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

fn is_port(text: &str) -> bool {
    text.strip_prefix(':').is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    fn code(host: &[&str], origin: &[&str]) -> Option<String> {
        let mut request = Request::builder().uri("/api/v1/agents");
        for host in host {
            request = request.header("host", *host);
        }
        for origin in origin {
            request = request.header("origin", *origin);
        }
        refusal(&request.body(Body::empty()).unwrap(), None).map(|problem| problem.code)
    }

    #[test]
    fn own_names_and_pages_are_let_through() {
        for host in ["127.0.0.1:3000", "localhost", "LOCALHOST:3000", "[::1]:3000", "127.8.9.1"] {
            assert_eq!(code(&[host], &[]), None, "{host}");
            assert_eq!(code(&[host], &[&format!("http://{host}")]), None, "{host}");
        }
    }

    #[test]
    fn foreign_names_and_pages_are_refused() {
        let hosts = [
            "evil.example",
            "evil.example:3000",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "127.0.0.1:3000@evil.example",
            "evil.example#127.0.0.1",
            "localhost:evil",
            "0.0.0.0:3000",
            "192.168.1.5:3000",
            "[::1",
            "[::1]evil",
            "[::1]:evil",
            "[::2]:3000",
            "",
            " localhost",
            "localhost ",
            "localhost.",
            "127.1",
            "2130706433",
            "0x7f.1",
            "localhost,evil.example",
            "::1",
            "user@localhost",
            "localhost:3000:3000",
            "metadata.google.internal",
        ];
        for host in hosts {
            assert_eq!(code(&[host], &[]).as_deref(), Some("GAL-HOST"), "{host:?}");
        }
        assert_eq!(code(&[], &[]).as_deref(), Some("GAL-HOST"));
        assert_eq!(code(&["localhost", "localhost"], &[]).as_deref(), Some("GAL-HOST"));
        let origins = [
            "null",
            "",
            "http://evil.example",
            "https://localhost:3000",
            "http://localhost:3001",
            "http://localhost",
            "http://127.0.0.1:3000",
            "http://localhost:3000/",
            "http://localhost:30000",
            "http://localhost:3000.evil.example",
            "http://evil.example/localhost:3000",
            "file://",
            "http://user@localhost:3000",
            "http://localhost:3000#",
            "chrome-extension://abc",
            "localhost:3000",
            "http://LOCALHOST.evil:3000",
            "http:/localhost:3000",
            "HTTP://localhost:3000",
            "http://[::1]:3000",
            "http://localhost:3000 http://evil.example",
            "http://localhost:3000?",
            "ws://localhost:3000",
            "http://xn--localhost:3000",
            "http://0.0.0.0:3000",
        ];
        for origin in origins {
            assert_eq!(
                code(&["localhost:3000"], &[origin]).as_deref(),
                Some("GAL-ORIGIN"),
                "{origin:?}"
            );
        }
        let twice = ["http://localhost:3000", "http://localhost:3000"];
        assert_eq!(code(&["localhost:3000"], &twice).as_deref(), Some("GAL-ORIGIN"));
    }
}
