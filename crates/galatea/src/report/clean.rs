//! Masks secrets in the log, and escapes what a terminal would obey.

use std::io::{self, Write};

use crate::report::printable;

pub(crate) use galatea_core::redact::Redactor;

/// How the log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    Text,
    ColoredText,
}

/// Buffers one log event, and writes it masked and in one piece to stderr when dropped.
pub(crate) struct CleanStderr {
    redactor: Redactor,
    form: Form,
    buffer: Vec<u8>,
}

impl CleanStderr {
    /// For one event.
    pub(crate) fn new(redactor: Redactor, form: Form) -> Self {
        Self { redactor, form, buffer: Vec::with_capacity(256) }
    }
}

impl Write for CleanStderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for CleanStderr {
    fn drop(&mut self) {
        let text = String::from_utf8_lossy(&self.buffer);
        let text = self.redactor.clean_error(&text);
        let text = match self.form {
            Form::Json => printable::json(&text),
            Form::Text => printable::log(&text, false),
            Form::ColoredText => printable::log(&text, true),
        };
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }
}
