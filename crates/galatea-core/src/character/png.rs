//! Finds the character card in a PNG picture: programs for such cards write it into a text chunk, as
//! JSON in base64 (Character Card V2 and V3).

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

use super::{
    MAX_SIZE,
    diagnostic::{CARD, Diagnostic, SIZE},
};

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
/// Chunks looked at. A picture has a few, and some thousand where its data is cut small.
const MOST_CHUNKS: usize = 100_000;
/// Longest text of a chunk that is decoded, in bytes: base64 needs four for three.
const LONGEST: usize = MAX_SIZE / 3 * 4 + 64;
/// Names of the chunks of a card, the newest version first.
const KEYWORDS: [&str; 2] = ["ccv3", "chara"];

const BASE64: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);

/// True if these bytes are a PNG picture.
pub(super) fn is_png(bytes: &[u8]) -> bool {
    bytes.starts_with(SIGNATURE)
}

/// The text of the card in a picture.
///
/// # Errors
/// For a picture without a card, and for a card that is damaged or larger than a character file.
pub(super) fn card(name: &str, bytes: &[u8]) -> Result<String, Diagnostic> {
    let mut found: [Option<&[u8]>; 2] = [None; 2];
    let mut packed: [Option<Vec<u8>>; 2] = [None, None];
    for (kind, data) in chunks(bytes) {
        let Some((which, text)) = text_of(kind, data) else { continue };
        // Programs that change a card leave the old chunk in front of the new one.
        match text {
            Text::Plain(text) => (found[which], packed[which]) = (Some(text), None),
            Text::Packed(text) => match decompress_to_vec_zlib_with_limit(text, LONGEST) {
                Ok(text) => (found[which], packed[which]) = (None, Some(text)),
                Err(_) => return Err(damaged(name, "its compressed text cannot be unpacked")),
            },
        }
    }
    let mut fault = None;
    for (plain, packed) in found.into_iter().zip(&packed) {
        let Some(text) = plain.or(packed.as_deref()) else { continue };
        match decoded(name, text) {
            Ok(text) => return Ok(text),
            Err(wrong) => fault = fault.or(Some(wrong)),
        }
    }
    Err(fault.unwrap_or_else(|| {
        Diagnostic::whole(name, CARD, "this picture holds no character card")
            .help("export the card again as PNG or JSON; programs that make pictures smaller remove the card from them")
    }))
}

/// The JSON of a chunk's text.
fn decoded(name: &str, text: &[u8]) -> Result<String, Diagnostic> {
    if text.len() > LONGEST {
        let message = format!(
            "the card is larger than {} MiB, the most a character may have",
            MAX_SIZE >> 20
        );
        return Err(Diagnostic::whole(name, SIZE, message).help(
            "export the card without its pictures and sounds (assets), or with a smaller book",
        ));
    }
    let text = text.trim_ascii();
    if text.starts_with(b"{") {
        return String::from_utf8(text.to_vec())
            .map_err(|_| damaged(name, "its text is not UTF-8"));
    }
    let text: Vec<u8> = text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let alphabet = match text.iter().any(|byte| matches!(byte, b'-' | b'_')) {
        true => alphabet::URL_SAFE,
        false => alphabet::STANDARD,
    };
    let json = GeneralPurpose::new(&alphabet, BASE64)
        .decode(&text)
        .map_err(|_| damaged(name, "its text is neither base64 nor JSON"))?;
    String::from_utf8(json).map_err(|_| damaged(name, "its text is not UTF-8"))
}

fn damaged(name: &str, how: &str) -> Diagnostic {
    Diagnostic::whole(name, CARD, format!("the character card in this picture is damaged: {how}"))
        .help("download or export the card again")
}

enum Text<'a> {
    Plain(&'a [u8]),
    Packed(&'a [u8]),
}

/// The text of a chunk of a card, with the place of its name in [`KEYWORDS`] (PNG, third edition,
/// §11.3.3).
fn text_of<'a>(kind: &[u8], data: &'a [u8]) -> Option<(usize, Text<'a>)> {
    if !matches!(kind, b"tEXt" | b"zTXt" | b"iTXt") {
        return None;
    }
    let (keyword, rest) = split(data)?;
    let which = KEYWORDS.iter().position(|name| keyword.eq_ignore_ascii_case(name.as_bytes()))?;
    let text = match kind {
        b"tEXt" => Text::Plain(rest),
        b"zTXt" => Text::Packed(rest.get(1..)?),
        _ => {
            let is_packed = *rest.first()? == 1;
            let (_language, rest) = split(rest.get(2..)?)?;
            let (_translated, text) = split(rest)?;
            if is_packed { Text::Packed(text) } else { Text::Plain(text) }
        }
    };
    Some((which, text))
}

fn split(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = data.iter().position(|byte| *byte == 0)?;
    Some((&data[..at], &data[at + 1..]))
}

/// The chunks of a picture, as far as they are whole. Checksums are left alone: some programs that
/// write cards get them wrong.
fn chunks(bytes: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut rest = bytes.get(SIGNATURE.len()..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let (kind, after) = after.split_first_chunk::<4>()?;
        let data = after.get(..length)?;
        rest = after.get(length.saturating_add(4)..).unwrap_or_default();
        Some((kind.as_slice(), data))
    })
    .take(MOST_CHUNKS)
}
