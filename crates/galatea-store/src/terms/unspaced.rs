//! Leaves out of a question what says nothing in scripts without spaces: particles, endings, and the
//! words that ask. Texts keep theirs, so a list can change without a new index.

use super::split::Piece;

/// Expressions of Chinese, simplified and traditional.
const CHINESE: &str = include_str!("stop/chinese.txt");
/// Words of Chinese that contain one of these expressions and do say something.
const CHINESE_WORDS: &str = include_str!("stop/chinese_words.txt");
/// Particles, endings and asking words of Japanese, in hiragana.
const JAPANESE: &str = include_str!("stop/japanese.txt");
/// Asking words of Japanese with Chinese characters.
const JAPANESE_ASKING: &str = include_str!("stop/japanese_asking.txt");
/// Words of Korean that ask or point.
const KOREAN: &str = include_str!("stop/korean.txt");
/// Particles and endings of Korean.
const KOREAN_ENDINGS: &str = include_str!("stop/korean_endings.txt");

/// Whether a question is Japanese: Chinese has no kana, and the same characters mean other things.
pub(super) fn is_japanese(pieces: &[Piece<'_>]) -> bool {
    let has_kana =
        |piece: &Piece<'_>| matches!(piece, Piece::Run(run) if run.contains(is_hiragana));
    pieces.iter().any(has_kana)
}

/// The parts of a run that say something, in order.
pub(super) fn contents(run: &str, is_japanese: bool) -> Vec<&str> {
    if run.starts_with(is_hangul) {
        korean(run)
    } else if is_japanese {
        between(run, JAPANESE_ASKING, "").into_iter().flat_map(japanese).collect()
    } else {
        between(run, CHINESE, CHINESE_WORDS)
    }
}

fn is_hiragana(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{309f}')
}

fn is_hangul(c: char) -> bool {
    matches!(c, '\u{ac00}'..='\u{d7af}')
}

/// The longest entry of a list with which a text begins.
fn longest<'l>(list: &'l str, text: &str) -> Option<&'l str> {
    let entries = list.split_whitespace().filter(|entry| text.starts_with(entry));
    entries.max_by_key(|entry| entry.len())
}

/// What is left of a run between the expressions of one list, unless they are part of a word of the other.
fn between<'a>(run: &'a str, expressions: &str, words: &str) -> Vec<&'a str> {
    let (mut parts, mut start, mut at) = (Vec::new(), 0, 0);
    while let Some(first) = run[at..].chars().next() {
        let rest = &run[at..];
        let (word, stop) = (longest(words, rest), longest(expressions, rest));
        let length = |entry: Option<&str>| entry.map_or(0, str::len);
        if length(stop) > length(word) {
            parts.push(&run[start..at]);
            at += length(stop);
            start = at;
        } else {
            at += length(word).max(first.len_utf8());
        }
    }
    parts.push(&run[start..]);
    parts.retain(|part| !part.is_empty());
    parts
}

/// A run without the particles and endings behind its words, which are in hiragana.
fn japanese(run: &str) -> Vec<&str> {
    let (mut parts, mut start, mut at) = (Vec::new(), 0, 0);
    while at < run.len() {
        let rest = &run[at..];
        let end = rest.find(|c| !is_hiragana(c)).unwrap_or(rest.len());
        if end == 0 {
            at += rest.find(is_hiragana).unwrap_or(rest.len());
            continue;
        }
        let kept = without_particles(&rest[..end], at > start);
        if kept < end {
            parts.push(&run[start..at + kept]);
            start = at + end;
        }
        at += end;
    }
    parts.push(&run[start..]);
    parts.retain(|part| !part.is_empty());
    parts
}

/// The length of hiragana without the longest end that consists of particles and endings. Of a word in
/// hiragana alone no single character is left: "かに" is a crab, and not か with a particle.
fn without_particles(hiragana: &str, is_behind_word: bool) -> usize {
    let mut is_stop = vec![false; hiragana.len() + 1];
    is_stop[hiragana.len()] = true;
    let mut kept = hiragana.len();
    for (at, _) in hiragana.char_indices().rev() {
        let rest = &hiragana[at..];
        let ends = |entry: &str| rest.starts_with(entry) && is_stop[at + entry.len()];
        is_stop[at] = JAPANESE.split_whitespace().any(ends);
        let is_word = is_behind_word || at == 0 || hiragana[..at].chars().count() > 1;
        if is_stop[at] && is_word {
            kept = at;
        }
    }
    kept
}

/// A word without its particles and endings, unless it only asks or points.
fn korean(run: &str) -> Vec<&str> {
    let mut word = run;
    while !KOREAN.split_whitespace().any(|stop| stop == word) {
        let endings = KOREAN_ENDINGS.split_whitespace();
        let ending = endings.filter(|ending| word.ends_with(ending)).max_by_key(|e| e.len());
        match ending.and_then(|ending| word.strip_suffix(ending)) {
            Some(stem) if !stem.is_empty() => word = stem,
            _ => return vec![word],
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(question: &str) -> Vec<&str> {
        let runs: Vec<&str> = question.split(' ').collect();
        let pieces: Vec<Piece<'_>> = runs.iter().map(|run| Piece::Run(run)).collect();
        let is_japanese = is_japanese(&pieces);
        runs.into_iter().flat_map(|run| contents(run, is_japanese)).collect()
    }

    #[test]
    fn what_asks_and_what_joins_is_left_out() {
        for (question, contents) in [
            ("电热水壶的保修期是多久", vec!["电热水壶", "保修期"]),
            ("怎么恢复出厂设置", vec!["恢复出厂设置"]),
            ("圖書館幾點關門", vec!["圖書館", "關門"]),
            ("会议的目的是什么", vec!["会议", "目的"]),
            ("有給休暇は何日ありますか", vec!["有給休暇"]),
            ("電気ケトルの保証期間はどのくらいですか", vec!["電気ケトル", "保証期間"]),
            ("病気で休むときはどうしますか", vec!["病気", "休む"]),
            ("図書館は何時まで開いていますか", vec!["図書館", "開い"]),
            ("かにはどこですか", vec!["かに"]),
            ("りんごの値段", vec!["りんご", "値段"]),
            ("도서관은 언제 닫습니까", vec!["도서관", "닫"]),
            (
                "전기주전자의 보증 기간은 얼마나 됩니까",
                vec!["전기주전자", "보증", "기간", "됩니까"],
            ),
            ("แมวอยู่ที่ไหน", vec!["แมวอยู่ที่ไหน"]),
            ("是什么", vec![]),
        ] {
            assert_eq!(said(question), contents, "{question}");
        }
    }

    #[test]
    fn a_long_run_is_split_in_one_pass() {
        for run in
            ["的".repeat(20_000), "は".repeat(20_000), "은".repeat(20_000), "あ".repeat(20_000)]
        {
            assert!(contents(&run, true).len() <= 1, "{}", run.len());
            assert!(contents(&run, false).len() <= 1);
        }
    }
}
