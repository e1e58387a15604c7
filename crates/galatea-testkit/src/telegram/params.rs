//! Parameters of a call, in any transport form, with typed and checked access.

use std::{cell::RefCell, collections::BTreeMap};

use bytes::Bytes;
use serde_json::{Map, Value};

use super::{answer::Refusal, multipart};

/// A file sent with a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// File name.
    pub name: String,
    /// MIME type as the client stated it.
    pub mime: String,
    /// The bytes.
    pub bytes: Bytes,
}

/// A chat as the client names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ChatRef {
    /// By number.
    Id(i64),
    /// By `@username`.
    Name(String),
}

/// Parameters of one call.
#[derive(Debug, Clone, Default)]
pub(crate) struct Params {
    values: Map<String, Value>,
    files: BTreeMap<String, Upload>,
    notes: RefCell<Vec<String>>,
}

impl Params {
    /// Reads query and body in every form the Bot API allows: query string, JSON, urlencoded,
    /// multipart.
    pub(crate) fn read(
        query: Option<&str>,
        content_type: &str,
        body: &Bytes,
    ) -> Result<Self, Refusal> {
        let mut params = Self::default();
        if let Some(query) = query {
            params.add_form(query.as_bytes());
        }
        let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match kind.as_str() {
            _ if body.is_empty() => {}
            "application/json" => match serde_json::from_slice(body) {
                Ok(Value::Object(values)) => params.values.extend(values),
                // The real server's wording (telegram-bot-api, HttpConnection).
                _ => return Err(Refusal::broken("can't parse request: expected JSON object")),
            },
            "application/x-www-form-urlencoded" => params.add_form(body),
            "multipart/form-data" => {
                let parts =
                    multipart::boundary(content_type).and_then(|b| multipart::parts(body, b));
                for part in parts.ok_or_else(|| Refusal::broken("can't parse multipart body"))? {
                    params.add_part(part)?;
                }
            }
            other => params.note(format!("the Bot API does not document content type `{other}`")),
        }
        Ok(params)
    }

    fn add_form(&mut self, text: &[u8]) {
        for (key, value) in url::form_urlencoded::parse(text) {
            self.values.insert(key.into_owned(), Value::String(value.into_owned()));
        }
    }

    fn add_part(&mut self, part: multipart::Part) -> Result<(), Refusal> {
        if let Some(name) = part.file_name {
            let mime = part.mime.unwrap_or_else(|| "application/octet-stream".to_owned());
            self.files.insert(part.name, Upload { name, mime, bytes: part.bytes });
        } else {
            let text = String::from_utf8(part.bytes.to_vec())
                .map_err(|_| Refusal::broken("strings must be encoded in UTF-8"))?;
            self.values.insert(part.name, Value::String(text));
        }
        Ok(())
    }

    /// Notes a mistake of the client that the real server tolerates; it becomes a violation.
    pub(crate) fn note(&self, what: impl Into<String>) {
        self.notes.borrow_mut().push(what.into());
    }

    /// Takes the notes so far.
    pub(crate) fn take_notes(&self) -> Vec<String> {
        self.notes.take()
    }

    /// Values as sent.
    pub(crate) fn values(&self) -> &Map<String, Value> {
        &self.values
    }

    /// Files as sent, by field name.
    pub(crate) fn files(&self) -> &BTreeMap<String, Upload> {
        &self.files
    }

