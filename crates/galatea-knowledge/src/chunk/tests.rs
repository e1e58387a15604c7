//! Tests of cutting documents into pieces.

use super::*;
use galatea_core::tokens::Family;
use proptest::prelude::*;

/// Tokens of a piece with its headings.
fn tokens(piece: &Chunk) -> u64 {
    Family::Other.text(&piece.text) + Family::Other.text(&piece.heading.join(PATH))
}

fn block(heading: &[&str], kind: BlockKind, text: impl Into<String>) -> DocumentBlock {
    DocumentBlock {
        heading: heading.iter().map(|h| (*h).to_owned()).collect(),
        page: None,
        kind,
        text: text.into(),
    }
}

fn cut(blocks: Vec<DocumentBlock>) -> Vec<Chunk> {
    chunks(Document { blocks, ..Document::default() }, 20_000).unwrap()
}

#[test]
fn comments_are_no_headings() {
    let comments = "# Copyright Ann\n# All rights reserved";
    for kind in [BlockKind::Code, BlockKind::Prose, BlockKind::Table { header: String::new() }] {
        let pieces = cut(vec![block(&[], kind.clone(), comments)]);
        assert_eq!(pieces.len(), 1, "{kind:?}");
        assert!(pieces[0].text.contains("Copyright Ann"), "{kind:?}");
    }
}

#[test]
fn each_heading_above_small_sections_is_a_line_of_their_piece() {
    let prose = |heading: &[&str], text: &str| block(heading, BlockKind::Prose, text);
    let [piece] = &cut(vec![
        prose(&["Handbook", "Widgets", "Sizes"], "Three."),
        prose(&["Handbook", "Widgets", "Colours"], "Red."),
        prose(&["Handbook", "Delivery"], "Two days."),
    ])[..] else {
        panic!("one piece")
    };
    assert_eq!(piece.heading, ["Handbook"]);
    let expected = "# Widgets\n# Sizes\nThree.\n\n# Colours\n\nRed.\n\n# Delivery\n\nTwo days.";
    assert_eq!(piece.text, expected);
    // A comment is not the line of a heading.
    let [piece] = &cut(vec![
        block(&["Handbook", "Install"], BlockKind::Code, "# apt install foo"),
        prose(&["Handbook", "Use"], "Run it."),
    ])[..] else {
        panic!("one piece")
    };
    assert_eq!(piece.text, "# Install\n# apt install foo\n\n# Use\n\nRun it.");
}

#[test]
fn pieces_are_neither_tiny_nor_large_and_keep_their_headings() {
    let sentence = "The lighthouse keeper wrote a line into the book every evening. ";
    let blocks = vec![
        block(&["Coast"], BlockKind::Prose, "A short beginning."),
        block(&["Coast", "Light"], BlockKind::Prose, sentence.repeat(60)),
        block(&["Harbour"], BlockKind::Prose, "Boats."),
    ];
    let pieces = cut(blocks);
    assert!(pieces[0].text.starts_with("A short beginning.\n\n# Light\n\nThe lighthouse"));
    assert_eq!(pieces[0].heading, ["Coast"]);
    assert_eq!(pieces[1].heading, ["Coast", "Light"]);
    let last = pieces.last().unwrap();
    assert_eq!(
        (last.heading.as_slice(), last.text.as_str()),
        (["Harbour".to_owned()].as_slice(), "Boats.")
    );
    let long = &pieces[..pieces.len() - 2];
    assert!(
        long.iter().all(|piece| (200..=400).contains(&tokens(piece))),
        "{:?}",
        long.iter().map(tokens).collect::<Vec<_>>()
    );
    assert!(pieces.iter().all(|piece| piece.text.ends_with('.')), "cut between sentences");
}

#[test]
fn rows_stay_whole_and_every_piece_repeats_the_header() {
    let rows: Vec<String> =
        (0..100).map(|n| format!("part {n} | a screw of steel | {n} mm")).collect();
    let kind = BlockKind::Table { header: "name | what | size".into() };
    let pieces = cut(vec![block(&[], kind, rows.join("\n"))]);
    assert!(pieces.len() > 2);
    let mut seen = Vec::new();
    for piece in &pieces {
        let (header, body) = piece.text.split_once('\n').unwrap();
        assert_eq!(header, "name | what | size");
        seen.extend(body.lines().map(str::to_owned));
    }
    assert_eq!(seen, rows);
}

#[test]
fn a_megabyte_without_a_space_is_cut_in_one_pass() {
    let pieces = cut(vec![block(&[], BlockKind::Prose, "a".repeat(1 << 20))]);
    let letters = |piece: &Chunk| piece.text.matches('a').count();
    assert_eq!(pieces.iter().map(letters).sum::<usize>(), 1 << 20);
}

#[test]
fn equal_text_under_equal_headings_has_one_hash() {
    let of = |heading| cut(vec![block(&[heading], BlockKind::Prose, "Same.")])[0].hash.clone();
    assert_eq!(of("A"), of("A"));
    assert_ne!(of("A"), of("B"));
    assert_eq!(of("A").len(), 64);
}

