//! Documents for tests, made byte by byte: PDF, and archives such as DOCX and EPUB.

use std::io::{Cursor, Write};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

/// A PDF with one page per text. A line that begins with `# ` is drawn in larger letters.
pub fn pdf(pages: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<u8> {
    let contents = pages.into_iter().map(|page| drawn(page.as_ref()));
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        String::new(),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
            .to_owned(),
    ];
    let mut kids = String::new();
    for content in contents {
        let number = objects.len() + 1;
        kids.push_str(&format!("{number} 0 R "));
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 3 0 R >> >> /Contents {} 0 R >>",
            number + 1
        ));
        objects.push(format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()));
    }
    objects[1] = format!(
        "<< /Type /Pages /Kids [{kids}] /Count {} /MediaBox [0 0 612 792] >>",
        (objects.len() - 3) / 2
    );
    raw_pdf(&objects)
}

/// A PDF of these objects, numbered from 1; the first is its catalog.
pub fn raw_pdf(objects: &[impl AsRef<str>]) -> Vec<u8> {
    let mut file = b"%PDF-1.7\n".to_vec();
    let mut places = Vec::new();
    for (n, object) in objects.iter().enumerate() {
        places.push(file.len());
        file.extend(format!("{} 0 obj\n{}\nendobj\n", n + 1, object.as_ref()).bytes());
    }
    let table = file.len();
    file.extend(format!("xref\n0 {}\n0000000000 65535 f \n", places.len() + 1).bytes());
    for place in &places {
        file.extend(format!("{place:010} 00000 n \n").bytes());
    }
    let end = format!(
        "trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n",
        places.len() + 1
    );
    file.extend(end.bytes());
    file
}

fn drawn(text: &str) -> String {
    let mut out = "BT\n72 720 Td\n".to_owned();
    for line in text.lines() {
        let (size, line) = line.strip_prefix("# ").map_or((11, line), |line| (20, line));
        let line = line.replace('\\', "\\\\").replace('(', "\\(").replace(')', "\\)");
        out.push_str(&format!("/F1 {size} Tf\n({line}) Tj\n0 -14 Td\n"));
    }
    out.push_str("ET");
    out
}

/// An archive of these entries, packed.
///
/// # Panics
/// If the archive cannot be written in memory.
#[allow(clippy::expect_used, reason = "a test cannot go on without its document")]
pub fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        let method = if *name == "mimetype" {
            CompressionMethod::Stored
        } else {
            CompressionMethod::Deflated
        };
        let options = SimpleFileOptions::default().compression_method(method);
        zip.start_file(*name, options).expect("an entry in memory");
        zip.write_all(bytes).expect("bytes in memory");
    }
    zip.finish().expect("an archive in memory").into_inner()
}

/// An archive with one entry of so many MiB of spaces, packed to a thousandth. It is written in
/// pieces, since the memory of a process counts as that of the children it starts.
///
/// # Panics
/// If the archive cannot be written in memory.
#[allow(clippy::expect_used, reason = "a test cannot go on without its document")]
pub fn bomb(name: &str, mebibytes: usize) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    zip.start_file(name, options).expect("an entry in memory");
    let spaces = vec![b' '; 1 << 20];
    for _ in 0..mebibytes {
        zip.write_all(&spaces).expect("bytes in memory");
    }
    zip.finish().expect("an archive in memory").into_inner()
}

/// A DOCX with this content of its body, as XML without namespaces declared elsewhere.
pub fn docx(body: &str) -> Vec<u8> {
    let document = format!(
        r#"<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>{body}</w:body></w:document>"#
    );
    let styles = r#"<w:styles xmlns:w="w"><w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style></w:styles>"#;
    archive(&[
        ("[Content_Types].xml", b"<Types/>"),
        ("word/document.xml", document.as_bytes()),
        ("word/styles.xml", styles.as_bytes()),
    ])
}

/// An EPUB with these chapters: file name and body.
pub fn epub(title: &str, chapters: &[(&str, &str)]) -> Vec<u8> {
    let mut items = String::new();
    let mut order = String::new();
    for (n, (name, _)) in chapters.iter().enumerate() {
        items.push_str(&format!(r#"<item id="c{n}" href="{name}"/>"#));
        order.push_str(&format!(r#"<itemref idref="c{n}"/>"#));
    }
    let package = format!(
        r#"<package xmlns:dc="dc"><metadata><dc:title>{title}</dc:title></metadata><manifest>{items}</manifest><spine>{order}</spine></package>"#
    );
    let bodies: Vec<(String, String)> = chapters
        .iter()
        .map(|(name, body)| {
            (
                format!("OEBPS/{name}"),
                format!("<html><head><title>x</title></head><body>{body}</body></html>"),
            )
        })
        .collect();
    let container =
        r#"<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>"#;
    let mut entries: Vec<(&str, &[u8])> = vec![
        ("mimetype", b"application/epub+zip"),
        ("META-INF/container.xml", container.as_bytes()),
        ("OEBPS/book.opf", package.as_bytes()),
    ];
    entries.extend(bodies.iter().map(|(name, body)| (name.as_str(), body.as_bytes())));
    archive(&entries)
}
