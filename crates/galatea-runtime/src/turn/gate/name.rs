//! Decides if a message calls the agent by name, or merely contains it.

mod forms;
#[cfg(test)]
mod tests;

use galatea_core::Character;

use self::forms::{NameForm, forms};
use crate::turn::spelling::{begins, ends, folded, is_unspaced, is_word};

/// How a message calls the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Called {
    /// The name is what it begins or ends with, or stands apart, as in a vocative.
    Addressed,
    /// The name stands in it as a word.
    Contained,
    No,
}

/// Words before a name that address it: greetings and calls of the languages most spoken on the
/// platforms, folded.
const GREETINGS: &[&str] = &[
    "hey",
    "hi",
    "hello",
    "yo",
    "ok",
    "okay",
    "thanks",
    "thx",
    "please",
    "dear",
    "morning",
    "oh",
    "hallo",
    "moin",
    "danke",
    "bitte",
    "liebe",
    "lieber",
    "servus",
    "hola",
    "gracias",
    "oye",
    "bonjour",
    "bonsoir",
    "salut",
    "coucou",
    "merci",
    "ciao",
    "grazie",
    "oi",
    "ola",
    "obrigado",
    "obrigada",
    "hoi",
    "dank",
    "hej",
    "hei",
    "tack",
    "czesc",
    "dzieki",
    "ahoj",
    "merhaba",
    "selam",
    "halo",
    "hai",
    "chao",
    "привет",
    "здравствуи",
    "здравствуите",
    "спасибо",
    "эи",
    "слушаи",
    "привіт",
    "дякую",
    "γεια",
    "يا",
    "مرحبا",
    "اهلا",
    "شكرا",
    "היי",
    "שלום",
    "תודה",
    "नमस्ते",
    "हे",
    "अरे",
    "धन्यवाद",
    "안녕",
    "안녕하세요",
    "고마워",
    "저기",
    "얘",
];
/// The same in scripts without spaces: a name is written to them.
const UNSPACED_GREETINGS: &[&str] = &[
    "你好",
    "您好",
    "嗨",
    "嘿",
    "喂",
    "哈喽",
    "哈囉",
    "谢谢",
    "謝謝",
    "多谢",
    "早安",
    "早上好",
    "早",
    "晚上好",
    "晚安",
    "请问",
    "請問",
    "亲爱的",
    "こんにちは",
    "こんばんは",
    "おはよう",
    "おはようございます",
    "ありがとう",
    "ありがとうございます",
    "ねえ",
    "ねぇ",
    "なあ",
    "へい",
    "やあ",
    "もしもし",
    "おい",
    "안녕",
    "고마워",
    "สวัสดี",
    "หวัดดี",
    "เฮ้",
    "ขอบคุณ",
    "ນ້ອງ",
    "ສະບາຍດີ",
    "ຂອບໃຈ",
    "សួស្តី",
    "ជំរាបសួរ",
    "អរគុណ",
    "មិត្ត",
    "မင်္ဂလာပါ",
    "ကျေးဇူးတင်ပါတယ်",
];
/// Words at the end of a clause in scripts without spaces: a name behind them is called, not part of
/// the clause.
const CLAUSE_ENDS: &[&str] = &[
    "吗",
    "嗎",
    "呢",
    "吧",
    "啊",
    "呀",
    "嘛",
    "了",
    "か",
    "ね",
    "よ",
    "て",
    "な",
    "요",
    "까",
    "ครับ",
    "คะ",
    "ค่ะ",
    "จ้า",
    "นะ",
    "ไหม",
    "ບໍ",
    "လား",
    "ပါ",
];

/// Looks for the character's name, its handle and its names on the platform, in any case. Of a name of
/// several words the first counts as well ([`forms`]).
pub(super) fn called(text: &str, character: &Character, on_platform: &[String]) -> Called {
    let text = folded(text);
    let names = std::iter::once(character.name.as_str())
        .chain(character.username.as_deref())
        .chain(on_platform.iter().map(String::as_str));
    let mut found = Called::No;
    for form in forms(names) {
        for (at, word) in text.match_indices(&form.name) {
            match at_place(&text[..at], word, &text[at + word.len()..], &form) {
                Called::Addressed => return Called::Addressed,
                Called::Contained => found = Called::Contained,
                Called::No => {}
            }
        }
    }
    found
}

/// One place where the letters of a name stand.
fn at_place(before: &str, word: &str, after: &str, form: &NameForm) -> Called {
    let (Some(first), Some(last)) = (word.chars().next(), word.chars().next_back()) else {
        return Called::No;
    };
    if !begins(before, first, |text| greets(text) || ends_a_clause(text)) {
        return Called::No;
    }
    let Some(suffix) = ends(last, after) else { return Called::No };
    // Two accents or marks of a name may stand at the edge of a longer cluster.
    let Some(after) = after.get(suffix.length..) else { return Called::No };
    if suffix.calls || addressed(before, after, form.ordinary) {
        return Called::Addressed;
    }
    Called::Contained
}

/// By what stands around it: nothing before or after; a pause on both sides; or a greeting before. An
/// ordinary word has to be set apart on both sides, or greeted.
fn addressed(before: &str, after: &str, ordinary: bool) -> bool {
    let blank = |c: char| c.is_whitespace() && c != '\n';
    let joined = before.chars().next_back().is_some_and(|c| is_word(c) && is_unspaced(c));
    let before = before.trim_end_matches(blank).trim_end_matches('@').trim_end_matches(blank);
    let after = after.trim_start_matches(blank);
    let silent = |text: &str| !text.chars().any(is_word);
    let (first, last) = (silent(before), silent(after));
    if greets(before) {
        return true;
    }
    if ordinary {
        let apart = |side: bool, mark: Option<char>| side && mark.is_none() || pauses(mark);
        let (left, right) = (before.chars().next_back(), after.chars().next());
        return (first && last) || (apart(first, left) && apart(last, right));
    }
    // Written to the words before it, it may be their object: "我喜欢诺娃".
    if first || (last && (!joined || ends_a_clause(before))) {
        return true;
    }
    pauses(before.chars().next_back()) && pauses(after.chars().next())
}

/// Whether a text ends with a greeting.
fn greets(before: &str) -> bool {
    let word = before.split(|c: char| !is_word(c)).next_back().unwrap_or_default();
    GREETINGS.contains(&word) || UNSPACED_GREETINGS.iter().any(|one| before.ends_with(one))
}

/// Whether a text in a script without spaces ends with the end of a clause.
fn ends_a_clause(before: &str) -> bool {
    CLAUSE_ENDS.iter().any(|one| before.ends_with(one))
}

/// A mark at which a reader pauses, or a line's end.
fn pauses(mark: Option<char>) -> bool {
    mark.is_some_and(|c| {
        c == '\n'
            || (c.is_ascii_punctuation() && !matches!(c, '\'' | '"' | '_' | '/' | '`' | '*' | '-'))
            || "…–—،、，：；！？。؟؛।၊။។".contains(c)
    })
}
