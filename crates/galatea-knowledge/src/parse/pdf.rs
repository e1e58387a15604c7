//! PDF: the text of each page in the order of its drawing commands, with lines of larger letters as
//! headings.

use galatea_core::Result;
use lopdf::{
    Dictionary, Document as Pdf, Encoding, LoadOptions, Object, content::Content,
    decode_text_string,
};
use std::collections::BTreeMap;

use crate::{
    document::{BlockKind, Writer},
    refusal::{too_large, unreadable},
};

/// A line whose letters are this many times as large as those of the text is a heading.
const LARGER: f32 = 1.2;
/// Longest heading, in characters.
const HEADING: usize = 120;
/// Kerning beyond this, in thousandths of the letters' size, is a space between words.
const SPACE: f32 = -180.0;

/// A line of text of one size at one height.
struct TextLine {
    size: f32,
    y: f32,
    text: String,
}

pub(super) fn read(bytes: &[u8], writer: &mut Writer) -> Result<()> {
    let limits = writer.limits();
    let most = usize::try_from(limits.unpacked).unwrap_or(usize::MAX);
    let options = LoadOptions { max_decompressed_size: Some(most), ..LoadOptions::default() };
    let pdf = Pdf::load_mem_with_options(bytes, options).map_err(|error| {
        let text = error.to_string();
        if text.to_ascii_lowercase().contains("password") { encrypted() } else { damaged(&text) }
    })?;
    if pdf.is_encrypted() {
        return Err(encrypted());
    }
    let pages = pdf.get_pages();
    if pages.len() > limits.pages {
        return Err(too_large("the PDF has too many pages")
            .with("pages", pages.len())
            .with("limit", limits.pages));
    }
    if pages.is_empty() {
        return Err(damaged("it has no pages"));
    }
    if let Some(title) = title(&pdf) {
        writer.title(&title);
    }
    let (mut read, mut failed, mut left) = (Vec::new(), 0, most);
    let mut unread = missing_pages(&pdf, pages.len());
    let total = pages.len().saturating_add(unread);
    for (number, page) in &pages {
        let has = |id: &lopdf::ObjectId| pdf.get_object(*id).is_ok();
        // A page that is missing keeps its place, as one without text.
        let is_whole = has(page) && pdf.get_page_contents(*page).iter().all(has);
        unread += usize::from(!is_whole);
        match lines(&pdf, *page, &mut left) {
            Ok(lines) => read.push((*number, lines)),
            Err(error) if left == 0 => {
                return Err(too_large("the PDF unpacks to more than is read").with("cause", error));
            }
            Err(_) => {
                failed += 1;
                unread += usize::from(is_whole);
            }
        }
    }
    writer.unread(unread, total);
    if failed == pages.len() {
        return Err(damaged("none of its pages can be read"));
    }
    let body = body_size(read.iter().flat_map(|(_, lines)| lines));
    for (number, lines) in read {
        writer.page(number);
        write(&lines, body, writer)?;
    }
    Ok(())
}

/// Number of pages that the file lost: a part of a file is read like a whole one whose table of
/// objects is damaged. Where that table is sound, a wrong number of pages is harmless.
fn missing_pages(pdf: &Pdf, found: usize) -> usize {
    let counted = || {
        let pages = pdf.catalog().ok()?.get_deref(b"Pages", pdf).ok()?.as_dict().ok()?;
        usize::try_from(pages.get_deref(b"Count", pdf).ok()?.as_i64().ok()?).ok()
    };
    let is_repaired = pdf.xref_recovery.is_some();
    counted().filter(|_| is_repaired).unwrap_or(0).saturating_sub(found)
}

fn title(pdf: &Pdf) -> Option<String> {
    let info = pdf.trailer.get(b"Info").ok()?;
    let info = pdf.dereference(info).ok()?.1.as_dict().ok()?;
    let title = decode_text_string(info.get(b"Title").ok()?).ok()?;
    // Titles that word processors write by default.
    let made = title.starts_with("Microsoft Word - ") || title.eq_ignore_ascii_case("untitled");
    (!made && !title.trim().is_empty()).then_some(title)
}

/// The size that most letters have.
fn body_size<'a>(lines: impl Iterator<Item = &'a TextLine>) -> f32 {
    let mut letters: BTreeMap<u32, usize> = BTreeMap::new();
    for line in lines {
        *letters.entry(tenths(line.size)).or_default() += line.text.len();
    }
    let size = letters.into_iter().max_by_key(|(_, count)| *count).map_or(0, |(size, _)| size);
    f32::from(u16::try_from(size).unwrap_or(u16::MAX)) / 10.0
}

fn tenths(size: f32) -> u32 {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
    let tenths = (size.abs().min(1_000.0) * 10.0).round() as u32;
    tenths
}

