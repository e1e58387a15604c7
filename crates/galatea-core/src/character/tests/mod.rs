//! Tests of the loader, one file per question.

mod cards;
mod faults;
mod files;
mod formats;
mod hostile;
mod privacy;
mod strangers;

use super::{Diagnostic, Loaded, load};
use crate::error::finding::Severity;

/// A file of the oldest format, with most of its fields.
const V0: &str = include_str!("fixtures/v0.json");

fn loaded(text: &str) -> Loaded {
    load("c.json", text).unwrap_or_else(|refused| panic!("{refused}"))
}

/// The errors that refused this text.
fn errors(text: &str) -> Vec<Diagnostic> {
    let refused = load("c.json", text).expect_err("should be refused");
    refused.diagnostics.into_iter().filter(|d| d.severity == Severity::Error).collect()
}

/// The one error that refused this text.
fn error(text: &str) -> Diagnostic {
    let mut errors = errors(text);
    assert_eq!(errors.len(), 1, "{errors:#?}");
    errors.remove(0)
}
