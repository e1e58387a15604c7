//! Names that stand for somebody in a character file (`{{char}}`, `<USER>`, `{{agentName}}`): replaced
//! in what is sent to a model, remarked where nothing replaces them.

use std::{borrow::Cow, ops::Range};

use super::{Character, Knowledge, card::GREETING};

/// Longest name between braces. What is longer is not one.
const LONGEST: usize = 64;
/// Name of the other person where several people read the same text.
const SOMEBODY: &str = "the user";
/// The other person in an example.
const FIRST_PERSON: &str = "Person 1";

/// The people that a text speaks of.
#[derive(Debug, Clone, Copy)]
pub struct Names<'a> {
    /// The character.
    pub character: &'a str,
    /// The person who talks to it.
    pub user: &'a str,
}

/// A text with the names in place of what stands for them. What is unknown stays as it is.
pub fn fill<'a>(text: &'a str, names: Names<'_>) -> Cow<'a, str> {
    let mut places = places(text).peekable();
    if places.peek().is_none() {
        return Cow::Borrowed(text);
    }
    let (mut filled, mut end) = (String::with_capacity(text.len()), 0);
    for (range, name) in places {
        let Some(value) = meaning(name, names) else { continue };
        filled.push_str(&text[end..range.start]);
        filled.push_str(&value);
        end = range.end;
    }
    filled.push_str(&text[end..]);
    Cow::Owned(filled)
}

/// The places of a text that nothing replaces.
pub(super) fn unknown(text: &str) -> impl Iterator<Item = Range<usize>> {
    let names = Names { character: "", user: "" };
    places(text).filter(move |(_, name)| meaning(name, names).is_none()).map(|(range, _)| range)
}

/// Everything in braces or angles that looks like a name, with its range.
fn places(text: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(found) = text[at..].find(['{', '<']) {
            let start = at + found;
            let rest = &text[start..];
            for whole in ["<BOT>", "<CHAR>", "<USER>"] {
                if rest.starts_with(whole) {
                    at = start + whole.len();
                    return Some((start..at, &text[start + 1..at - 1]));
                }
            }
            at = start + 1;
            // Of three braces the inner two are meant.
            let Some(inner) = rest.strip_prefix("{{").filter(|inner| !inner.starts_with('{'))
            else {
                continue;
            };
            let bound = inner.char_indices().nth(LONGEST).map_or(inner.len(), |(end, _)| end);
            let Some(length) = inner[..bound].find("}}") else { continue };
            let name = &inner[..length];
            if name.contains(['{', '\n', '\r']) || name.trim().is_empty() {
                continue;
            }
            at = start + length + 4;
            return Some((start..at, name));
        }
        None
    })
}

/// Value of a name; none for an unknown one.
fn meaning<'a>(name: &str, names: Names<'a>) -> Option<Cow<'a, str>> {
    let name = name.trim().to_ascii_lowercase();
    Some(match name.as_str() {
        "char" | "bot" | "agent" | "agentname" | "agent_name" | "character" | "charactername"
        | "char_name" | "charname" | "name" => names.character.into(),
        "user" | "username" | "user_name" | "sendername" => names.user.into(),
        // Another program puts its own instructions here, and takes blanks away.
        "original" | "trim" | "noop" => "".into(),
        "newline" => "\n".into(),
        comment if comment.starts_with("//") => "".into(),
        _ => {
            let number = name.strip_prefix("user").or_else(|| name.strip_prefix("name"))?;
            let is_number = number.len() == 1 && ("1"..="9").contains(&number);
            if !is_number {
                return None;
            }
            format!("Person {number}").into()
        }
    })
}

impl Character {
    /// The character as models see it: with names in place of what stands for them. Templates stay,
    /// which have values of their own.
    #[must_use]
    pub fn filled(&self) -> Self {
        let mut filled = self.clone();
        let own = Names { character: &self.name, user: SOMEBODY };
        let here = Names { user: FIRST_PERSON, ..own };
        let replace = |text: &mut String, names: Names<'_>| {
            if let Cow::Owned(new) = fill(text, names) {
                *text = new;
            }
        };
        let style = &mut filled.style;
        let texts = filled.system.iter_mut().chain(&mut filled.bio).chain(&mut filled.topics);
        let texts = texts.chain(&mut filled.adjectives).chain(&mut filled.post_examples);
        texts
            .chain(&mut style.all)
            .chain(&mut style.chat)
            .chain(&mut style.post)
            .for_each(|text| replace(text, own));
        for line in filled.message_examples.iter_mut().flatten() {
            replace(&mut line.name, here);
            replace(&mut line.content.text, here);
        }
        for known in &mut filled.knowledge {
            if let Knowledge::Text(text) = known {
                replace(text, own);
            }
        }
        if filled.system.as_ref().is_some_and(|system| system.trim().is_empty()) {
            filled.system = None;
        }
        filled
    }

    /// The first words of a character card to a person, if it has any.
    pub fn greeting(&self, person: &str) -> Option<String> {
        let unmapped = self.settings.get("unmapped").and_then(|kept| kept.get(GREETING));
        let words = self.extra.get(GREETING).or(unmapped)?.as_str()?;
        let names = Names { character: &self.name, user: person };
        Some(fill(words, names).trim().to_owned()).filter(|words| !words.is_empty())
    }
}
