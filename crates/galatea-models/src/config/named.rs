//! Names of models and the reasons for their choice.

use std::fmt;

use serde::Serialize;

use crate::families;

/// A model's name and the reason for its choice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Named {
    /// The name at its provider.
    pub name: String,
    /// The source of the name.
    pub why: Why,
}

/// The source of a model's name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "from", content = "detail")]
pub enum Why {
    /// The setting with this name.
    Set(&'static str),
    /// Chosen from the provider's list on this day.
    Chosen(String),
    /// The table of families, because the provider's list has not been read yet.
    BuiltIn,
}

impl Named {
    /// True if a setting names it; such a model is never replaced.
    pub fn is_set(&self) -> bool {
        matches!(self.why, Why::Set(_))
    }
}

impl Why {
    /// The setting that names the model, or a phrase for messages if there is none.
    pub(crate) fn variable(&self) -> &'static str {
        if let Self::Set(variable) = self { variable } else { "the model's name" }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Set(variable) => write!(f, "set by {variable}"),
            Self::Chosen(on) => write!(f, "chosen from the provider's list on {on}"),
            Self::BuiltIn => write!(f, "newest known on {}", families::known().date),
        }
    }
}
