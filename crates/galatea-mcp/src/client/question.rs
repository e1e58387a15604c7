//! Questions that a server asks people in the middle of a call, and their answers.

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Map, Value};
use url::Url;

use crate::tools::clean;

/// Names of fields that ask for secrets, which no form may ask for.
const SECRETS: &[&str] =
    &["password", "passwd", "secret", "token", "apikey", "api_key", "pin", "cvv"];
/// Most fields of a form.
const MOST: usize = 12;

/// A question, cleaned.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Question {
    /// Values of a form: the message, and the schema of the values.
    Form { message: String, schema: Value },
    /// An address that the person may open by themselves.
    Address { message: String, url: String, warning: Option<&'static str> },
}

/// The answer of a person.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    Accept(Map<String, Value>),
    Decline,
}

impl Answer {
    pub(crate) fn to_result(&self, question: &Question) -> ElicitResult {
        match (self, question) {
            (Self::Accept(values), Question::Form { .. }) => {
                ElicitResult::new(ElicitationAction::Accept)
                    .with_content(Value::Object(values.clone()))
            }
            (Self::Accept(_), Question::Address { .. }) => {
                ElicitResult::new(ElicitationAction::Accept)
            }
            (Self::Decline, _) => ElicitResult::new(ElicitationAction::Decline),
        }
    }
}

impl Question {
    /// From what a server asks; the error says why it is declined.
    pub(crate) fn read(params: &ElicitRequestParams) -> Result<Self, &'static str> {
        match params {
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
                let schema = serde_json::to_value(requested_schema).unwrap_or_default();
                let fields = schema.get("properties").and_then(Value::as_object);
                if fields.is_some_and(|fields| fields.len() > MOST) {
                    return Err("its form has too many fields");
                }
                let asks_secret = |name: &String| {
                    let plain = name.to_ascii_lowercase();
                    SECRETS.iter().any(|secret| plain == *secret || plain.ends_with(secret))
                };
                if fields.is_some_and(|fields| fields.keys().any(asks_secret)) {
                    return Err("it asks for a secret in a form");
                }
                if clean::fault(&schema).is_some() {
                    return Err("its form cannot be read");
                }
                Ok(Self::Form { message: words(message), schema: clean::schema(&schema) })
            }
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
                let parsed = Url::parse(url).ok().filter(|url| url.scheme() == "https");
                let Some(parsed) = parsed else { return Err("its address is not https") };
                // Letters that only look like others (Punycode).
                let is_odd = parsed.host_str().is_some_and(|host| host.contains("xn--"));
                let warning = is_odd.then_some(
                    "The name of this site has letters that may look like others. Compare it with the one that you know.",
                );
                Ok(Self::Address { message: words(message), url: parsed.to_string(), warning })
            }
            _ => Err("it asks in a way that is unknown here"),
        }
    }

    /// The question for people. It says which server asks, and shows an address whole.
    pub(crate) fn shown(&self, server: &str) -> String {
        match self {
            Self::Form { message, schema } => {
                let mut text = format!("The tool server \"{server}\" asks: {message}");
                let fields = schema.get("properties").and_then(Value::as_object);
                for (name, about) in fields.into_iter().flatten() {
                    text.push_str(&format!("\n- {}", field(name, about)));
                }
                text.push_str("\nAnswer here, or say no. Never send a password.");
                text
            }
            Self::Address { message, url, warning } => {
                let warning = warning.map(|words| format!("\n{words}")).unwrap_or_default();
                format!(
                    "The tool server \"{server}\" asks you to open this address: {message}\n`{url}`{warning}\nSay when you have done it, or say no."
                )
            }
        }
    }

    /// Whether a form has no fields, or only one that is yes or no.
    pub(crate) fn is_yes_or_no(&self) -> bool {
        match self {
            Self::Address { .. } => true,
            Self::Form { schema, .. } => {
                let fields = schema.get("properties").and_then(Value::as_object);
                fields.is_none_or(|fields| {
                    fields.len() <= 1
                        && fields.values().all(|about| about.get("type") == Some(&"boolean".into()))
                })
            }
        }
    }

    /// What does not fit of these values; empty if all does.
    pub(crate) fn misfits(&self, values: &Map<String, Value>) -> Vec<String> {
        match self {
            Self::Form { schema, .. } => {
                galatea_core::model::schema::misfits(&Value::Object(values.clone()), schema)
            }
            Self::Address { .. } => Vec::new(),
        }
    }

    /// Values that mean yes in a form that [`Self::is_yes_or_no`].
    pub(crate) fn yes(&self) -> Map<String, Value> {
        let Self::Form { schema, .. } = self else { return Map::new() };
        let fields = schema.get("properties").and_then(Value::as_object);
        fields.into_iter().flatten().map(|(name, _)| (name.clone(), Value::Bool(true))).collect()
    }
}

fn words(message: &str) -> String {
    clean::cut(&galatea_core::visible::visible(message), 600)
}

fn field(name: &str, about: &Value) -> String {
    let text = |key: &str| about.get(key).and_then(Value::as_str);
    let choices = about
        .get("enum")
        .and_then(Value::as_array)
        .map(|list| list.iter().filter_map(Value::as_str).take(20).collect::<Vec<_>>().join(", "));
    let mut line = clean::cut(name, 60);
    if let Some(description) = text("description") {
        line.push_str(&format!(": {description}"));
    }
    if let Some(choices) = choices.filter(|choices| !choices.is_empty()) {
        line.push_str(&format!(" ({choices})"));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(value: Value) -> Result<Question, &'static str> {
        Question::read(&serde_json::from_value(value).unwrap())
    }

    #[test]
    fn a_form_is_shown_with_its_fields_and_its_values_are_checked() {
        let question = of(json!({ "mode": "form", "message": "Which size?\u{202e}", "requestedSchema": {
            "type": "object", "properties": { "size": { "type": "string", "enum": ["S", "M"] } }, "required": ["size"] } }))
        .unwrap();
        let shown = question.shown("shop");
        assert!(
            shown.contains("\"shop\" asks: Which size?") && shown.contains("size (S, M)"),
            "{shown}"
        );
        assert!(!question.is_yes_or_no());
        assert_eq!(question.misfits(&Map::new()).len(), 1);
        assert!(question.misfits(json!({ "size": "S" }).as_object().unwrap()).is_empty());
    }

    #[test]
    fn secrets_and_odd_addresses_are_not_asked_for() {
        let form = |name: &str| {
            of(json!({ "mode": "form", "message": "x", "requestedSchema": {
                "type": "object", "properties": { (name): { "type": "string" } } } }))
        };
        assert!(form("githubToken").is_err() && form("PASSWORD").is_err() && form("city").is_ok());
        let address = |url: &str| {
            of(json!({ "mode": "url", "message": "Pay", "url": url, "elicitationId": "1" }))
        };
        assert!(address("javascript:alert(1)").is_err() && address("http://pay.test/").is_err());
        let shown = address("https://pay.test/a?b=c").unwrap().shown("shop");
        assert!(shown.contains("`https://pay.test/a?b=c`"), "{shown}");
        assert!(
            address("https://xn--pypal-4ve.test/").unwrap().shown("shop").contains("look like")
        );
    }
}
