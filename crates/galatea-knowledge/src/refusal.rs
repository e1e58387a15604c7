//! Errors about documents that are not read.

use galatea_core::{Error, ErrorKind};

/// Code of every document that cannot be read.
pub(crate) const UNREADABLE: &str = "GAL-KNOW-READ";

/// Code of a document beyond a limit.
pub(crate) const TOO_LARGE: &str = "GAL-KNOW-SIZE";

/// A document that cannot be read.
pub(crate) fn unreadable(message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::invalid(message).with_code(UNREADABLE)
}

/// A document beyond a limit.
pub(crate) fn too_large(message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::TooLong, message)
        .with_code(TOO_LARGE)
        .with_fix("split the document into smaller files, or leave it out")
}
