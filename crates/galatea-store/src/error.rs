//! Errors of the store that are the same for both databases.

use galatea_core::{Error, ErrorKind, Retry};

/// A call of a store that is closed.
pub(crate) fn closed() -> Error {
    Error::new(ErrorKind::Unavailable, "the store is closed").with_retry(Retry::Never)
}

/// A stored value that cannot be read back.
pub(crate) fn unreadable(
    what: &'static str,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> Error {
    Error::unexpected("a stored value cannot be read")
        .with_code("GAL-DB-CORRUPT")
        .with("what", what)
        .with_source(source)
}

/// A change that is committed already, or is refused because of a later one.
pub(crate) fn conflict() -> Error {
    Error::new(ErrorKind::Conflict, "this has been committed already, so nothing was written")
}
