//! What a case came to.

/// Result of a case that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The connector behaves as required.
    Holds,
    /// The platform lacks the capability that the case tests; the text names it.
    NotApplicable(&'static str),
}
