//! One request, with its parameters and files.

use serde_json::Value;
use std::collections::HashMap;

use crate::telegram::multipart;

/// A decoded call.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// Method and path without ids.
    pub(crate) route: &'static str,
    /// Values of the path's placeholders, percent-decoded.
    pub(crate) ids: Vec<String>,
    pub(crate) query: HashMap<String, String>,
    pub(crate) body: Value,
    pub(crate) files: Vec<multipart::Part>,
}

impl Request {
    /// The nth placeholder as an id.
    pub(crate) fn id(&self, n: usize) -> u64 {
        self.ids.get(n).and_then(|id| id.parse().ok()).unwrap_or(0)
    }

    pub(super) fn channel(&self) -> Option<u64> {
        self.route.contains("/channels/{}").then(|| self.id(0))
    }
}
