//! Takes off sentences that speak of the program's own actions by name: people cannot call them.

use unicode_segmentation::UnicodeSegmentation;

use super::{names::Names, talk::Talk, types::Repairs};

/// Words of a question about what the program can do, and how.
const ABOUT: [&str; 14] = [
    "how",
    "call",
    "what can",
    "what do you",
    "tool",
    "function",
    "command",
    "feature",
    "abilit",
    "action",
    "wie ",
    "kannst",
    "cómo",
    "comment",
];

/// The words without sentences that name an action such as `SEND_MESSAGE`. Code blocks stay, and so
/// does all of an answer to a question that names one.
pub(super) fn cut(text: &str, talk: &Talk, names: &Names<'_>, repairs: &mut Repairs) -> String {
    let text = &without_list(text, talk, names, repairs);
    let asked = talk.question.to_lowercase();
    let about = ABOUT.iter().any(|word| asked.contains(word)) || names_one(&talk.question, names);
    if about || talk.wants_code() || !names_one(text, names) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for (place, part) in text.split("```").enumerate() {
        if place > 0 {
            out.push_str("```");
        }
        if place % 2 == 1 {
            out.push_str(part);
        } else {
            let sentences = part.split_sentence_bounds();
            out.extend(sentences.filter(|sentence| !names_one(sentence, names)));
        }
    }
    if out.len() < text.len() {
        repairs.note("sentences about the program's own actions taken off");
    }
    out.trim().to_owned()
}

/// The words without lines such as `- REPLY: Say something`, as the prompt lists the actions.
fn without_list(text: &str, talk: &Talk, names: &Names<'_>, repairs: &mut Repairs) -> String {
    const BULLETS: [char; 5] = ['-', '*', '•', '–', ' '];
    let is_listed = |line: &&str| {
        let bare = line.trim_start_matches(BULLETS);
        let name = bare.split_once(':').map(|(name, _)| name.trim_matches(['`', '*']));
        bare.len() < line.len() && name.is_some_and(|name| names.has_exact(name))
    };
    if talk.wants_code() || names_one(&talk.question, names) || text.lines().all(|l| !is_listed(&l))
    {
        return text.to_owned();
    }
    repairs.note("list of actions taken off");
    let kept: Vec<&str> = text.lines().filter(|line| !is_listed(line)).collect();
    kept.join("\n").trim().to_owned()
}

/// Whether the text has the exact name of an action that no one writes by chance.
fn names_one(text: &str, names: &Names<'_>) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .any(|word| word.contains('_') && names.has_exact(word))
}
