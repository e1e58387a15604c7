//! Replaces known secrets by `[secret]` before any output.

use std::{
    io::{self, Write},
    sync::{Arc, PoisonError, RwLock},
};

const MASK: &str = "[secret]";
/// Minimum length in bytes. Masking shorter values would garble ordinary words.
const SHORTEST: usize = 6;

/// Holds every secret read so far. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Redactor(Arc<RwLock<Secrets>>);

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
    pub(crate) fn learn(&self, secret: &str) {
        let secret = secret.trim().trim_matches(['"', '\'']);
        if secret.len() < SHORTEST {
            return;
        }
        let json = serde_json::Value::from(secret).to_string();
        let address: String = url::form_urlencoded::byte_serialize(secret.as_bytes()).collect();
        let forms = [secret.to_owned(), json[1..json.len() - 1].to_owned(), address];
        let mut secrets = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for form in forms {
            if !secrets.0.contains(&form) {
                secrets.0.push(form);
            }
        }
        // Longest first, so that no remainder of a longer secret stays after a shorter one is
        // masked.
        secrets.0.sort_by_key(|s| std::cmp::Reverse(s.len()));
    }

    /// `text` with secrets masked.
    pub(crate) fn clean<'a>(&self, text: &'a str) -> std::borrow::Cow<'a, str> {
        let secrets = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut text = std::borrow::Cow::Borrowed(text);
        for secret in &secrets.0 {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), MASK).into();
            }
        }
        text
    }
}

/// Buffers one log event, and writes it masked and in one piece to stderr when dropped.
pub(crate) struct CleanStderr {
    redactor: Redactor,
    buffer: Vec<u8>,
}

impl CleanStderr {
    /// For one event.
    pub(crate) fn new(redactor: Redactor) -> Self {
        Self { redactor, buffer: Vec::with_capacity(256) }
    }
}

impl Write for CleanStderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for CleanStderr {
    fn drop(&mut self) {
        let text = String::from_utf8_lossy(&self.buffer);
        let _ = io::stderr().lock().write_all(self.redactor.clean(&text).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_printed_form_of_a_secret_is_masked() {
        let redactor = Redactor::default();
        redactor.learn("  \"12:a/\u{fc}\\b\"c\" ");
        let secret = "12:a/\u{fc}\\b\"c";
        let json = serde_json::json!({ "x": secret }).to_string();
        let address = format!(
            "https://h/{}",
            url::form_urlencoded::byte_serialize(secret.as_bytes()).collect::<String>()
        );
        for text in [secret, &json, &address] {
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
}
