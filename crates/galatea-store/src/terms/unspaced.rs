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
/// Words of Japanese that point, in front of another.
const JAPANESE_POINTING: &str = "この その あの どの";
/// Words of Korean that ask or point.
const KOREAN: &str = include_str!("stop/korean.txt");
/// Particles and endings of Korean.
const KOREAN_ENDINGS: &str = include_str!("stop/korean_endings.txt");
/// Endings of these that also end many nouns of two syllables, such as 온도, 도로, 효과 and 회의: a
/// single syllable before them is part of the noun.
const KOREAN_NOUN_ENDINGS: &str = "도 로 과 의";
/// Nouns of two syllables that other endings end.
const KOREAN_WORDS: &str = include_str!("stop/korean_words.txt");

/// Whether a question is Japanese: Chinese has no kana, and the same characters mean other things.
pub(super) fn is_japanese(pieces: &[Piece<'_>]) -> bool {
    let has_kana =
        |piece: &Piece<'_>| matches!(piece, Piece::Run(run) if run.contains(is_hiragana));
    pieces.iter().any(has_kana)
}

/// The parts of a run that say something, in order. `follows_word`: a word of another script stands
/// before it, such as in "WiFiはどこですか".
pub(super) fn contents(run: &str, is_japanese: bool, follows_word: bool) -> Vec<&str> {
    let mut parts = if run.starts_with(is_hangul) {
        korean(run)
    } else if is_japanese {
        let parts = between(run, JAPANESE_ASKING, "").into_iter().enumerate();
        parts.flat_map(|(n, part)| japanese(part, follows_word || n > 0)).collect()
    } else {
        between(run, CHINESE, CHINESE_WORDS)
    };
    parts.retain(|part| !part.is_empty());
    parts
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

/// What is left of a run before, between and behind the expressions of one list, unless they are part of
/// a word of the other.
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
    parts
}

/// A run without the particles and endings behind its words, which are in hiragana.
fn japanese(run: &str, follows_word: bool) -> Vec<&str> {
    let (mut parts, mut start, mut at) = (Vec::new(), 0, 0);
    while at < run.len() {
        let rest = &run[at..];
        let end = rest.find(|c| !is_hiragana(c)).unwrap_or(rest.len());
        if end == 0 {
            at += rest.find(is_hiragana).unwrap_or(rest.len());
            continue;
        }
        let is_behind_word = at > start || at == 0 && follows_word;
        let pointing = longest(JAPANESE_POINTING, &rest[..end]).filter(|_| !is_behind_word);
        let begin = at + pointing.map_or(0, str::len);
        start = if pointing.is_some() { begin } else { start };
        let kept = begin + without_particles(&run[begin..at + end], is_behind_word);
        at += end;
        if kept < at {
            parts.push(&run[start..kept]);
            start = at;
        }
    }
    parts.push(&run[start..]);
    parts
}

/// The length of hiragana without the longest end that consists of particles and endings. Of a word in
/// hiragana alone no single character is left: "かに" is a crab, and not か with a particle. No particle
/// of one character begins such a word: "へや" is a room, and not へ and や.
fn without_particles(hiragana: &str, is_behind_word: bool) -> usize {
    let mut is_stop = vec![false; hiragana.len() + 1];
    is_stop[hiragana.len()] = true;
    let mut kept = hiragana.len();
    for (at, _) in hiragana.char_indices().rev() {
        let rest = &hiragana[at..];
        let may_begin = is_behind_word || at > 0 || hiragana.chars().nth(1).is_none();
        let ends = |entry: &str| {
            rest.starts_with(entry)
                && is_stop[at + entry.len()]
                && (may_begin || entry.chars().nth(1).is_some())
        };
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
    while !is_in(KOREAN, word) {
        let endings = KOREAN_ENDINGS.split_whitespace();
        let ending = endings.filter(|ending| word.ends_with(ending)).max_by_key(|e| e.len());
        let stem = ending.and_then(|ending| Some((ending, word.strip_suffix(ending)?)));
        match stem {
            Some((ending, stem)) if is_korean_stem(stem, ending) && !is_in(KOREAN_WORDS, word) => {
                word = stem;
            }
            _ => return vec![word],
        }
    }
    Vec::new()
}

fn is_korean_stem(stem: &str, ending: &str) -> bool {
    let least = if is_in(KOREAN_NOUN_ENDINGS, ending) { 2 } else { 1 };
    stem.chars().nth(least - 1).is_some()
}

fn is_in(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|entry| entry == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(question: &str) -> Vec<&str> {
        let runs: Vec<&str> = question.split(' ').collect();
        let pieces: Vec<Piece<'_>> = runs.iter().map(|run| Piece::Run(run)).collect();
        let is_japanese = is_japanese(&pieces);
        runs.into_iter().flat_map(|run| contents(run, is_japanese, false)).collect()
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
            ("このへやの掃除", vec!["へや", "掃除"]),
            ("もものケーキはどこですか", vec!["もも", "ケーキ"]),
            ("はとは何を食べますか", vec!["はと", "食べ"]),
            ("何がいいですか", vec![]),
            ("网吧和酒吧几点开门", vec!["网吧和酒吧", "开门"]),
            ("도서관은 언제 닫습니까", vec!["도서관", "닫"]),
            (
                "전기주전자의 보증 기간은 얼마나 됩니까",
                vec!["전기주전자", "보증", "기간", "됩니까"],
            ),
            ("수도 요금은 언제 냅니까", vec!["수도", "요금", "냅니까"]),
            ("내과는 어디에 있습니까", vec!["내과"]),
            ("온도와 효과의 결과", vec!["온도", "효과", "결과"]),
            ("가을에 집에서", vec!["가을", "집"]),
            ("저는 책을", vec!["책"]),
            ("나의 생일과 저도 회의에", vec!["생일", "회의"]),
            ("แมวอยู่ที่ไหน", vec!["แมวอยู่ที่ไหน"]),
            ("是什么", vec![]),
        ] {
            assert_eq!(said(question), contents, "{question}");
        }
    }

    #[test]
    fn particles_behind_a_word_of_another_script_are_left_out() {
        assert_eq!(contents("はどこですか", true, true), [""; 0]);
        assert_eq!(contents("のへや", true, true), [""; 0], "not told from の, へ and や");
    }

    #[test]
    fn a_long_run_is_split_in_one_pass() {
        for run in
            ["的".repeat(20_000), "は".repeat(20_000), "은".repeat(20_000), "あ".repeat(20_000)]
        {
            assert!(contents(&run, true, false).len() <= 1, "{}", run.len());
            assert!(contents(&run, false, false).len() <= 1);
        }
    }
}
