//! A character's secret settings, which show their names and never their values.

use serde::Deserialize;
use serde_json::{Map, Value};
use std::{fmt, ops::Deref};

use super::snippet::names_a_secret;

/// Secret settings by name. Not serialisable; `Debug` prints the names only.
#[derive(Clone, PartialEq, Default, Deserialize)]
#[serde(transparent)]
pub struct Secrets(Map<String, Value>);

impl Secrets {
    /// Adds or replaces one.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        self.0.insert(name.into(), value.into());
    }
}

impl From<Map<String, Value>> for Secrets {
    fn from(map: Map<String, Value>) -> Self {
        Self(map)
    }
}

impl Deref for Secrets {
    type Target = Map<String, Value>;
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Part of a map of settings that may be stored and shown: without `secrets`, and without texts
/// whose name says secret (`settings.OPENAI_API_KEY`), at any depth.
pub(super) fn open_part(settings: &Map<String, Value>) -> Map<String, Value> {
    settings
        .iter()
        .filter(|(name, value)| *name != "secrets" && !(value.is_string() && names_a_secret(name)))
        .map(|(name, value)| {
            (
                name.clone(),
                if let Value::Object(inner) = value {
                    Value::Object(open_part(inner))
                } else {
                    value.clone()
                },
            )
        })
        .collect()
}
