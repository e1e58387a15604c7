//! Character cards of other programs (Tavern, V1 to V3, and their forerunners), as a character.

use serde_json::{Map, Value};
use std::ops::Range;

use super::{
    Character, Knowledge, MessageExample,
    diagnostic::{EMPTY, MISSING},
    fields::{Fields, index, keep, text, text_list},
    node::{Field, Kind, Node},
    notes::Notes,
};
use crate::content::Content;

/// Field that keeps a card's greeting: it is an example of the style as well.
pub(super) const GREETING: &str = "first_mes";
/// Speaker of the other side in examples.
const OTHER: &str = "{{user1}}";
/// Fields that become a part of the character, with their names in cards of before V1.
const NAME: [&str; 2] = ["name", "char_name"];
const DESCRIPTION: [&str; 2] = ["description", "char_persona"];
const PERSONALITY: [&str; 1] = ["personality"];
const SCENARIO: [&str; 2] = ["scenario", "world_scenario"];
const FIRST: [&str; 2] = [GREETING, "char_greeting"];
const EXAMPLES: [&str; 2] = ["mes_example", "example_dialogue"];
const SYSTEM: [&str; 1] = ["system_prompt"];
const LAST_WORDS: [&str; 1] = ["post_history_instructions"];
/// Fields that are kept as they are: notes for people, and what the program around the card needs.
const KEPT: &[&str] = &[
    "alternate_greetings",
    "assets",
    "avatar",
    "character_book",
    "character_version",
    "chat",
    "create_date",
    "creation_date",
    "creator",
    "creator_notes",
    "creator_notes_multilingual",
    "creatorcomment",
    "extensions",
    "fav",
    "group_only_greetings",
    "metadata",
    "modification_date",
    "nickname",
    "source",
    "spec",
    "spec_version",
    "tags",
    "talkativeness",
];

fn mapped() -> impl Iterator<Item = &'static str> {
    [&NAME[..], &DESCRIPTION, &PERSONALITY, &SCENARIO, &FIRST, &EXAMPLES, &SYSTEM, &LAST_WORDS]
        .into_iter()
        .flatten()
        .copied()
}

/// True if a file's root is a card: it says so, or it has the fields of one and no bio.
pub(super) fn is_card(entries: &[Field]) -> bool {
    let says = entries.iter().any(|entry| {
        entry.key == "spec"
            && matches!(&entry.value.kind, Kind::Text(spec) if spec.starts_with("chara_card"))
    });
    let has = |key: &str| entries.iter().any(|entry| entry.key == key);
    let own = mapped().filter(|key| !NAME.contains(key) && has(key)).count();
    says || (own >= 2 && !has("bio") && !has("messageExamples"))
}

