//! Uses: which model does what.

use serde::Serialize;

use super::named::Named;
use crate::families::Role;

/// A model and what it is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Use {
    /// Its provider.
    pub provider: &'static str,
    /// Provider and base address.
    #[serde(skip)]
    pub service: String,
    /// What it does.
    pub role: Role,
    /// Its name, and why it is this one.
    #[serde(flatten)]
    pub named: Named,
}
