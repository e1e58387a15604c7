//! Files that an earlier version kept.

use serde::de::DeserializeOwned;
use std::path::Path;

/// Content of a file that an earlier version kept. A missing or malformed file counts as none.
pub(super) fn earlier<T: DeserializeOwned>(file: &Path) -> Option<T> {
    serde_json::from_slice(&std::fs::read(file).ok()?).ok()
}
