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

/// Bytes at the beginning of markup that are searched for its encoding (HTML, "prescan a byte
/// stream to determine its encoding").
const PRESCANNED: usize = 1024;

/// Decodes markup, which may state its encoding. UTF-8 is taken for what it is, since pages that were
/// converted often state the encoding that they had before.
///
/// # Errors
/// As [`decode`].
pub(super) fn decode_markup(bytes: &[u8]) -> Result<Cow<'_, str>> {
    // ISO-2022-JP consists of ASCII and escapes.
    let is_utf8 = std::str::from_utf8(bytes).is_ok() && !bytes.contains(&0x1b);
    match stated(bytes) {
        Some(encoding) if !is_utf8 && Encoding::for_bom(bytes).is_none() => {
            Ok(encoding.decode_without_bom_handling(bytes).0)
        }
        _ => decode(bytes),
    }
}

/// The encoding that markup states: `<meta charset="…">`, `content="…; charset=…"`, or
/// `<?xml encoding="…"?>`. `None` for UTF-8 and UTF-16, which their bytes tell.
fn stated(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(PRESCANNED)]).to_ascii_lowercase();
    let label = ["charset", "encoding"].into_iter().find_map(|name| {
        start.split(name).skip(1).find_map(|rest| {
            let value = rest.trim_start().strip_prefix('=')?.trim_start();
            let value = value.trim_start_matches(['"', '\'']);
            value.split(|c: char| c.is_whitespace() || "\"'>;?/".contains(c)).next()
        })
    })?;
    Encoding::for_label_no_replacement(label.as_bytes())
        .filter(|encoding| ![UTF_8, UTF_16LE, UTF_16BE].contains(encoding))
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
