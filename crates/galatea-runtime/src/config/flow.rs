//! A rate with a burst.

/// A number a minute, and a number of them at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flow {
    /// Refilled in a minute.
    pub(crate) per_minute: u32,
    /// Most that may be taken at once.
    pub(crate) burst: u32,
}
