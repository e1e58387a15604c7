//! Detects an export of Galatea that was cut off. Its last line holds the number of lines before it; its
//! header says whether there is such a line, since older exports have none.

/// What of an export was read, for its last line.
#[derive(Debug, Default)]
pub(super) struct Ending {
    /// Lines since the header, with it.
    lines: usize,
    is_due: bool,
}

impl Ending {
    /// Counts a line, whatever it is.
    pub(super) fn count(&mut self) {
        self.lines += 1;
    }

    /// The line that was counted last is the header of an export.
    pub(super) fn begin(&mut self, has_end: bool) {
        *self = Self { lines: 1, is_due: has_end };
    }

    /// The line that was counted last is the last one of an export, which had so many `records` before
    /// it.
    ///
    /// # Errors
    /// If some of these are missing.
    pub(super) fn end(&mut self, records: usize) -> Result<(), String> {
        self.is_due = false;
        let found = self.lines.saturating_sub(1);
        if found < records {
            return Err(format!(
                "the export had {records} lines before this one, of which {} are missing",
                records - found
            ));
        }
        Ok(())
    }

    /// Call at the end of the file, and before the header of another export.
    ///
    /// # Errors
    /// If it ends too early.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.is_due {
            return Err("the export ends here, before its last line: it was cut off. What is whole before it was read; make the export again and repeat the import".to_owned());
        }
        Ok(())
    }
}
