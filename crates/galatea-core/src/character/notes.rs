//! Gathers faults and remarks while a file is read, bounded in number.

use std::ops::Range;

use super::diagnostic::{Diagnostic, SourceText};
use crate::error::finding::Severity;

/// Faults and remarks kept of one file. More would not help the reader, and each place takes time
/// to find.
const MAX_NOTES: usize = 50;

/// Gathers faults and remarks about one text.
pub(super) struct Notes<'a> {
    source: SourceText<'a>,
    kept: Vec<(Range<usize>, Diagnostic)>,
    left_out: usize,
    refused: bool,
}

impl<'a> Notes<'a> {
    pub(super) fn new(source: SourceText<'a>) -> Self {
        Self { source, kept: Vec::new(), left_out: 0, refused: false }
    }

    /// The source of a range, as it is written.
    pub(super) fn written(&self, range: &Range<usize>) -> &'a str {
        self.source.text.get(range.clone()).unwrap_or_default()
    }

    /// Refuses the file for this.
    pub(super) fn error(
        &mut self,
        code: &'static str,
        range: &Range<usize>,
        message: impl Into<String>,
        help: Option<String>,
    ) {
        self.refused = true;
        self.add(Severity::Error, code, range, message, help);
    }

    /// Remarks on this.
    pub(super) fn warn(
        &mut self,
        code: &'static str,
        range: &Range<usize>,
        message: impl Into<String>,
        help: Option<String>,
    ) {
        self.add(Severity::Warning, code, range, message, help);
    }

    /// True when further remarks are only counted, so that their wording need not be worked out.
    pub(super) fn is_full(&self) -> bool {
        self.kept.len() >= MAX_NOTES
    }

    fn add(
        &mut self,
        severity: Severity,
        code: &'static str,
        range: &Range<usize>,
        message: impl Into<String>,
        help: Option<String>,
    ) {
        // An error is worth more than any remark: it takes the place of the last one.
        if self.is_full() {
            self.left_out += 1;
            let spare = self.kept.iter().rposition(|(_, d)| d.severity != Severity::Error);
            match spare {
                Some(spare) if severity == Severity::Error => drop(self.kept.remove(spare)),
                _ => return,
            }
        }
        let mut diagnostic = self.source.at(severity, code, range, message);
        if let Some(help) = help {
            diagnostic = diagnostic.help(help);
        }
        self.kept.push((range.clone(), diagnostic));
    }

    /// Everything in the order of the text, and whether the file is refused.
    pub(super) fn finish(mut self) -> (Vec<Diagnostic>, bool) {
        self.kept.sort_by_key(|(range, _)| range.start);
        if self.left_out > 0
            && let Some((_, last)) = self.kept.last_mut()
        {
            last.message.push_str(&format!(" (and {} more)", self.left_out));
        }
        (self.kept.into_iter().map(|(_, d)| d).collect(), self.refused)
    }
}
