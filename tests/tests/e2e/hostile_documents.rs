//! Each hostile document ends in a clear error or a bounded result, within 256 MiB and 30 s, and
//! the process that asked continues. The parser's child is the real program.

use galatea_knowledge::{Format, Parser};
use galatea_testkit::documents;
use nix::sys::resource::{UsageWho, getrusage};
use std::time::{Duration, Instant};

use crate::stage::binary;

/// The memory and time that one document may take.
const MEMORY: i64 = 256 << 10; // KiB, as getrusage counts
const TIME: Duration = Duration::from_secs(30);

/// Reads a document by name, as ingestion does, and returns what came of it in words.
async fn read(name: &str, bytes: Vec<u8>) -> String {
    let begun = Instant::now();
    let outcome = match Format::detect(name, &bytes) {
        Ok(format) => Parser::new(binary()).parse(format, bytes).await,
        Err(error) => Err(error),
    };
    assert!(begun.elapsed() < TIME + Duration::from_secs(5), "{name} took {:?}", begun.elapsed());
    match outcome {
        Ok(pieces) => format!("read {} pieces", pieces.chunks.len()),
        Err(error) => {
            assert!(error.fix().is_some(), "{name}: {error} has no fix");
            assert!(error.code().is_some_and(|code| code.starts_with("GAL-KNOW")), "{error}");
            error.to_string()
        }
    }
}

/// The largest memory that any child of this process ever had, in KiB.
fn peak() -> i64 {
    getrusage(UsageWho::RUSAGE_CHILDREN).unwrap().max_rss()
}

fn nested_pdf() -> Vec<u8> {
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    documents::raw_pdf(&[
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [] /Count 0 >>",
        &deep,
    ])
}

/// A page tree that contains itself, and an object stream that is its own container.
fn recursive_pdf() -> Vec<u8> {
    documents::raw_pdf(&[
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [2 0 R 2 0 R 3 0 R] /Count 3 >>",
        "<< /Type /ObjStm /N 1 /First 4 /Extends 3 0 R /Length 3 0 R >>\nstream\n3 0 << /Type /Page /Contents 3 0 R >>\nendstream",
    ])
}

fn broken_fonts() -> Vec<u8> {
    let content =
        "BT /F1 12 Tf (hello) Tj /F2 0 Tf <ffffffff> Tj /F9 nan Tf [(a) -99999999999999 (b)] TJ ET";
    documents::raw_pdf(&[
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R /F2 6 0 R >> >> >>".to_owned(),
        format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()),
        "<< /Type /Font /Subtype /Type0 /Encoding /Identity-H /ToUnicode 7 0 R /DescendantFonts 5 0 R >>".to_owned(),
        "<< /Type /Font /Encoding << /Differences [999999999 /x -5 /y] >> >>".to_owned(),
        "<< /Length 60 >>\nstream\n1 begincodespacerange <00> <ffffffff> endcodespacerange 99999 beginbfrange <0000> <ffff> <0000>\nendstream".to_owned(),
    ])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_ends_in_a_clear_error_or_a_bounded_result() {
    let deep =
        |open: &str, close: &str, n: usize| format!("{}x{}", open.repeat(n), close.repeat(n));
    let docx = documents::docx(&deep("<w:tbl>", "</w:tbl>", 20_000));
    let laughs = documents::archive(&[(
        "word/document.xml",
        b"<!DOCTYPE x [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;\">]><w:document><w:p><w:r><w:t>&b;&b;</w:t></w:r></w:p></w:document>".as_slice(),
    )]);
    let traversal = documents::archive(&[
        ("mimetype", b"application/epub+zip".as_slice()),
        (
            "META-INF/container.xml",
            b"<container><rootfile full-path=\"../../etc/passwd\"/></container>",
        ),
        ("../../../etc/passwd", b"root"),
    ]);
    let outside = documents::epub("x", &[("../../../../etc/passwd", "root")]);
    let pages = documents::pdf((0..10_000).map(|n| format!("page {n}")));
    let columns = |n: usize, before: &str| -> String {
        (0..n).map(|n| format!("{before}column {n}")).collect()
    };
    let wide_csv = format!("{}\n{}", columns(4_500, ","), "1\n".repeat(20_000));
    let wide_html = format!(
        "<table><tr>{}</tr>{}",
        columns(20_000, "<th>"),
        "<tr><td>1</td></tr>".repeat(20_000)
    );
    let marks = |marks: &str| format!("Hello world.{}", marks.repeat(200_000)).into_bytes();
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("bomb.docx", documents::bomb("word/document.xml", 400), "unpacks to far more"),
        ("pages.pdf", pages, "too many pages (cause=pages 10000, limit 2000)"),
        ("deep.html", deep("<div><b>", "</b></div>", 300_000).into_bytes(), "read 1 pieces"),
        ("deep.md", deep("> ", "", 1_000_000).into_bytes(), ""),
        ("lists.md", deep("- ", "", 100_000).into_bytes(), ""),
        ("deep.docx", docx, "nested too deeply"),
        ("deep.pdf", nested_pdf(), ""),
        ("recursive.pdf", recursive_pdf(), ""),
        ("fonts.pdf", broken_fonts(), ""),
        ("cut.pdf", documents::pdf(["some text"; 50])[..4_000].to_vec(), ""),
        ("laughs.docx", laughs, "no text"),
        ("report.pdf", b"just some words".to_vec(), "wrong ending: its content is not pdf"),
        ("notes.txt", documents::pdf(["x"]), "wrong ending: its content is pdf"),
        ("book.epub", traversal, "outside itself"),
        ("chapters.epub", outside, "outside itself"),
        (
            "line.csv",
            format!("a,b\n{}", "x,".repeat(2 << 20)).into_bytes(),
            "a row of the table is too long",
        ),
        ("quote.csv", format!("a,b\n\"{}", "x\n".repeat(2 << 20)).into_bytes(), "quotation mark"),
        (
            "utf16.txt",
            "\u{feff}Grüße".encode_utf16().flat_map(u16::to_le_bytes).collect(),
            "read 1 pieces",
        ),
        ("half.txt", b"\xff\xfea".to_vec(), "read 1 pieces"),
        ("invalid.txt", b"valid \xf0\x28\x8c\x28 and more".to_vec(), "read 1 pieces"),
        ("wide.csv", wide_csv.into_bytes(), "read "),
        ("wide.html", wide_html.into_bytes(), "read "),
        ("brackets.txt", marks(")"), "read "),
        ("quotes.txt", marks("\u{ab}\u{bb}"), "read "),
        ("pieces.csv", format!("a\n{}", "x y\n".repeat(2 << 20)).into_bytes(), ""),
        ("zeros.txt", vec![0; 1 << 20], "binary data"),
        ("huge.html", vec![b'a'; 21 << 20], "larger than what is read"),
    ];
    for (name, bytes, expected) in cases {
        let begun = Instant::now();
        let outcome = read(name, bytes).await;
        println!(
            "{name}: {outcome} ({} ms, peak so far {} MiB)",
            begun.elapsed().as_millis(),
            peak() >> 10
        );
        assert!(outcome.contains(expected), "{name}: {outcome}");
        assert!(peak() <= MEMORY, "{name}: {} KiB", peak());
    }
    let after = read("fine.pdf", documents::pdf(["All is well."])).await;
    assert_eq!(after, "read 1 pieces", "the process goes on");
}
