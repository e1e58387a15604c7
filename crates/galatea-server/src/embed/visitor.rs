//! An anonymous visitor: a secret in a cookie, of which the database has a digest only.

use axum::http::{HeaderMap, HeaderValue, header};
use galatea_core::{Error, Result};
use ring::rand::{SecureRandom as _, SystemRandom};
use std::fmt::Write as _;

/// Name of the cookie.
const NAME: &str = "galatea_visitor";
/// Seconds that a browser keeps it.
const AGE: u32 = 90 * 24 * 60 * 60;
/// Bytes of the secret.
const SECRET: usize = 16;

/// A visitor.
pub(super) struct Visitor {
    /// Id as a person of the web.
    pub(super) id: String,
    /// The cookie to set, for one who is new.
    pub(super) cookie: Option<HeaderValue>,
}

/// The visitor of a request.
pub(super) fn known(headers: &HeaderMap) -> Option<Visitor> {
    let pairs = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut ours = pairs
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(name, _)| *name == NAME)
        .map(|(_, value)| value);
    let secret = ours.next().filter(|_| ours.next().is_none())?;
    let sound = secret.len() == SECRET * 2 && secret.bytes().all(|b| b.is_ascii_hexdigit());
    sound.then(|| Visitor { id: id(secret), cookie: None })
}

/// A new visitor.
pub(super) fn fresh(headers: &HeaderMap) -> Result<Visitor> {
    let mut bytes = [0; SECRET];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| Error::unexpected("the system has no random numbers"))?;
    let mut secret = String::new();
    bytes.iter().for_each(|byte| {
        let _ = write!(secret, "{byte:02x}");
    });
    let cookie = cookie(headers, &secret, AGE)?;
    Ok(Visitor { id: id(&secret), cookie: Some(cookie) })
}

/// Removes the cookie.
pub(super) fn forgotten(headers: &HeaderMap) -> Result<HeaderValue> {
    cookie(headers, "", 0)
}

/// A page of another site gets its own cookie, which needs TLS; a page of the same site does not.
fn cookie(headers: &HeaderMap, secret: &str, age: u32) -> Result<HeaderValue> {
    let origin = headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok());
    let crosses = if origin.is_some_and(|origin| origin.starts_with("https://")) {
        "SameSite=None; Secure; Partitioned"
    } else {
        "SameSite=Lax"
    };
    let text = format!("{NAME}={secret}; HttpOnly; {crosses}; Path=/embed/; Max-Age={age}");
    let mut value = HeaderValue::from_str(&text)
        .map_err(|_| Error::unexpected("a cookie cannot be written"))?;
    value.set_sensitive(true);
    Ok(value)
}

fn id(secret: &str) -> String {
    let digest = galatea_host::ops::digest(&format!("visitor {secret}")).0;
    format!("visitor:{}", digest.get(..32).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visitor_is_known_again_by_the_cookie_and_by_nothing_else() {
        let mut headers = HeaderMap::new();
        let first = fresh(&headers).unwrap();
        let cookie = first.cookie.unwrap().to_str().unwrap().to_owned();
        assert!(cookie.contains("HttpOnly; SameSite=Lax; Path=/embed/"), "{cookie}");
        let pair = cookie.split(';').next().unwrap();
        headers.insert(header::COOKIE, pair.parse().unwrap());
        assert_eq!(known(&headers).unwrap().id, first.id);
        assert!(!cookie.contains(first.id.trim_start_matches("visitor:")), "a digest");
        for bad in ["galatea_visitor=", "galatea_visitor=zz", &format!("{pair}; {pair}")] {
            headers.insert(header::COOKIE, bad.parse().unwrap());
            assert!(known(&headers).is_none(), "{bad}");
        }
        headers.insert(header::ORIGIN, "https://example.org".parse().unwrap());
        let secure = fresh(&headers).unwrap().cookie.unwrap();
        assert!(secure.to_str().unwrap().contains("SameSite=None; Secure; Partitioned"));
    }
}
