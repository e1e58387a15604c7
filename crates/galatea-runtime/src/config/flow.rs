//! A rate with a burst.

/// So many a minute, and some of them at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flow {
    /// Tokens a minute.
    pub(crate) per_minute: u32,
    /// Tokens at once.
    pub(crate) burst: u32,
}
