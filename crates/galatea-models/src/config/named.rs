//! Named: a model's name, and why it is this one.

use std::fmt;

use serde::Serialize;

use crate::families;

/// A model's name, and why it is this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Named {
    /// The name at its provider.
    pub name: String,
    /// Where it comes from.
    pub why: Why,
}

/// Where a model's name comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "from", content = "detail")]
pub enum Why {
    /// A setting of this name.
    Set(&'static str),
    /// The provider's list, on this day.
    Chosen(String),
    /// The table of families: the provider's list has not been read yet.
    BuiltIn,
}

impl Named {
    /// Whether somebody named it; then it is never replaced.
    pub fn is_set(&self) -> bool {
        matches!(self.why, Why::Set(_))
    }
}

impl Why {
    /// The setting that names it, or what could.
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
