//! Turns bytes into a [`Document`], one format per file. Pure: no parser touches disk or network.
//! They are called in a child process, but for small plain text ([`crate::child`]).

mod archive;
mod code;
mod csv;
mod docx;
mod encoding;
mod epub;
mod html;
mod markdown;
mod notes;
mod pdf;
mod skipping;
mod table;
mod text;
mod xml;

use galatea_core::Result;

use crate::{
    document::{Document, Limits, Writer},
    format::Format,
    refusal::{too_large, unreadable},
};

/// Reads a document.
///
/// # Errors
/// `Invalid` ([`crate::refusal::UNREADABLE`]) for a damaged document or one without text,
/// `TooLong` ([`crate::refusal::TOO_LARGE`]) for one beyond the limits. Both name the fix.
pub(crate) fn parse(format: Format, bytes: &[u8], limits: Limits) -> Result<Document> {
    if bytes.len() > limits.bytes {
        return Err(too_large("the file is larger than what is read")
            .with("limit", format!("{} MiB", limits.bytes >> 20)));
    }
    if bytes.is_empty() {
        return Err(unreadable("the file is empty").with_fix("remove it, or export it again"));
    }
    let mut writer = Writer::new(limits);
    match format {
        Format::Text => text::read(&encoding::decode(bytes)?, &mut writer)?,
        Format::Markdown => markdown::read(&encoding::decode(bytes)?, &mut writer)?,
        Format::Html => {
            let text = encoding::decode_markup(bytes)?;
            html::read(&text, &mut writer)?;
            if writer.is_empty() {
                html::read_with_menus(&text, &mut writer)?;
            }
        }
        Format::Csv => csv::read(&encoding::decode(bytes)?, &mut writer)?,
        Format::Code => code::read(&encoding::decode(bytes)?, &mut writer)?,
        Format::Docx => docx::read(bytes, &mut writer)?,
        Format::Epub => epub::read(bytes, &mut writer)?,
        Format::Pdf => pdf::read(bytes, &mut writer)?,
    }
    writer.finish(format)
}

#[cfg(test)]
mod tests;
