//! A model and the purpose an agent uses it for.

use serde::Serialize;

use super::named::Named;
use crate::families::Role;

/// A model in use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Use {
    /// Its provider.
    pub provider: &'static str,
    /// Provider and base address.
    #[serde(skip)]
    pub service: String,
    /// Its purpose.
    pub role: Role,
    /// Its name, and the reason for its choice.
    #[serde(flatten)]
    pub named: Named,
}