/// Reads a card.
pub(super) fn character(
    entries: &[Field],
    root: &Range<usize>,
    notes: &mut Notes<'_>,
) -> Character {
    let outer = index(entries, notes);
    let data = match outer.get("data").map(|entry| &entry.value.kind) {
        Some(Kind::Object(data)) => Some(data),
        _ => None,
    };
    let fields = data.map_or_else(|| outer.clone(), |data| index(data, notes));
    let mut read = |keys: &[&str]| {
        let found = keys.iter().find_map(|key| text(&fields, key, notes));
        found.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let (name, description, personality) = (read(&NAME), read(&DESCRIPTION), read(&PERSONALITY));
    let (scenario, first, examples) = (read(&SCENARIO), read(&FIRST), read(&EXAMPLES));
    let (system, last_words) = (read(&SYSTEM), read(&LAST_WORDS));
    let name = name.unwrap_or_default();
    let at = root.start..root.start + 1;
    if name.is_empty() {
        let help = Some("add \"name\" to the card".to_owned());
        notes.error(MISSING, &at, "the card has no `name`", help);
    }
    let bio = bio(&name, description, personality, scenario);
    if bio.is_none() {
        let help = Some("say in its description who this is".to_owned());
        notes.warn(EMPTY, &at, "the card has no description", help);
    }
    let mut character = Character {
        name: name.clone(),
        system,
        bio: bio.into_iter().collect(),
        ..Character::default()
    };
    character.style.all.extend(last_words);
    character.message_examples = conversations(examples.as_deref().unwrap_or_default(), &name);
    let greetings = fields
        .get("alternate_greetings")
        .map(|entry| text_list(&entry.value, "alternate_greetings", notes))
        .unwrap_or_default();
    let says = |text: String| MessageExample { name: name.clone(), content: Content::text(text) };
    let greetings = first.iter().cloned().chain(greetings).filter(|text| !text.trim().is_empty());
    character.message_examples.extend(greetings.map(|greeting| vec![says(greeting)]));
    if let Some(book) = fields.get("character_book") {
        character.knowledge = knowledge(&book.value);
    }
    if let Some(first) = first {
        character.extra.insert(GREETING.to_owned(), Value::String(first));
    }
    keep_rest(&fields, &mut character.extra, notes);
    if data.is_some() {
        // Cards of V2 often repeat the fields of V1 beside their data.
        let rest =
            outer.into_iter().filter(|(key, _)| *key != "data" && !mapped().any(|k| k == *key));
        keep_rest(&rest.collect(), &mut character.extra, notes);
    }
    character
}

/// Description of the character, in one text: a text is always shown whole, and of several only
/// some.
fn bio(
    name: &str,
    description: Option<String>,
    personality: Option<String>,
    scenario: Option<String>,
) -> Option<String> {
    let personality = personality.map(|text| format!("{name}'s personality: {text}"));
    let scenario = scenario.map(|text| format!("The situation: {text}"));
    let parts: Vec<String> = [description, personality, scenario].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

/// Keeps what the character has no place for, with a remark where no card has such a field.
fn keep_rest(fields: &Fields<'_>, extra: &mut Map<String, Value>, notes: &mut Notes<'_>) {
    for (key, entry) in fields {
        if extra.contains_key(*key) || mapped().any(|known| known == *key) {
            continue;
        }
        if KEPT.contains(key) {
            extra.insert((*key).to_owned(), entry.value.to_value());
        } else {
            keep(entry, key, KEPT, extra, notes);
        }
    }
}

/// The example conversations of a card: blocks that begin with `<START>`, lines that begin with a
/// speaker.
fn conversations(text: &str, name: &str) -> Vec<Vec<MessageExample>> {
    let mut talks: Vec<Vec<MessageExample>> = vec![Vec::new()];
    for line in text.lines() {
        let line = line.trim_end();
        if line.trim().eq_ignore_ascii_case("<start>") {
            talks.push(Vec::new());
            continue;
        }
        let Some(talk) = talks.last_mut() else { continue };
        match (speaker(line, name), talk.last_mut()) {
            (Some((speaker, words)), _) => {
                talk.push(MessageExample { name: speaker, content: Content::text(words) });
            }
            (None, Some(last)) => {
                last.content.text.push('\n');
                last.content.text.push_str(line);
            }
            (None, None) if line.trim().is_empty() => {}
            // Text before the first speaker is told by the character.
            (None, None) => {
                let content = Content::text(line.trim());
                talk.push(MessageExample { name: name.to_owned(), content });
            }
        }
    }
    for line in talks.iter_mut().flatten() {
        let trimmed = line.content.text.trim().to_owned();
        line.content.text = trimmed;
    }
    talks.retain(|talk| talk.iter().any(|line| !line.content.text.is_empty()));
    talks
}

/// Speaker of a line, and the words.
fn speaker(line: &str, name: &str) -> Option<(String, String)> {
    let (who, words) = line.trim_start().split_once(':')?;
    let who = who.trim();
    let inner = who
        .strip_prefix("{{")
        .and_then(|who| who.strip_suffix("}}"))
        .or_else(|| who.strip_prefix('<').and_then(|who| who.strip_suffix('>')))
        .map(|who| who.trim().to_ascii_lowercase());
    let speaker = match inner.as_deref() {
        Some("char" | "bot") => name,
        Some("user") => OTHER,
        Some(random) if random.starts_with("random_user") || random.starts_with("user") => OTHER,
        None if !name.is_empty() && who == name => name,
        None if who == "You" => OTHER,
        _ => return None,
    };
    Some((speaker.to_owned(), words.trim_start().to_owned()))
}

/// The entries of a book that are switched on: those that always hold first, then in their order.
fn knowledge(book: &Node) -> Vec<Knowledge> {
    let Kind::Object(book) = &book.kind else { return Vec::new() };
    let entries = book.iter().find(|entry| entry.key == "entries").map(|entry| &entry.value.kind);
    let mut lines: Vec<(bool, f64, String)> = match entries {
        Some(Kind::List(entries)) => entries.iter().filter_map(entry).collect(),
        // World books of one program number their entries.
        Some(Kind::Object(entries)) => entries.iter().filter_map(|e| entry(&e.value)).collect(),
        _ => Vec::new(),
    };
    lines.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.total_cmp(&b.1)));
    lines.into_iter().map(|(_, _, text)| Knowledge::Text(text)).collect()
}

/// True if an entry always holds, its place, and its text behind the words that it is about.
fn entry(node: &Node) -> Option<(bool, f64, String)> {
    let Value::Object(entry) = node.to_value() else { return None };
    let flag = |key: &str| entry.get(key).and_then(Value::as_bool);
    if flag("enabled") == Some(false) || flag("disable") == Some(true) {
        return None;
    }
    // Lines with @@ are switches of V3, not words.
    let content: Vec<&str> = entry
        .get("content")?
        .as_str()?
        .lines()
        .filter(|line| !line.trim_start().starts_with("@@"))
        .collect();
    let content = content.join("\n");
    let content = content.trim();
    if content.is_empty() {
        return None;
    }
    let keys: Vec<&str> = ["keys", "key"]
        .iter()
        .filter_map(|key| entry.get(*key)?.as_array())
        .flatten()
        .filter_map(Value::as_str)
        .filter(|key| !key.trim().is_empty())
        .collect();
    let text = match keys.as_slice() {
        [] => content.to_owned(),
        keys => format!("{}: {content}", keys.join(", ")),
    };
    let order = ["insertion_order", "order"].iter().find_map(|key| entry.get(*key)?.as_f64());
    Some((flag("constant") == Some(true), order.unwrap_or_default(), text))
}
