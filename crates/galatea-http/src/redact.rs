//! Removes secrets from text that other systems wrote.

use galatea_core::{ExposeSecret, SecretString};

/// Shortest secret that is replaced; shorter ones would blank out ordinary words.
const MIN_SECRET: usize = 6;

/// Makes a text safe to log: cuts addresses to scheme and host, removes control characters, and
/// replaces the given secrets.
pub fn redact(text: &str, secrets: &[&SecretString]) -> String {
    let mut clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    for secret in secrets {
        let secret = secret.expose_secret();
        if secret.len() < MIN_SECRET {
            continue;
        }
        clean = clean.replace(secret, "[secret]");
        let encoded: String = url::form_urlencoded::byte_serialize(secret.as_bytes()).collect();
        clean = clean.replace(&encoded, "[secret]");
    }
    cut_addresses(&clean)
}

/// Cuts a text to `max` characters, with an ellipsis if anything was cut.
pub fn shorten(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Makes a name chosen by a stranger safe to log: at most `max` characters, and every character
/// other than an ASCII letter, an ASCII digit or `_ - . /` becomes a question mark.
pub fn plain(name: &str, max: usize) -> String {
    let safe = |c: char| {
        if c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/') { c } else { '?' }
    };
    shorten(&name.chars().take(max + 1).map(safe).collect::<String>(), max)
}

fn cut_addresses(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let end = after
            .find(|c: char| {
                c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '`' | '(' | ')')
            })
            .unwrap_or(after.len());
        let address = &after[..end];
        let authority = &address[..address.find(['/', '?', '#']).unwrap_or(address.len())];
        out.push_str(authority.rsplit('@').next().unwrap_or_default());
        if authority.len() < address.len() {
            out.push_str("/…");
        }
        rest = &after[end..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_of_strangers_are_plain_and_short() {
        assert_eq!(plain("edited_message", 40), "edited_message");
        assert_eq!(plain("a\n2026 ERROR \u{1b}[31m\u{202e}b", 40), "a?2026?ERROR???31m?b");
        assert_eq!(plain(&"x".repeat(100_000), 3), "xxx…");
    }

    #[test]
    fn addresses_keep_only_their_host() {
        let text =
            "error for https://user:pw@api.host:8443/bot123:SECRET/x?key=SECRET and (http://b/c)";
        assert_eq!(redact(text, &[]), "error for https://api.host:8443/… and (http://b/…)");
    }

    #[test]
    fn given_secrets_go_also_when_encoded() {
        let secret = SecretString::from("s3cret+/=");
        assert_eq!(redact("a s3cret+/= b s3cret%2B%2F%3D", &[&secret]), "a [secret] b [secret]");
    }

    #[test]
    fn shortening_respects_characters() {
        assert_eq!(shorten("äöü", 2), "äö…");
        assert_eq!(shorten("äöü", 3), "äöü");
    }

    proptest! {
        #[test]
        fn no_secret_survives(before in ".*", after in ".*") {
            let secret = SecretString::from("CANARY-7f3a");
            let clean = redact(&format!("{before}CANARY-7f3a{after}"), &[&secret]);
            prop_assert!(!clean.contains("CANARY-7f3a"));
        }
    }
}
