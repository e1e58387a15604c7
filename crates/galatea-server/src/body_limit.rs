//! The longest bodies.

/// In bytes: files of 4 MiB in base64, and the text around them.
pub(crate) const UPLOAD: usize = 7 << 20;
