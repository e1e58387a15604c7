//! OAuth 1.0a on the server's side (RFC 5849): computes the signature again from the request and
//! compares it.

use std::collections::HashSet;

use base64::Engine;
use hmac::{Hmac, Mac};
use sha1::Sha1;

use crate::x::options::Keys;

/// Largest accepted difference of a timestamp, in seconds.
const WINDOW: i64 = 300;

/// The signed parts of a request.
pub(super) struct Signed<'a> {
    pub(super) method: &'a str,
    /// Scheme, host and path.
    pub(super) url: &'a str,
    /// Parameters of the query and, for forms, of the body.
    pub(super) parameters: &'a [(String, String)],
}

/// Nonces used so far.
#[derive(Debug, Default)]
pub(super) struct Nonces(HashSet<(String, String)>);

/// Why a request is refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// Wrong key or signature; a correct client can run into it.
    Keys,
    /// Breach of RFC 5849 that only a faulty client commits.
    Breach(&'static str),
}

/// Verifies an `Authorization` header.
pub(super) fn verify(
    header: &str,
    signed: &Signed<'_>,
    keys: &Keys,
    nonces: &mut Nonces,
    now: i64,
) -> Result<(), Wrong> {
    let fields = header.strip_prefix("OAuth ").ok_or(Wrong::Breach("not an OAuth 1.0a header"))?;
    let mut pairs = Vec::new();
    for field in fields.split(',') {
        let (name, value) = field
            .trim()
            .split_once('=')
            .ok_or(Wrong::Breach("a field of the OAuth header has no value"))?;
        let value = value
            .strip_prefix('"')
            .and_then(|v| v.strip_suffix('"'))
            .ok_or(Wrong::Breach("a value of the OAuth header is not quoted"))?;
        pairs.push((decode(name), decode(value)));
    }
    let get = |name: &str| {
        pairs
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, v)| v.as_str())
            .ok_or(Wrong::Breach("a field of the OAuth header is missing"))
    };
    if get("oauth_version")? != "1.0" || get("oauth_signature_method")? != "HMAC-SHA1" {
        return Err(Wrong::Breach(
            "oauth_version must be 1.0 and oauth_signature_method HMAC-SHA1",
        ));
    }
    if get("oauth_consumer_key")? != keys.api_key || get("oauth_token")? != keys.token {
        return Err(Wrong::Keys);
    }
    let mut all: Vec<(String, String)> = pairs
        .iter()
        .filter(|(name, _)| name != "oauth_signature" && name != "realm")
        .cloned()
        .collect();
    all.extend_from_slice(signed.parameters);
    let base = base_string(signed.method, signed.url, &all);
    let key = format!("{}&{}", encode(&keys.api_secret), encode(&keys.token_secret));
    if get("oauth_signature")? != signature(&key, &base) {
        return Err(Wrong::Keys);
    }
    let at: i64 = get("oauth_timestamp")?
        .parse()
        .map_err(|_| Wrong::Breach("oauth_timestamp is not a number"))?;
    if (at - now).abs() > WINDOW {
        return Err(Wrong::Keys);
    }
    if !nonces.0.insert((get("oauth_timestamp")?.to_owned(), get("oauth_nonce")?.to_owned())) {
        return Err(Wrong::Breach("a nonce was used twice"));
    }
    Ok(())
}

/// Signature base string (RFC 5849 §3.4.1).
fn base_string(method: &str, url: &str, parameters: &[(String, String)]) -> String {
    let mut encoded: Vec<(String, String)> =
        parameters.iter().map(|(n, v)| (encode(n), encode(v))).collect();
    encoded.sort();
    let joined: Vec<String> = encoded.into_iter().map(|(n, v)| format!("{n}={v}")).collect();
    format!("{}&{}&{}", method.to_ascii_uppercase(), encode(url), encode(&joined.join("&")))
}

fn signature(key: &str, base: &str) -> String {
    let mut mac = Hmac::<Sha1>::new_from_slice(key.as_bytes())
        .unwrap_or_else(|_| unreachable!("HMAC takes keys of any length"));
    mac.update(base.as_bytes());
    base64::engine::general_purpose::STANDARD.encode(mac.finalize().into_bytes())
}

/// Percent encoding (RFC 5849 §3.6).
fn encode(text: &str) -> String {
    text.bytes()
        .map(|b| {
            if b.is_ascii_alphanumeric() || b"-._~".contains(&b) {
                char::from(b).to_string()
            } else {
                format!("%{b:02X}")
            }
        })
        .collect()
}

fn decode(text: &str) -> String {
    // A plus means itself here, unlike in forms.
    url::form_urlencoded::parse(format!("x={}", text.replace('+', "%2B")).as_bytes())
        .next()
        .map(|(_, v)| v.into_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> Keys {
        Keys {
            api_key: "xvz1evFS4wEEPTGEFPHBog".into(),
            api_secret: "kAcSOqF21Fu85e7zjz7ZN2U4ZRhfV3WpwPAoE3Z7kBw".into(),
            token: "370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb".into(),
            token_secret: "LswwdoUaIvS8ltyTt5jkRh4J50vUPVVHtR2YPi5kE".into(),
        }
    }

    /// X, "Creating a signature".
    #[test]
    fn the_published_example_passes_once_and_every_change_is_seen() {
        let header = concat!(
            r#"OAuth oauth_consumer_key="xvz1evFS4wEEPTGEFPHBog", oauth_nonce="kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg", "#,
            r#"oauth_signature="hCtSmYh%2BiHYCEqBWrE7C7hYmtUk%3D", oauth_signature_method="HMAC-SHA1", oauth_timestamp="1318622958", "#,
            r#"oauth_token="370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb", oauth_version="1.0""#
        );
        let parameters = [
            ("include_entities".to_owned(), "true".to_owned()),
            ("status".to_owned(), "Hello Ladies + Gentlemen, a signed OAuth request!".to_owned()),
        ];
        let signed = Signed {
            method: "POST",
            url: "https://api.twitter.com/1.1/statuses/update.json",
            parameters: &parameters,
        };
        let mut nonces = Nonces::default();
        assert_eq!(
            verify(header, &signed, &keys(), &mut Nonces::default(), 1_318_622_958 + 301),
            Err(Wrong::Keys),
            "too old"
        );
        assert_eq!(verify(header, &signed, &keys(), &mut nonces, 1_318_622_958), Ok(()));
        assert_eq!(
            verify(header, &signed, &keys(), &mut nonces, 1_318_622_958),
            Err(Wrong::Breach("a nonce was used twice"))
        );
        let other = Signed { method: "GET", ..signed };
        assert_eq!(
            verify(header, &other, &keys(), &mut Nonces::default(), 1_318_622_958),
            Err(Wrong::Keys)
        );
        let other = Signed { method: "POST", parameters: &parameters[..1], ..other };
        assert_eq!(
            verify(header, &other, &keys(), &mut Nonces::default(), 1_318_622_958),
            Err(Wrong::Keys)
        );
    }
}
