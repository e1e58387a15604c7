//! Tests that no text of a document is lost, glued together or garbled.

use encoding_rs::{Encoding, GBK, ISO_2022_JP, SHIFT_JIS, WINDOWS_1251};
use galatea_testkit::documents;

use super::{pair, read, shown, table};
use crate::{
    document::{BlockKind, Limits},
    format::Format,
    parse::parse,
};

/// The texts of a document, with the headers of its tables.
fn texts(format: Format, bytes: &[u8]) -> Vec<String> {
    let text = |block: crate::document::DocumentBlock| match block.kind {
        BlockKind::Table { header } => format!("{header}\n{}", block.text),
        BlockKind::Prose | BlockKind::Code => block.text,
    };
    read(format, bytes).blocks.into_iter().map(text).collect()
}

fn html(text: &str) -> Vec<String> {
    texts(Format::Html, text.as_bytes())
}

fn markdown(text: &str) -> Vec<String> {
    texts(Format::Markdown, text.as_bytes())
}

#[test]
fn paragraphs_of_a_list_item_are_words_apart() {
    let text = "- First unscrew the lid\n\n  Then press the button\n\n- Second step\n\n  > quoted words\n\n- third\n";
    assert_eq!(
        markdown(text),
        ["- First unscrew the lid Then press the button\n- Second step quoted words\n- third"]
    );
}

#[test]
fn html_in_markdown_is_read() {
    let text = "# Plans\n\n<table>\n<tr><th>Plan</th><th>Help</th></tr>\n<tr><td>Gold</td><td>zirconium</td></tr>\n</table>\n\n\
                After <b>bold</b><br>text.\n\n<div>\nA division.\n</div>\n\n<details>\n<summary>Hours</summary>\n\nInside.\n\n</details>\n\n\
                <!-- hidden -->\n\n<h2>Part</h2>\n\nEnd.\n\n| a |\n|---|\n| b<br>c |\n";
    let document = read(Format::Markdown, text.as_bytes());
    assert_eq!(
        shown(&document),
        [
            pair("Plans", "Gold | zirconium"),
            pair("Plans", "After bold text."),
            pair("Plans", "A division."),
            pair("Plans", "Hours"),
            pair("Plans", "Inside."),
            pair("Plans › Part", "End."),
            pair("Plans › Part", "b c"),
        ]
    );
    assert_eq!(table(&document.blocks[0]).0, "Plan | Help");
}

#[test]
fn tables_inside_of_tables_and_captions_are_read() {
    let nested = "<table><tr><td>Before<table><tr><th>Alpha<th>Beta<tr><td>Gamma<td>Delta</table>\
                  after</td><td>beside</td></tr></table>End";
    assert_eq!(html(nested), ["Before", "Alpha | Beta\nGamma | Delta", "after", "beside", "End"]);
    let rows = "<table><caption>Oxygen by quarter</caption><tr><th>a</th><th>b</th></tr>\
                <tr><td>1</td><td>2<table><tr><td>in</td></tr></table></td></tr><tr><td>3</td><td>4</td></tr></table>";
    assert_eq!(html(rows), ["Oxygen by quarter", "a | b\n1 | 2", "in", "a | b\n3 | 4"]);
}

#[test]
fn a_table_that_lays_out_a_page_is_read_as_its_text() {
    let long = "A sentence of a long essay. ".repeat(30);
    let text = format!(
        "<table><tr><td><p>{long}</p><p>{long}</p></td><td>side</td></tr></table>\
         <table><tr><td>Intro<h2>Part</h2><p>One.<p>Two.</td></tr></table>"
    );
    let long = long.trim();
    assert_eq!(
        shown(&read(Format::Html, text.as_bytes())),
        [
            pair("", long),
            pair("", long),
            pair("", "side"),
            pair("", "Intro"),
            pair("Part", "One."),
            pair("Part", "Two."),
        ]
    );
}

