//! Properties that hold for any text.

use proptest::prelude::*;

use super::{super::entities::entities, *};

/// Text such as models write, mixed with arbitrary characters.
fn markdown() -> impl Strategy<Value = String> {
    const PIECES: [&str; 26] = [
        "word",
        " ",
        "two words. ",
        "A longer sentence, with more words in it! ",
        "x",
        "**",
        "*",
        "_",
        "`",
        "~~",
        "||",
        "\n",
        "\n\n",
        "\n```rust\n",
        "\n```\n",
        "\n> ",
        "\n- ",
        "\n# ",
        "\n| a | b |\n|--|--|\n| c | d |\n",
        "[link](https://x.y/)",
        "[bad](foo:bar)",
        "[",
        "](",
        "👩‍👩‍👧",
        "e\u{301}\u{301}",
        "🤖",
    ];
    let piece = prop_oneof![9 => proptest::sample::select(&PIECES[..]).prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn utf16_boundaries(text: &str) -> std::collections::HashSet<usize> {
    let mut at = 0;
    let mut all: std::collections::HashSet<usize> = [0].into();
    for c in text.chars() {
        at += c.len_utf16();
        all.insert(at);
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn parts_fit_and_lose_nothing(text in markdown(), first in 2_usize..90, limit in 6_usize..90) {
        let styled = render(&text);
        let parts = split(&styled, first, limit);
        let together: String = parts.iter().map(|p| p.text.as_str()).collect();
        prop_assert_eq!(&together, &styled.text);
        for (i, part) in parts.iter().enumerate() {
            prop_assert!(!part.text.is_empty());
            let room = if i == 0 { first } else { limit };
            prop_assert!(units(&part.text) <= room);
        }
        // Every styled character has the same style in its part.
        let mut start = 0;
        for part in &parts {
            let end = start + part.text.len();
            for span in &styled.spans {
                let (from, to) = (span.range.start.max(start), span.range.end.min(end));
                if from < to {
                    let here = Span { range: from - start..to - start, style: span.style.clone() };
                    prop_assert!(part.spans.contains(&here), "{here:?} is missing in {part:?}");
                }
            }
            prop_assert!(part.spans.iter().all(|s| styled.spans.iter().any(|o| o.style == s.style)));
            start = end;
        }
    }

    #[test]
    fn entities_are_valid(text in markdown(), limit in 20_usize..200) {
        let styled = render(&text);
        for part in split(&styled, limit, limit) {
            let boundaries = utf16_boundaries(&part.text);
            let length = units(&part.text);
            let list = entities(&part);
            for e in &list {
                prop_assert!(e.length > 0 && e.offset + e.length <= length);
                prop_assert!(boundaries.contains(&e.offset) && boundaries.contains(&(e.offset + e.length)));
            }
            let json = entities::to_json(&list);
            for (i, a) in list.iter().enumerate() {
                for (j, b) in list.iter().enumerate().skip(i + 1) {
                    let (a_end, b_end) = (a.offset + a.length, b.offset + b.length);
                    let apart = a_end <= b.offset || b_end <= a.offset;
                    let nested = (a.offset <= b.offset && b_end <= a_end) || (b.offset <= a.offset && a_end <= b_end);
                    prop_assert!(apart || nested, "{} and {} cross in {:?}", json[i], json[j], part.text);
                    let mono = |n: usize| matches!(json[n]["type"].as_str(), Some("code" | "pre"));
                    let quote = |n: usize| json[n]["type"] == "blockquote";
                    prop_assert!(apart || quote(i) || quote(j) || !(mono(i) || mono(j)), "{} and {} overlap", json[i], json[j]);
                    prop_assert!(apart || !(quote(i) && quote(j)));
                }
            }
        }
    }

    #[test]
    fn words_survive_rendering(words in proptest::collection::vec("[a-zA-Z]{1,12}", 1..30)) {
        let text = words.join(" ");
        prop_assert_eq!(render(&text).text, text);
    }

    #[test]
    fn encoding_never_panics(text in markdown(), url in "\\PC{0,30}", title in "\\PC{0,20}", data in "\\PC{0,70}") {
        let media = Media { url: url.clone(), title, ..Media::default() };
        let content = Content { attachments: vec![media], buttons: vec![vec![Button { text: text.clone(), press: Press::Data(data) }]], ..Content::text(text) };
        let _ = parts_of(content.clone());
        let _ = encode_parts(&Outgoing::Edit { id: RemoteId(url), content });
    }
}
