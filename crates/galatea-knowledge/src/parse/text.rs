//! Plain text, and the decoding of text in any of the usual encodings.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use galatea_core::Result;
use std::borrow::Cow;

use crate::document::{BlockKind, Writer, unreadable};

/// Bytes that are looked at to guess an encoding.
const LOOKED_AT: usize = 4096;

/// Decodes UTF-8, UTF-16 (with or without a byte order mark) or, if the bytes are not UTF-8,
/// Windows-1252, which contains Latin-1.
///
/// # Errors
/// `Invalid` for bytes that are not text.
pub(super) fn decode(bytes: &[u8]) -> Result<Cow<'_, str>> {
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return Ok(encoding.decode(bytes).0);
    }
    let start = &bytes[..bytes.len().min(LOOKED_AT)];
    let zeros = |odd: usize| start.iter().skip(odd).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd) = (zeros(0), zeros(1));
    // Western text in UTF-16 has a zero in almost every pair.
    let most = start.len() / 2 * 4 / 5;
    let encoding = match std::str::from_utf8(bytes) {
        Ok(_) if even + odd == 0 => UTF_8,
        _ if start.len() >= 4 && odd >= most && even == 0 => UTF_16LE,
        _ if start.len() >= 4 && even >= most && odd == 0 => UTF_16BE,
        _ if even + odd > 0 => {
            return Err(unreadable("the file holds binary data and not text")
                .with_fix("export it as PDF, DOCX, HTML or text, or leave it out"));
        }
        Ok(_) => UTF_8,
        Err(error) => {
            // A long valid beginning means damaged UTF-8 and not another encoding.
            if error.valid_up_to() > LOOKED_AT { UTF_8 } else { WINDOWS_1252 }
        }
    };
    Ok(encoding.decode_without_bom_handling(bytes).0)
}

/// Paragraphs are separated by empty lines.
pub(super) fn read(text: &str, writer: &mut Writer) -> Result<()> {
    let mut paragraph = String::new();
    for line in text.lines() {
        if line.trim().is_empty() {
            writer.block(BlockKind::Prose, &paragraph)?;
            paragraph.clear();
        } else {
            paragraph.push_str(line);
            paragraph.push('\n');
        }
    }
    writer.block(BlockKind::Prose, &paragraph)
}
