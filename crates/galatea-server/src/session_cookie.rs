//! The cookie of a session.

use axum::http::{HeaderMap, HeaderValue, header};

/// Its name. The `__Host-` prefix would need TLS, which a loopback address does not have.
const NAME: &str = "galatea_session";
/// Seconds that a browser keeps it: as long as a session lasts.
const AGE: u32 = 14 * 24 * 60 * 60;

/// The session's secret in a request. Two cookies of the name are a page's attempt to set one of its
/// own, so there is none then.
pub(crate) fn read(headers: &HeaderMap) -> Option<&str> {
    let pairs = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut ours = pairs
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(name, _)| *name == NAME)
        .map(|(_, value)| value);
    let only = ours.next()?;
    ours.next().is_none().then_some(only)
}

/// Sets the cookie. Scripts cannot read it, and no other page's request carries it.
pub(crate) fn set(secret: &str, https: bool) -> Option<HeaderValue> {
    let secure = if https { " Secure;" } else { "" };
    let text = format!("{NAME}={secret}; HttpOnly;{secure} SameSite=Strict; Path=/; Max-Age={AGE}");
    let mut value = HeaderValue::from_str(&text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Removes the cookie.
pub(crate) fn clear() -> HeaderValue {
    HeaderValue::from_static("galatea_session=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cookies(lines: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(header::COOKIE, line.parse().unwrap());
        }
        headers
    }

    #[test]
    fn one_session_is_read() {
        let read = |lines: &[&str]| read(&cookies(lines)).map(str::to_owned);
        assert_eq!(read(&["a=1; galatea_session=abc; b=2"]).as_deref(), Some("abc"));
        assert_eq!(read(&["a=1", "galatea_session=abc"]).as_deref(), Some("abc"));
        assert_eq!(read(&["galatea_session=abc; galatea_session=def"]), None);
        assert_eq!(read(&["galatea_session=abc", "galatea_session=def"]), None);
        assert_eq!(read(&["xgalatea_session=abc; galatea_sessionx=d"]), None);
        assert!(set("abc", false).unwrap().is_sensitive());
        assert!(set("abc", true).unwrap().to_str().unwrap().contains("; Secure;"));
    }
}