#[test]
fn menus_are_read_if_the_page_would_have_no_text_otherwise() {
    assert_eq!(html("<p>Text</p><nav>menu</nav><p>More</p>"), ["Text", "More"]);
    assert_eq!(html("<h1>Page</h1><nav>menu<p>An article."), ["menu", "An article."]);
    assert_eq!(html("<p>Text</p><nav>menu</nav><select><p>More"), ["Text", "More"]);
    assert_eq!(html("<nav>All is here</nav>"), ["All is here"]);
    let nothing = "<p>x</p><script>let a = '<p>no</p>';";
    assert_eq!(html(nothing), ["x"], "a script takes the rest");
}

#[test]
fn the_fix_for_a_document_without_text_is_one_of_its_format() {
    for format in [Format::Html, Format::Markdown, Format::Text, Format::Csv] {
        let error = parse(format, b" \n", Limits::default()).unwrap_err();
        assert!(!error.fix().unwrap().contains("OCR"), "{format}: {error}");
    }
}

#[test]
fn html_is_decoded_as_it_states() {
    let page = |label: &str, text: &str| {
        format!("<html><head><meta charset=\"{label}\"></head><body><p>{text}</p></body></html>")
    };
    let encoded = |encoding: &'static Encoding, text: &str| {
        encoding.encode(&page(encoding.name(), text)).0.into_owned()
    };
    for (encoding, text) in [
        (SHIFT_JIS, "保証期間は二年です。"),
        (ISO_2022_JP, "保証期間は二年です。"),
        (GBK, "保修期为两年。"),
        (WINDOWS_1251, "Гарантия два года."),
    ] {
        assert_eq!(texts(Format::Html, &encoded(encoding, text)), [text], "{}", encoding.name());
    }
    let equivalent =
        "<meta http-equiv=Content-Type content='text/html; charset=windows-1251'><p>Да";
    assert_eq!(texts(Format::Html, &WINDOWS_1251.encode(equivalent).0), ["Да"]);
    // Converted to UTF-8 without a change of what it states.
    for label in ["shift_jis", "utf-8", "unknown"] {
        assert_eq!(html(&page(label, "Größe")), ["Größe"], "{label}");
    }
}

fn word(body: &str, parts: &[(&str, &str)]) -> Vec<String> {
    let body = format!("<w:document><w:body>{body}</w:body></w:document>");
    let mut entries = vec![("word/document.xml", body.as_bytes())];
    entries.extend(parts.iter().map(|(name, text)| (*name, text.as_bytes())));
    texts(Format::Docx, &documents::archive(&entries))
}

#[test]
fn a_text_box_interrupts_no_paragraph_and_is_read_once() {
    let boxed = "<w:txbxContent><w:p><w:r><w:t>In the box</w:t></w:r></w:p></w:txbxContent>";
    let body = format!(
        "<w:p><w:r><w:t>Before </w:t></w:r><mc:AlternateContent><mc:Choice>{boxed}</mc:Choice>\
         <mc:Fallback>{boxed}</mc:Fallback></mc:AlternateContent><w:r><w:t>and after.</w:t></w:r></w:p>"
    );
    assert_eq!(word(&body, &[]), ["In the box", "Before and after."]);
}

#[test]
fn notes_stand_behind_the_paragraph_that_refers_to_them() {
    let note = |kind: &str, id: u8, text: &str| {
        format!("<w:{kind} w:id=\"{id}\"><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:{kind}>")
    };
    let footnotes = format!(
        "<w:footnotes>{}{}{}</w:footnotes>",
        note("footnote", 0, ""),
        note("footnote", 1, "A quokka."),
        note("footnote", 2, "Nothing refers to it.")
    );
    let endnotes = format!("<w:endnotes>{}</w:endnotes>", note("endnote", 1, "A numbat."));
    let body = "<w:p><w:r><w:t>First</w:t><w:footnoteReference w:id=\"1\"/></w:r><w:r><w:t>, second.</w:t>\
                <w:endnoteReference w:id=\"1\"/></w:r></w:p><w:p><w:r><w:t>Third.</w:t><w:footnoteReference w:id=\"1\"/></w:r></w:p>";
    assert_eq!(
        word(body, &[("word/footnotes.xml", &footnotes), ("word/endnotes.xml", &endnotes)]),
        ["First, second. (A quokka.) (A numbat.)", "Third.", "Nothing refers to it."]
    );
}