#[test]
fn a_header_that_is_too_long_is_a_row_of_the_first_piece() {
    let header: Vec<String> = (0..9_000).map(|n| format!("c{n}")).collect();
    let rows = "1 | 2\n".repeat(20_000);
    let kind = BlockKind::Table { header: header.join(" | ") };
    let pieces = cut(vec![block(&[], kind, rows.clone())]);
    let stored: usize = pieces.iter().map(|piece| piece.text.len()).sum();
    let given = rows.len() + header.join(" | ").len();
    assert!(stored <= given + pieces.len(), "{stored} bytes of pieces for {given}");
    assert_eq!(pieces.iter().filter(|piece| piece.text.contains("c0 |")).count(), 1);
    assert!(pieces.iter().all(|piece| tokens(piece) <= 400));
}

#[test]
fn a_wide_table_is_stored_at_most_four_times() {
    for words in 1..40 {
        let rows = format!("{}\n", "word ".repeat(words)).repeat(500);
        let header = "name ".repeat(80);
        let pieces = cut(vec![block(&[], BlockKind::Table { header }, rows.clone())]);
        let stored: usize = pieces.iter().map(|piece| piece.text.len()).sum();
        assert!(stored < 4 * rows.len(), "{stored} bytes of pieces for {}", rows.len());
        assert!(pieces.iter().all(|piece| tokens(piece) <= 400));
    }
}

#[test]
fn cutting_ends_with_the_piece_that_is_too_many() {
    let blocks = vec![block(&[], BlockKind::Prose, "Some words. ".repeat(10_000))];
    let document = Document { blocks, ..Document::default() };
    let error = chunks(document.clone(), 3).unwrap_err();
    assert_eq!(error.code(), Some(crate::refusal::TOO_LARGE));
    let mut cutter = Cutter { most: 3, ..Cutter::default() };
    for block in document.blocks {
        assert!(cutter.block(block).is_err());
    }
    assert_eq!(cutter.done.len(), 3);
}

fn paged(heading: &str, page: u32, text: &str) -> DocumentBlock {
    DocumentBlock { page: Some(page), ..block(&[heading], BlockKind::Prose, text) }
}

#[test]
fn a_piece_has_text_of_one_page_and_its_headings() {
    let pieces = cut(vec![
        paged("Handbook", 1, "Welcome to the company."),
        paged("Vacation", 2, "Every employee has 28 days."),
        paged("Vacation", 2, "Unused days expire."),
        paged("Vacation", 3, "Ask your manager."),
        paged("Sick leave", 4, "Call before nine."),
    ]);
    let seen: Vec<_> =
        pieces.iter().map(|p| (p.page.unwrap(), p.heading[0].as_str(), p.text.as_str())).collect();
    assert_eq!(
        seen,
        [
            (1, "Handbook", "Welcome to the company."),
            (2, "Vacation", "Every employee has 28 days.\n\nUnused days expire."),
            (3, "Vacation", "Ask your manager."),
            (4, "Sick leave", "Call before nine."),
        ]
    );
}

#[test]
fn a_sentence_over_two_pages_is_whole_on_the_first() {
    let texts = |blocks| -> Vec<(u32, String)> {
        cut(blocks).into_iter().map(|p| (p.page.unwrap(), p.text)).collect()
    };
    let on = |page, text: &str| (page, text.to_owned());
    assert_eq!(
        texts(vec![paged("A", 1, "The warranty is"), paged("A", 2, "two years. It ends then.")]),
        [on(1, "The warranty is two years."), on(2, "It ends then.")]
    );
    assert_eq!(
        texts(vec![paged("A", 1, "The war-"), paged("A", 2, "ranty is long.")]),
        [on(1, "The warranty is long.")]
    );
    for (first, second) in [
        ("It ends.", "then more."),
        ("A title", "Next part."),
        ("It is", "so long ".repeat(300).as_str()),
    ] {
        let seen = texts(vec![paged("A", 1, first), paged("A", 2, second)]);
        assert_eq!(seen[0], on(1, first));
    }
    let other_section = texts(vec![paged("A", 1, "The end of"), paged("B", 2, "another part.")]);
    assert_eq!(other_section, [on(1, "The end of"), on(2, "another part.")]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]
    #[test]
    fn nothing_is_lost_and_nothing_is_too_large(
        texts in prop::collection::vec(("[A-C]{1}|[A-C漢]{100,160}", "[a-zé日. \n|]{0,900}", 0..3_u8, 0..3_u32), 0..12),
        long in "[a-z]{0,4000}",
        header in "[A-Z漢ß| ]{0,500}",
    ) {
        let mut blocks: Vec<DocumentBlock> = texts.iter().map(|(heading, text, kind, page)| {
            let kind = match kind { 0 => BlockKind::Prose, 1 => BlockKind::Code, _ => BlockKind::Table { header: header.clone() } };
            DocumentBlock { page: Some(*page), ..block(&["TOP", heading], kind, text.clone()) }
        }).collect();
        blocks.push(block(&[], BlockKind::Prose, long));
        // Headings and headers, which are repeated, have none of these.
        let letters = |text: &str| text.chars().filter(|c| matches!(c, 'a'..='z' | 'é' | '日' | '.')).count();
        let given: usize = blocks.iter().map(|block| letters(&block.text)).sum();
        let pieces = cut(blocks);
        prop_assert_eq!(given, pieces.iter().map(|piece| letters(&piece.text)).sum::<usize>());
        prop_assert!(pieces.iter().all(|piece| tokens(piece) <= 400));
    }
}
