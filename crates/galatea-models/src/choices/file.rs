//! Stores the chosen models in a file.

use std::path::Path;

use galatea_core::{
    Error, ErrorKind, Result,
    whole_file::{self, Access, Flush},
};

use super::KeptChoices;

/// Largest file read, in bytes. A genuine one has a few kilobytes.
const MOST: u64 = 1 << 20;

/// Reads the file. A file that cannot be read counts as empty.
pub(super) fn read(path: &Path) -> KeptChoices {
    let size = match std::fs::metadata(path) {
        Ok(found) => found.len(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return KeptChoices::default();
        }
        Err(error) => return unread(path, &error),
    };
    if size > MOST {
        return unread(path, &"it is too large");
    }
    match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_else(|error| unread(path, &error)),
        Err(error) => unread(path, &error),
    }
}

fn unread(path: &Path, why: &dyn std::fmt::Display) -> KeptChoices {
    tracing::warn!(file = %path.display(), error = %why, "failed to read the stored choice of models; models are chosen again");
    KeptChoices::default()
}

/// Replaces the file whole.
pub(super) fn write(path: &Path, kept: &KeptChoices) -> Result<()> {
    let text = serde_json::to_vec_pretty(kept).map_err(|error| {
        Error::unexpected("the choice of models cannot be written down").with_source(error)
    })?;
    let beside = path.with_extension(format!("{}.new", std::process::id()));
    whole_file::replace(path, &beside, &text, Access::Usual, Flush::Yes).map_err(|error| {
        Error::new(ErrorKind::Unavailable, "the choice of models cannot be remembered")
            .with("file", path.display())
            .with("cause", error)
    })
}