    /// True if the parameter is present and not null.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some() || self.files.contains_key(name)
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name).filter(|v| !v.is_null())
    }

    /// An optional String parameter.
    pub(crate) fn text(&self, name: &str) -> Result<Option<&str>, Refusal> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(Refusal::broken(format!(
                "field \"{name}\" must be of type String, not {other}"
            ))),
        }
    }

    /// A required String parameter.
    pub(crate) fn required_text(&self, name: &str) -> Result<&str, Refusal> {
        self.text(name)?.ok_or_else(|| Refusal::broken(format!("parameter \"{name}\" is required")))
    }

    /// An optional Integer parameter. A text with a number is accepted, because forms carry only
    /// text.
    pub(crate) fn int(&self, name: &str) -> Result<Option<i64>, Refusal> {
        let wrong = || Refusal::broken(format!("field \"{name}\" must be of type Integer"));
        match self.get(name) {
            None => Ok(None),
            Some(Value::Number(n)) => n.as_i64().map(Some).ok_or_else(wrong),
            Some(Value::String(text)) => text.trim().parse().map(Some).map_err(|_| wrong()),
            Some(_) => Err(wrong()),
        }
    }

    /// A Boolean parameter, false when missing.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, Refusal> {
        match self.get(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(Value::String(text)) => match text.to_ascii_lowercase().as_str() {
                "true" | "1" | "yes" => Ok(true),
                "false" | "0" | "no" | "" => Ok(false),
                _ => Err(Refusal::broken(format!("field \"{name}\" must be of type Boolean"))),
            },
            Some(_) => Err(Refusal::broken(format!("field \"{name}\" must be of type Boolean"))),
        }
    }

    /// A structured parameter: JSON, or a text that contains JSON ("JSON-serialized").
    pub(crate) fn json(&self, name: &str) -> Result<Option<Value>, Refusal> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) if text.is_empty() => Ok(None),
            Some(Value::String(text)) => serde_json::from_str(text).map(Some).map_err(|_| {
                Refusal::broken(format!("can't parse {} JSON object", name.replace('_', " ")))
            }),
            Some(value) => Ok(Some(value.clone())),
        }
    }

    /// The chat in `chat_id` or another parameter, Integer or String.
    pub(crate) fn chat(&self, name: &str) -> Result<ChatRef, Refusal> {
        match self.get(name) {
            None => Err(Refusal::broken(format!("{name} is empty"))),
            Some(value) => chat_ref(value).ok_or_else(|| Refusal::broken("chat not found")),
        }
    }
}

/// A chat reference in JSON: an Integer, a decimal String or `@username`.
pub(crate) fn chat_ref(value: &Value) -> Option<ChatRef> {
    match value {
        Value::Number(n) => n.as_i64().map(ChatRef::Id),
        Value::String(text) if text.starts_with('@') => Some(ChatRef::Name(text[1..].to_owned())),
        Value::String(text) => text.parse().ok().map(ChatRef::Id),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_four_ways_mean_the_same() {
        let multipart = "--b\r\nContent-Disposition: form-data; name=\"chat_id\"\r\n\r\n-5\r\n--b\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\na b\r\n--b--\r\n";
        for (query, kind, body) in [
            (Some("chat_id=-5&text=a+b"), "", ""),
            (None, "application/json", r#"{"chat_id":-5,"text":"a b"}"#),
            (None, "application/x-www-form-urlencoded; charset=utf-8", "chat_id=-5&text=a%20b"),
            (None, "multipart/form-data; boundary=b", multipart),
        ] {
            let params =
                Params::read(query, kind, &Bytes::copy_from_slice(body.as_bytes())).unwrap();
            assert_eq!(params.chat("chat_id").unwrap(), ChatRef::Id(-5), "{kind}");
            assert_eq!(params.text("text").unwrap(), Some("a b"), "{kind}");
            assert!(params.take_notes().is_empty());
        }
    }

    #[test]
    fn wrong_types_are_violations() {
        let body = Bytes::from_static(br#"{"chat_id":1.5,"text":7,"offset":"x","flag":"maybe"}"#);
        let params = Params::read(None, "application/json", &body).unwrap();
        assert!(params.chat("chat_id").unwrap_err().violation);
        assert!(params.text("text").unwrap_err().violation);
        assert!(params.int("offset").unwrap_err().violation);
        assert!(params.flag("flag").unwrap_err().violation);
    }
}
