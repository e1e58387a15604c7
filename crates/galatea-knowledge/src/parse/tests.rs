//! Tests of the parsers on small documents of every format.

mod encodings;
mod kept;

use galatea_testkit::documents;
use proptest::prelude::*;

use super::parse;
use crate::{
    document::{BlockKind, Document, DocumentBlock, Limits},
    format::Format,
    refusal::{TOO_LARGE, UNREADABLE},
};

fn read(format: Format, bytes: &[u8]) -> Document {
    parse(format, bytes, Limits::default()).unwrap()
}

/// Heading path and text of each block.
fn shown(document: &Document) -> Vec<(String, String)> {
    document.blocks.iter().map(|b| (b.heading.join(" › "), b.text.clone())).collect()
}

fn pair(heading: &str, text: &str) -> (String, String) {
    (heading.to_owned(), text.to_owned())
}

fn table(block: &DocumentBlock) -> (&str, &str) {
    match &block.kind {
        BlockKind::Table { header } => (header, &block.text),
        other => panic!("no table: {other:?}"),
    }
}

#[test]
fn text_in_every_usual_encoding() {
    let text = "Größe zählt.\n\nZweiter\nAbsatz.";
    let utf16 =
        |bytes: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
    let latin = text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect::<Vec<u8>>();
    let marked = [b"\xff\xfe".to_vec(), utf16(u16::to_le_bytes)].concat();
    for bytes in
        [text.as_bytes().to_vec(), utf16(u16::to_le_bytes), utf16(u16::to_be_bytes), marked, latin]
    {
        let document = read(Format::Text, &bytes);
        assert_eq!(shown(&document), [pair("", "Größe zählt."), pair("", "Zweiter Absatz.")]);
    }
    let binary = parse(Format::Text, b"ab\x00\x01\x02cd\x00", Limits::default()).unwrap_err();
    assert_eq!(binary.code(), Some(UNREADABLE));
}

#[test]
fn markdown_keeps_headings_lists_tables_and_code() {
    let text = "---\ntitle: \"The house\"\n---\n# House\n\nBuilt in *1921*.\n\n## Rooms\n\n- kitchen\n- hall\n  and stairs\n\n\
                | room | size |\n|---|---|\n| hall | 12 |\n| `kitchen` | 20 |\n\n```rust\nfn a() {\n\n    b();\n}\n```\n\n# Garden\n\nOld.\n";
    let document = read(Format::Markdown, text.as_bytes());
    assert_eq!(document.title.as_deref(), Some("The house"));
    assert_eq!(
        shown(&document),
        [
            pair("House", "Built in 1921."),
            pair("House › Rooms", "- kitchen\n- hall and stairs"),
            pair("House › Rooms", "hall | 12\nkitchen | 20"),
            pair("House › Rooms", "fn a() {\n\n    b();\n}"),
            pair("Garden", "Old."),
        ]
    );
    assert_eq!(table(&document.blocks[2]), ("room | size", "hall | 12\nkitchen | 20"));
    assert_eq!(document.blocks[3].kind, BlockKind::Code);
}

#[test]
fn html_without_what_readers_do_not_see() {
    let text = "<!doctype html><html><head><title>Our &amp; house</title><style>p{}</style></head><body><nav><p>Menu</p></nav>\
                <h1>House</h1><div>Built in <b>1921</b>.<p>By Ann</div><script>var x = '<p>no</p>';</script>\
                <table><thead><tr><th>room<th>size</tr></thead><tr><td>hall</td><td>12</td></tr></table><h2>Rooms</h2><ul><li>kitchen<li>hall</ul>\
                <pre>a\n  b</pre>";
    let document = read(Format::Html, text.as_bytes());
    assert_eq!(document.title.as_deref(), Some("Our & house"));
    assert_eq!(
        shown(&document),
        [
            pair("House", "Built in 1921."),
            pair("House", "By Ann"),
            pair("House", "hall | 12"),
            pair("House › Rooms", "- kitchen\n- hall"),
            pair("House › Rooms", "a\n  b"),
        ]
    );
    assert_eq!(table(&document.blocks[2]).0, "room | size");
}

#[test]
fn tables_have_a_header() {
    let document =
        read(Format::Csv, "name;note\nAnn;\"tall, \"\"very\"\" tall\"\nBob;\n".as_bytes());
    assert_eq!(table(&document.blocks[0]), ("name | note", "Ann | tall, \"very\" tall\nBob | "));
}

#[test]
fn code_is_cut_between_its_parts() {
    let document =
        read(Format::Code, b"use a;\n\nfn b() {\n    c();\n\n    d();\n}\n\nfn e() {}\n");
    let texts: Vec<_> = document.blocks.iter().map(|b| b.text.as_str()).collect();
    assert_eq!(texts, ["use a;", "fn b() {\n    c();\n\n    d();\n}", "fn e() {}"]);
}

