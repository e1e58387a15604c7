//! Reads character files named on the command line.

use galatea_core::{
    Error, ErrorKind,
    character::{self, Loaded, MAX_PICTURE},
};
use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use crate::report::failure::Result;

/// Reads a character file.
///
/// # Errors
/// `GAL-FILE-READ` if it cannot be read; every fault in it with its place.
pub(crate) fn read(file: &Path, working_dir: &Path) -> Result<Loaded> {
    let bytes = bytes(file, working_dir)?;
    Ok(character::load_bytes(&file.display().to_string(), &bytes).map_err(Error::from)?)
}

/// The bytes of a file, up to one more than the maximum size, so that a larger file is detected.
pub(super) fn bytes(file: &Path, working_dir: &Path) -> galatea_core::Result<Vec<u8>> {
    let limit = u64::try_from(MAX_PICTURE).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    File::open(working_dir.join(file))
        .and_then(|opened| opened.take(limit).read_to_end(&mut bytes))
        .map_err(|e| unreadable(file, e))?;
    Ok(bytes)
}

pub(super) fn unreadable(file: &Path, source: io::Error) -> Error {
    let kind = match source.kind() {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        io::ErrorKind::PermissionDenied => ErrorKind::Forbidden,
        _ => ErrorKind::Unexpected,
    };
    Error::new(kind, format!("{} cannot be read", file.display()))
        .with_code("GAL-FILE-READ")
        .with("cause", &source)
        .with_fix("check the path; `galatea character new NAME` writes an example")
        .with_source(source)
}
