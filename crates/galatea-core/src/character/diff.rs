//! Changes between two versions of a character.

use serde::Serialize;
use serde_json::{Map, Value};
use std::fmt;

use super::{Character, MAX_DEPTH, convert::convert, snippet::names_a_secret};

/// A change. Values of secrets are never shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// Where, such as `style.all[2]` or `settings.discord.allowedChannelIds`.
    pub path: String,
    /// The value before; none for an added key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// New value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.before, &self.after) {
            (None, Some(after)) => write!(f, "+ {}: {after}", self.path),
            (Some(before), None) => write!(f, "- {}: {before}", self.path),
            (Some(before), Some(after)) => write!(f, "~ {}: {before} -> {after}", self.path),
            (None, None) => write!(f, "  {}", self.path),
        }
    }
}

/// Every change from `before` to `after`, in the order of the fields.
pub fn diff(before: &Character, after: &Character) -> Vec<Difference> {
    let value =
        |c: &Character| serde_json::from_str::<Map<String, Value>>(&convert(c)).unwrap_or_default();
    let mut out = Vec::new();
    objects("", &value(before), &value(after), false, 0, &mut out);
    out
}

fn objects(
    prefix: &str,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    secret: bool,
    depth: usize,
    out: &mut Vec<Difference>,
) {
    let gone = before.keys();
    let new = after.keys().filter(|k| !before.contains_key(*k));
    for key in gone.chain(new) {
        let secret = secret || key == "secrets" || names_a_secret(key);
        values(&format!("{prefix}{key}"), before.get(key), after.get(key), secret, depth + 1, out);
    }
}

fn values(
    path: &str,
    before: Option<&Value>,
    after: Option<&Value>,
    secret: bool,
    depth: usize,
    out: &mut Vec<Difference>,
) {
    match (before, after) {
        (before, after) if before == after => {}
        (Some(Value::Object(before)), Some(Value::Object(after))) if depth < MAX_DEPTH => {
            objects(&format!("{path}."), before, after, secret, depth, out);
        }
        (Some(Value::Array(before)), Some(Value::Array(after))) if depth < MAX_DEPTH => {
            lists(path, before, after, secret, depth, out)
        }
        (before, after) => {
            let shown = |v: Option<&Value>| {
                v.map(|v| if secret { Value::from("•••") } else { v.clone() })
            };
            out.push(Difference {
                path: path.to_owned(),
                before: shown(before),
                after: shown(after),
            });
        }
    }
}

/// Compares what lies between the common beginning and the common end, so that one inserted line is
/// one change.
fn lists(
    path: &str,
    before: &[Value],
    after: &[Value],
    secret: bool,
    depth: usize,
    out: &mut Vec<Difference>,
) {
    let head = before.iter().zip(after).take_while(|(b, a)| b == a).count();
    let (rest_before, rest_after) = (&before[head..], &after[head..]);
    let tail =
        rest_before.iter().rev().zip(rest_after.iter().rev()).take_while(|(b, a)| b == a).count();
    let (changed_before, changed_after) =
        (&rest_before[..rest_before.len() - tail], &rest_after[..rest_after.len() - tail]);
    for i in 0..changed_before.len().max(changed_after.len()) {
        values(
            &format!("{path}[{}]", head + i),
            changed_before.get(i),
            changed_after.get(i),
            secret,
            depth + 1,
            out,
        );
    }
}