#[test]
fn word_documents_by_style() {
    let body = r#"<w:p><w:pPr><w:pStyle w:val="berschrift1"/></w:pPr><w:r><w:t>House</w:t></w:r></w:p>
        <w:p><w:r><w:t>Built </w:t></w:r><w:r><w:t>in 1921 &amp; &#49;</w:t></w:r></w:p>
        <w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>kitchen</w:t></w:r></w:p><w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>hall</w:t></w:r></w:p>
        <w:tbl><w:tr><w:tc><w:p><w:r><w:t>room</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>size</w:t></w:r></w:p></w:tc></w:tr>
        <w:tr><w:tc><w:p><w:r><w:t>hall</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>12</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"#;
    let document = read(Format::Docx, &documents::docx(body));
    assert_eq!(document.title.as_deref(), Some("House"));
    assert_eq!(
        shown(&document),
        [
            pair("House", "Built in 1921 & 1"),
            pair("House", "- kitchen\n- hall"),
            pair("House", "hall | 12"),
        ]
    );
    assert_eq!(table(&document.blocks[2]).0, "room | size");
}

#[test]
fn books_by_chapter() {
    let book = documents::epub(
        "The old house",
        &[
            ("a%20b.xhtml", "<h1>One</h1><p>It was late.</p>"),
            ("two.xhtml", "<h1>Two</h1><p>It rained.</p>"),
        ],
    );
    // The first chapter's file is missing under its decoded name, which must not make it fail.
    let document = read(Format::Epub, &book);
    assert_eq!(document.title.as_deref(), Some("The old house"));
    assert_eq!(shown(&document), [pair("Two", "It rained.")]);
}

#[test]
fn pdf_by_page_with_headings() {
    let file = documents::pdf([
        "# The house\nIt was built in 1921 by a wo-\nman from Ghent.",
        "It has \\(three\\) rooms.",
    ]);
    let document = read(Format::Pdf, &file);
    let pages: Vec<_> = document.blocks.iter().map(|b| b.page.unwrap()).collect();
    assert_eq!(pages, [1, 2]);
    assert_eq!(
        shown(&document),
        [
            pair("The house", "It was built in 1921 by a woman from Ghent."),
            pair("The house", "It has \\(three\\) rooms."),
        ]
    );
}

#[test]
fn limits_are_reported_with_a_fix() {
    let limits = Limits { text: 100, pages: 3, bytes: 10_000, ..Limits::default() };
    for (format, bytes) in [
        (Format::Text, "word ".repeat(50).into_bytes()),
        (Format::Text, vec![b'a'; 20_000]),
        (Format::Pdf, documents::pdf(["a"; 5])),
    ] {
        let error = parse(format, &bytes, limits).unwrap_err();
        assert_eq!(error.code(), Some(TOO_LARGE), "{error}");
        assert!(error.fix().is_some());
    }
    let empty = parse(Format::Pdf, &documents::pdf([""]), Limits::default()).unwrap_err();
    assert!(empty.fix().unwrap().contains("OCR"), "{empty}");
}

#[test]
fn a_part_of_a_pdf_is_read_and_says_how_many_pages_are_missing() {
    let file = documents::pdf(["one", "two", "three", "four", "five"]);
    let whole = read(Format::Pdf, &file);
    assert_eq!((whole.blocks.len(), whole.unread), (5, None));
    let third = file.windows(5).position(|part| part == b"three").unwrap();
    let part = read(Format::Pdf, &file[..third]);
    let texts: Vec<_> = part.blocks.iter().map(|b| b.text.as_str()).collect();
    assert_eq!(texts, ["one", "two"]);
    let unread = part.unread.unwrap();
    assert_eq!((unread.unread, unread.pages), (3, 5));
    assert_eq!(unread.error().code(), Some(UNREADABLE));
    // A wrong offset of the table of objects loses nothing.
    let text = String::from_utf8(file).unwrap();
    let (start, end) = text.rsplit_once("startxref\n").unwrap();
    let moved = format!("{start}startxref\n1{end}");
    let moved = read(Format::Pdf, moved.as_bytes());
    assert_eq!((moved.blocks.len(), moved.unread), (5, None));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn no_input_panics(bytes in prop::collection::vec(any::<u8>(), 1..600), text in "[<>/a-z#|\\-`\" \n=&;]{0,300}") {
        for format in [Format::Text, Format::Markdown, Format::Html, Format::Csv, Format::Code, Format::Docx, Format::Epub] {
            let _ = parse(format, &bytes, Limits::default());
            let _ = parse(format, text.as_bytes(), Limits::default());
        }
        let _ = parse(Format::Docx, &documents::docx(&text), Limits::default());
        let _ = parse(Format::Epub, &documents::epub(&text, &[("a", &text)]), Limits::default());
    }
}
