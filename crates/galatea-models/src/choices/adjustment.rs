//! A change of a request that a service has refused.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A change of a request that a service demands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Adjustment {
    /// This limit of the answer's length has the other name. Comes before [`Self::Without`], which
    /// may remove the new name.
    Renamed(String, String),
    /// Instructions stand in front of the first message instead of in a message of their own.
    SystemInFront,
    /// Instructions behind the beginning are said from the user's side, in the form of
    /// [`galatea_core::model::TextRequest::with_late_beside_people`].
    LateSystem,
    /// The two sides alternate, and a person begins.
    Turns,
    /// Pictures are left out.
    NoPictures,
    /// The field is left out. Names of nested fields are joined by dots, lists are passed through:
    /// `messages.name`.
    Without(String),
}

impl fmt::Display for Adjustment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Renamed(from, to) => write!(f, "{from} is sent as {to}"),
            Self::SystemInFront => {
                f.write_str("the instructions stand in front of the first message")
            }
            Self::LateSystem => f.write_str("later instructions are sent as a person's words"),
            Self::Turns => f.write_str("messages of one side in a row are joined"),
            Self::NoPictures => f.write_str("pictures are left out"),
            Self::Without(field) => write!(f, "{field} is left out"),
        }
    }
}