fn write(lines: &[TextLine], body: f32, writer: &mut Writer) -> Result<()> {
    let (mut paragraph, mut last) = (String::new(), None::<(f32, f32)>);
    for line in lines {
        let text = line.text.trim();
        if text.is_empty() {
            continue;
        }
        let letters = text.chars().count();
        if body > 0.0 && line.size >= body * LARGER && (3..=HEADING).contains(&letters) {
            writer.block(BlockKind::Prose, &std::mem::take(&mut paragraph))?;
            writer.heading(if line.size >= body * 1.6 { 1 } else { 2 }, text);
            last = None;
            continue;
        }
        // A gap of more than one and a half lines begins a paragraph.
        if last.is_some_and(|(y, gap)| (y - line.y).abs() > gap) {
            writer.block(BlockKind::Prose, &std::mem::take(&mut paragraph))?;
        }
        last = Some((line.y, line.size.max(1.0) * 1.8));
        // A word that was divided at the end of the line.
        if paragraph.ends_with('-') && text.starts_with(char::is_lowercase) {
            paragraph.pop();
        } else if !paragraph.is_empty() {
            paragraph.push(' ');
        }
        paragraph.push_str(text);
    }
    writer.block(BlockKind::Prose, &paragraph)
}

/// The lines of a page. `left` is how many bytes may still be unpacked.
fn lines(pdf: &Pdf, page: lopdf::ObjectId, left: &mut usize) -> lopdf::Result<Vec<TextLine>> {
    let fonts = pdf.get_page_fonts(page)?;
    let encodings: BTreeMap<&[u8], Encoding<'_>> = fonts
        .iter()
        .filter_map(|(name, font)| Some((name.as_slice(), encoding(pdf, font, *left)?)))
        .collect();
    let data = pdf.get_page_content_with_limit(page, *left).inspect_err(|error| {
        if error.to_string().contains("limit") {
            *left = 0;
        }
    })?;
    *left = left.saturating_sub(data.len());
    let content = Content::decode(&data)?;
    let mut pen = Pen::default();
    for operation in &content.operations {
        pen.draw(&operation.operator, &operation.operands, &encodings);
    }
    pen.end_line();
    Ok(pen.lines)
}

fn encoding<'a>(pdf: &'a Pdf, font: &'a Dictionary, left: usize) -> Option<Encoding<'a>> {
    font.get_font_encoding_with_limit(pdf, left).ok()
}

/// Follows the text position, as far as lines and sizes need it (ISO 32000-1 §9.4).
#[derive(Default)]
struct Pen<'a> {
    lines: Vec<TextLine>,
    text: String,
    encoding: Option<&'a Encoding<'a>>,
    font_size: f32,
    scale: f32,
    y: f32,
    leading: f32,
}

impl<'a> Pen<'a> {
    fn draw(
        &mut self,
        operator: &str,
        operands: &[Object],
        encodings: &'a BTreeMap<&[u8], Encoding<'a>>,
    ) {
        let number = |n: usize| operands.get(n).and_then(|o| o.as_float().ok()).unwrap_or(0.0);
        match operator {
            "BT" => {
                self.end_line();
                (self.scale, self.y) = (1.0, 0.0);
            }
            "ET" => self.end_line(),
            "Tf" => {
                let name = operands.first().and_then(|name| name.as_name().ok());
                self.encoding = name.and_then(|name| encodings.get(name));
                if (number(1) - self.font_size).abs() > 0.05 && !self.text.trim().is_empty() {
                    self.end_line();
                }
                self.font_size = number(1);
            }
            "TL" => self.leading = number(0),
            "Td" | "TD" => {
                if operator == "TD" {
                    self.leading = -number(1);
                }
                if number(1).abs() > 0.01 {
                    self.end_line();
                    self.y += number(1) * self.scale;
                } else {
                    self.gap();
                }
            }
            "Tm" => {
                let scale = (number(2).powi(2) + number(3).powi(2)).sqrt();
                let y = number(5);
                if (y - self.y).abs() > 0.5 || (scale - self.scale).abs() > 0.05 {
                    self.end_line();
                } else {
                    self.gap();
                }
                (self.scale, self.y) = (scale, y);
            }
            "T*" => self.next_line(),
            "Tj" => self.show(operands.first()),
            "'" => {
                self.next_line();
                self.show(operands.first());
            }
            "\"" => {
                self.next_line();
                self.show(operands.get(2));
            }
            "TJ" => {
                for part in operands.first().and_then(|o| o.as_array().ok()).into_iter().flatten() {
                    match part.as_float() {
                        Ok(kerning) if kerning < SPACE => self.gap(),
                        Ok(_) => {}
                        Err(_) => self.show(Some(part)),
                    }
                }
            }
            _ => {}
        }
    }

    fn show(&mut self, text: Option<&Object>) {
        let (Some(Object::String(bytes, _)), Some(encoding)) = (text, self.encoding) else {
            return;
        };
        if let Ok(text) = Pdf::decode_text(encoding, bytes) {
            self.text.push_str(&text);
        }
    }

    fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with(' ') {
            self.text.push(' ');
        }
    }

    fn next_line(&mut self) {
        self.end_line();
        self.y -= self.leading * self.scale;
    }

    fn end_line(&mut self) {
        if !self.text.trim().is_empty() {
            let size = self.font_size * self.scale;
            self.lines.push(TextLine { size, y: self.y, text: std::mem::take(&mut self.text) });
        }
        self.text.clear();
    }
}

fn damaged(cause: &str) -> galatea_core::Error {
    unreadable("the PDF is damaged")
        .with("cause", galatea_core::visible::one_line(cause))
        .with_fix("open it and print it to a new PDF, or export it again")
}

fn encrypted() -> galatea_core::Error {
    unreadable("the PDF is protected by a password").with_fix("save a copy without a password")
}
