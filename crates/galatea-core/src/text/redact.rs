//! Keeps secrets out of texts that are stored, shown or sent: by value, where the secret is known
//! ([`Redactor`]), and by shape ([`mask_shapes`]), where another system has echoed one.

use parking_lot::RwLock;
use std::{borrow::Cow, sync::Arc};

mod shapes;

pub use shapes::mask_shapes;
pub(crate) use shapes::{masked_string, masked_text};

/// Stands in place of a secret.
pub const MASK: &str = "[secret]";
/// Minimum length in bytes. Masking shorter values would garble ordinary words.
const SHORTEST: usize = 6;

/// Holds every secret read so far. Cheap to clone; all clones share one list.
#[derive(Debug, Clone, Default)]
pub struct Redactor(Arc<RwLock<Secrets>>);

#[derive(Default)]
struct Secrets(Vec<String>);

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

impl Redactor {
    /// Adds a secret in every form in which it may be printed: plain, escaped in JSON, encoded in a
    /// URL.
    pub fn learn(&self, secret: &str) {
        let secret = secret.trim().trim_matches(['"', '\'']);
        if secret.len() < SHORTEST {
            return;
        }
        let json = serde_json::Value::from(secret).to_string();
        let forms = [
            secret.to_owned(),
            json[1..json.len() - 1].to_owned(),
            percent_encoded(secret, true),
            percent_encoded(secret, false),
        ];
        let mut secrets = self.0.write();
        for form in forms {
            if !secrets.0.contains(&form) {
                secrets.0.push(form);
            }
        }
        // Longest first, so that no remainder of a longer secret stays after a shorter one is
        // masked.
        secrets.0.sort_by_key(|s| std::cmp::Reverse(s.len()));
    }

    /// `text` with the known secrets masked, for data that must otherwise stay as it is.
    pub fn clean<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let secrets = self.0.read();
        let mut text = Cow::Borrowed(text);
        for secret in &secrets.0 {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), MASK).into();
            }
        }
        text
    }

    /// The text of an error with known secrets masked, and whatever has the shape of a secret.
    pub fn clean_error<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.clean(text) {
            Cow::Borrowed(text) => mask_shapes(text),
            Cow::Owned(text) => Cow::Owned(mask_shapes(&text).into_owned()),
        }
    }
}

/// Percent-encodes all bytes but the unreserved ones (RFC 3986 §2.3), or as forms do
/// (`application/x-www-form-urlencoded`): there a space is `+`, `*` stays and `~` does not.
fn percent_encoded(text: &str, form: bool) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
                out.push(char::from(byte));
            }
            b' ' if form => out.push('+'),
            b'*' if form => out.push('*'),
            b'~' if !form => out.push('~'),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_printed_form_of_a_secret_is_masked() {
        let redactor = Redactor::default();
        redactor.learn("  \"12:a/\u{fc}\\b\"c d\" ");
        let secret = "12:a/\u{fc}\\b\"c d";
        let json = serde_json::json!({ "x": secret }).to_string();
        let form = "https://h/12%3Aa%2F%C3%BC%5Cb%22c+d";
        let path = "https://h/12%3Aa%2F%C3%BC%5Cb%22c%20d";
        for text in [secret, &json, form, path] {
            let clean = redactor.clean(text);
            assert!(clean.contains(MASK) && !clean.contains("12"), "{clean}");
        }
    }

    #[test]
    fn a_secret_inside_another_leaves_no_rest() {
        let redactor = Redactor::default();
        redactor.learn("abcdef");
        redactor.learn("abcdefghij");
        assert_eq!(redactor.clean("abcdefghij abcdef"), "[secret] [secret]");
    }

    #[test]
    fn short_values_do_not_garble_words() {
        let redactor = Redactor::default();
        redactor.learn("on");
        assert_eq!(redactor.clean("long song"), "long song");
    }

    #[test]
    fn an_error_loses_known_secrets_and_shapes() {
        let redactor = Redactor::default();
        redactor.learn("hunter2hunter2");
        let text = "refused hunter2hunter2 for https://ann:pw@h/x";
        assert_eq!(redactor.clean_error(text), "refused [secret] for https://[secret]@h/x");
        assert_eq!(redactor.clean(text), "refused [secret] for https://ann:pw@h/x");
    }
}
