//! Finds a name that stands in a text as a word, also in scripts that put no spaces between words.
//! Texts and names are folded ([`super::fold`]).

use unicode_normalization::char::is_combining_mark;

/// Way in which a script separates words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Script {
    /// Words end at spaces: Latin, Cyrillic, Arabic, Devanagari and most others, and digits.
    Spaced,
    Han,
    Hiragana,
    Katakana,
    /// Words end at spaces, and particles are written to them.
    Hangul,
    /// Thai, Lao, Khmer, Burmese, Tibetan: no spaces, syllables of several marks.
    Syllabic,
}

fn script(c: char) -> Script {
    match c {
        '\u{3040}'..='\u{309f}' => Script::Hiragana,
        '\u{30a0}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' => Script::Katakana,
        '\u{3005}'
        | '\u{3007}'
        | '\u{3100}'..='\u{312f}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}' => Script::Han,
        '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{ac00}'..='\u{d7ff}' => {
            Script::Hangul
        }
        '\u{e00}'..='\u{fff}'
        | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17ff}'
        | '\u{a9e0}'..='\u{a9ff}'
        | '\u{aa60}'..='\u{aa7f}' => Script::Syllabic,
        _ => Script::Spaced,
    }
}

/// A letter, a digit, or a mark on one.
pub(in crate::turn) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || is_combining_mark(c)
}

/// Endings of a name in scripts without spaces: forms of address.
const HONORIFICS: &[&str] = &[
    "さん",
    "さま",
    "ちゃん",
    "くん",
    "たん",
    "せんせい",
    "様",
    "君",
    "殿",
    "氏",
    "先生",
    "酱",
    "同学",
    "小姐",
    "님",
    "씨",
    "ครับ",
    "ค่ะ",
    "คะ",
    "จ้า",
    "จ๋า",
    "จ้ะ",
    "ເອີຍ",
];
/// Endings of names in Latin letters, with a hyphen.
const HYPHENED: [&str; 9] =
    ["-san", "-chan", "-kun", "-sama", "-sensei", "-ssi", "-nim", "-ya", "-ji"];
/// Words that may follow a name in Hiragana: particles, and openings of a message.
const AFTER_HIRAGANA: &[&str] = &[
    "は",
    "が",
    "を",
    "に",
    "の",
    "も",
    "と",
    "へ",
    "で",
    "や",
    "よ",
    "ね",
    "って",
    "から",
    "まで",
    "おは",
    "こん",
    "あり",
    "おねがい",
    "おしえて",
    "どう",
    "なに",
    "なん",
    "いま",
    "これ",
    "それ",
    "どこ",
    "だれ",
];
/// Particles that follow a name in Hangul, the longer ones first: each may follow another.
const PARTICLES: &[&str] = &[
    "에게서",
    "한테서",
    "이라고",
    "이라는",
    "이라면",
    "이랑",
    "에게",
    "한테",
    "께서",
    "까지",
    "부터",
    "처럼",
    "보다",
    "라고",
    "라는",
    "라면",
    "마저",
    "조차",
    "밖에",
    "하고",
    "이여",
    "이야",
    "이가",
    "랑",
    "은",
    "는",
    "이",
    "가",
    "을",
    "를",
    "의",
    "도",
    "만",
    "와",
    "과",
    "로",
    "야",
    "아",
    "여",
    "께",
    "씨",
    "님",
];
/// Particles that call a person.
const VOCATIVES: &[&str] = &["이여", "야", "아", "여"];

/// Ending of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::turn) struct Suffix {
    /// Its length in bytes.
    pub(in crate::turn) length: usize,
    /// It is one by which people are called.
    pub(in crate::turn) calls: bool,
}

impl Suffix {
    const NONE: Self = Self { length: 0, calls: false };
}

