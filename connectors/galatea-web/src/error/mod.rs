//! The errors of the web connector, with their kinds.

mod pages;

use galatea_core::{Error, ErrorKind};

pub(crate) use pages::PAGES;

pub(crate) fn bad(message: &'static str) -> Error {
    Error::invalid(message).with_code("GAL-WEB-SAY")
}

pub(crate) fn bad_id(what: &'static str) -> Error {
    Error::invalid(format!(
        "{what} must have 1 to 128 letters, digits, dots, dashes, colons, at signs or underscores"
    ))
    .with_code("GAL-WEB-ID")
    .with_fix("use a UUID, or any other id of these characters")
}

pub(crate) fn too_large() -> Error {
    Error::new(ErrorKind::TooLong, "the files are larger than 4 MiB together, or more than 4")
        .with_code("GAL-WEB-FILES")
        .with_fix("send fewer or smaller files; documents to be searched belong into the knowledge")
}

pub(crate) fn unsupported() -> Error {
    Error::new(ErrorKind::Unsupported, "what was said on the web stays as it is")
        .with_code("GAL-WEB-ABILITY")
}