/// True if a word that begins with `first` may follow `before`. `is_apart` returns true if `before`
/// ends where readers pause: after a greeting or a clause.
pub(in crate::turn) fn begins(before: &str, first: char, is_apart: impl Fn(&str) -> bool) -> bool {
    let Some(last) = before.chars().next_back() else { return true };
    if !is_word(last) {
        return !(matches!(last, '_' | '-')
            && before.chars().rev().nth(1).is_some_and(char::is_alphanumeric));
    }
    match (script(last), script(first)) {
        (Script::Spaced, Script::Spaced) | (Script::Katakana, Script::Katakana) => false,
        (Script::Hangul, Script::Hangul) | (Script::Hiragana, Script::Hiragana) => is_apart(before),
        (Script::Syllabic, Script::Syllabic) => {
            // A vowel that is written before its consonant (Thai, Lao), or a stacked consonant
            // (Burmese, Khmer).
            !matches!(last, '\u{e40}'..='\u{e44}' | '\u{ec0}'..='\u{ec4}' | '\u{1039}' | '\u{17d2}')
        }
        _ => true,
    }
}

/// Ending of a name that ends with `last`, before the next word; none if the name is only
/// a part of a longer word.
pub(in crate::turn) fn ends(last: char, after: &str) -> Option<Suffix> {
    let stretched = after.trim_start_matches(['ー', '~', '〜']);
    let stretch = after.len() - stretched.len();
    let Some(next) = stretched.chars().next() else { return Some(Suffix::NONE) };
    let rest = stretched;
    if matches!(next, '_' | '-') && rest.chars().nth(1).is_some_and(char::is_alphanumeric) {
        return HYPHENED.iter().find_map(|suffix| {
            let ended = rest.strip_prefix(suffix)?.chars().next().is_none_or(|c| !is_word(c));
            ended.then_some(Suffix { length: stretch + suffix.len(), calls: false })
        });
    }
    if !is_word(next) {
        return Some(Suffix { length: stretch, calls: false });
    }
    let honorific = HONORIFICS
        .iter()
        .find(|honorific| rest.starts_with(**honorific))
        .map(|honorific| Suffix { length: stretch + honorific.len(), calls: false });
    match (script(last), script(next)) {
        (Script::Spaced, Script::Spaced) | (Script::Katakana, Script::Katakana) => None,
        (_, Script::Hangul) if script(last) == Script::Hangul => particles(rest),
        (_, Script::Hangul) => Some(particles(rest).unwrap_or(Suffix::NONE)),
        (Script::Hiragana, Script::Hiragana) => honorific.or_else(|| {
            AFTER_HIRAGANA.iter().any(|word| rest.starts_with(word)).then_some(Suffix::NONE)
        }),
        (Script::Syllabic, Script::Syllabic) if goes_on(rest) => None,
        _ if is_combining_mark(next) => None,
        _ => Some(honorific.unwrap_or(Suffix { length: stretch, calls: false })),
    }
}

/// True if a text goes on with the syllable before it.
fn goes_on(rest: &str) -> bool {
    let mut chars = rest.chars();
    let Some(next) = chars.next() else { return false };
    // Vowels behind their consonant that are letters of their own (Thai, Lao).
    let vowel = matches!(
        next,
        '\u{e30}' | '\u{e32}' | '\u{e33}' | '\u{e45}' | '\u{eb0}' | '\u{eb2}' | '\u{eb3}'
    );
    // A consonant that the asat or virama closes (Burmese).
    let closing = chars.next().is_some_and(|c| matches!(c, '\u{103a}' | '\u{1039}'));
    is_combining_mark(next) || vowel || closing
}

/// The particles that a run of Hangul consists of; none if it is something else.
fn particles(text: &str) -> Option<Suffix> {
    let run: usize =
        text.chars().take_while(|c| script(*c) == Script::Hangul).map(char::len_utf8).sum();
    let mut rest = &text[..run];
    let calls = VOCATIVES.contains(&rest);
    while !rest.is_empty() {
        rest = PARTICLES.iter().find_map(|particle| rest.strip_prefix(particle))?;
    }
    Some(Suffix { length: run, calls })
}

/// True if a script has no spaces, so that a name may be written to the words before it.
pub(in crate::turn) fn is_unspaced(c: char) -> bool {
    script(c) != Script::Spaced
}
