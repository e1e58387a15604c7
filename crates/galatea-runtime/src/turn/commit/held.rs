//! Answers of which a part was held back: whose they are, until when, and where each goes on. Kept with
//! the Room, so that they survive a restart. Pure.

use galatea_core::{
    Button, Content, EntityId, MemoryId, Press, Result, TextUnit, Timestamp, split,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Key of a Room's metadata.
const KEY: &str = "continued";
/// Time for which the rest of an answer can be asked for.
const LIFE: Duration = Duration::from_secs(24 * 60 * 60);
/// Most people of a Room for whom something is held back; the oldest is dropped.
const MOST_PEOPLE: usize = 16;
/// Most answers of one turn that are held back.
const MOST_ANSWERS: usize = 8;
/// Prefix of the memory's id in the button that asks for the rest.
const BUTTON: &str = "more:";

/// An answer that goes on. The words are in its memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Continuation {
    pub(crate) memory: MemoryId,
    /// The first byte of the text that was not sent.
    pub(crate) at: usize,
    /// Opens the code block again that is cut there.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) opening: String,
}

impl Continuation {
    /// The whole answer.
    pub(crate) fn whole(memory: MemoryId) -> Self {
        Self { memory, at: 0, opening: String::new() }
    }

    /// The words that were not sent.
    pub(crate) fn rest(&self, text: &str) -> String {
        let start = (self.at..=text.len()).find(|at| text.is_char_boundary(*at));
        format!("{}{}", self.opening, start.map_or("", |start| &text[start..]))
    }
}

/// Answers held back for one person in a Room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Held {
    pub(crate) asker: EntityId,
    pub(crate) until: Timestamp,
    pub(crate) answers: Vec<Continuation>,
    /// The person was answered something else since: the word alone may mean that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) stale: bool,
}

/// All that is held back in a Room at a time. An unknown form counts as nothing.
pub(crate) fn read(metadata: &Map<String, Value>, now: Timestamp) -> Vec<Held> {
    let held: Vec<Held> = metadata
        .get(KEY)
        .and_then(|held| serde_json::from_value(held.clone()).ok())
        .unwrap_or_default();
    held.into_iter().filter(|held| now < held.until).collect()
}

/// A change of the Room's metadata: the turn of `asker` held these answers back. `continued` names
/// the earlier answer that it went on with. None where nothing changes.
pub(crate) fn update(
    metadata: &Map<String, Value>,
    now: Timestamp,
    asker: EntityId,
    mut answers: Vec<Continuation>,
    continued: bool,
    said: bool,
) -> Option<Map<String, Value>> {
    let mut all = read(metadata, now);
    let before = metadata.get(KEY).filter(|held| !held.is_null()).cloned().unwrap_or(json!([]));
    if continued || !answers.is_empty() {
        all.retain(|held| held.asker != asker);
    } else if said {
        all.iter_mut().filter(|held| held.asker == asker).for_each(|held| held.stale = true);
    }
    if !answers.is_empty() {
        answers.truncate(MOST_ANSWERS);
        all.push(Held { asker, until: now.plus(LIFE), answers, stale: false });
    }
    if all.len() > MOST_PEOPLE {
        all.drain(..all.len() - MOST_PEOPLE);
    }
    let after = json!(all);
    (after != before).then(|| Map::from_iter([(KEY.to_owned(), after)]))
}

/// The part of a text that is said now, and where it goes on.
pub(crate) struct Cut {
    pub(crate) now: String,
    pub(crate) rest: Continuation,
}

/// Cuts the rest of an answer so that its beginning fits, as long as possible; at the end of a
/// paragraph, sentence or word. None where not even the shortest fits.
pub(crate) fn cut(
    text: &str,
    from: &Continuation,
    unit: TextUnit,
    most: usize,
    fits: impl Fn(&str) -> Result<bool>,
) -> Result<Option<Cut>> {
    let weight = unit.weight().unwrap_or(char::len_utf16);
    let rest = from.rest(text);
    let (mut low, mut high) = (1, split::length(&rest, weight).min(most));
    let mut best = None;
    while low <= high {
        let middle = low + (high - low) / 2;
        let mut pieces = split::fenced(&rest, middle, weight).into_iter();
        let (Some(first), next) = (pieces.next(), pieces.next()) else { break };
        let words = first.text.trim_end();
        // Cut inside of what opens the block again, nothing is said.
        let own = first.own().len().checked_sub(from.opening.len()).filter(|own| *own > 0);
        if fits(words)? {
            if let Some(own) = own.filter(|_| !words.is_empty()) {
                let opening =
                    next.map_or_else(String::new, |next| next.text[..next.opened].to_owned());
                let rest = Continuation { memory: from.memory, at: from.at + own, opening };
                best = Some(Cut { now: words.to_owned(), rest });
            }
            low = middle + 1;
        } else {
            high = middle - 1;
        }
    }
    Ok(best)
}

/// Says below an answer that there is more, and how to get it there.
pub(crate) fn footer(direct: bool, buttons: bool) -> &'static str {
    match (direct, buttons) {
        (true, true) => "[There is more: press the button or say \"more\".]",
        (true, false) => "[There is more: say \"more\".]",
        (false, true) => "[There is more: press the button, or reply \"more\" to this.]",
        (false, false) => "[There is more: reply \"more\" to this.]",
    }
}

/// The button under an answer that goes on.
pub(crate) fn button(memory: MemoryId) -> Vec<Vec<Button>> {
    let press = Press::Data(format!("{BUTTON}{memory}"));
    vec![vec![Button { text: "More".to_owned(), press }]]
}

/// The answer that a pressed button goes on with; none for other buttons.
pub(crate) fn pressed(data: &str) -> Option<MemoryId> {
    data.strip_prefix(BUTTON)?.parse().ok()
}

/// An answer in part, without what belongs to its end.
pub(crate) fn beginning(content: &Content, words: &str, footer: &str) -> Content {
    Content {
        text: format!("{words}\n\n{footer}"),
        attachments: Vec::new(),
        buttons: Vec::new(),
        ..content.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    const NOW: Timestamp = Timestamp(1_000);

    fn person(n: u128) -> EntityId {
        EntityId(Uuid::from_u128(n))
    }

    fn whole(n: u128) -> Continuation {
        Continuation::whole(MemoryId(Uuid::from_u128(n)))
    }

    /// Sends an answer piece by piece, each as long as `fits` in characters.
    fn pieces(text: &str, most: usize) -> Vec<String> {
        let mut from = whole(1);
        let mut said = Vec::new();
        loop {
            let rest = from.rest(text);
            if rest.chars().count() <= most {
                said.push(rest);
                return said;
            }
            let cut =
                cut(
                    text,
                    &from,
                    TextUnit::Utf16,
                    10_000,
                    |words| Ok(words.chars().count() <= most),
                );
            let cut = cut.unwrap().unwrap();
            assert!(cut.rest.at > from.at, "it goes on");
            (from, said) = (cut.rest, [said, vec![cut.now]].concat());
        }
    }

    #[test]
    fn the_pieces_are_the_answer_and_nearly_as_long_as_they_may_be() {
        let text = "A sentence of some words. ".repeat(300);
        let said = pieces(&text, 2_000);
        assert_eq!(said.concat().replace(' ', ""), text.replace(' ', ""));
        assert!(
            said[..said.len() - 1].iter().all(|piece| piece.len() > 1_800),
            "{:?}",
            said.iter().map(String::len).collect::<Vec<_>>()
        );
        assert!(said.iter().all(|piece| piece.len() <= 2_000));
    }

    #[test]
    fn a_code_block_is_closed_and_opened_again() {
        let text = format!("Here:\n\n```rust\n{}```\nEnd.", "let x = 1;\n".repeat(200));
        let said = pieces(&text, 700);
        assert!(said.len() > 3);
        for piece in &said {
            assert_eq!(piece.matches("```").count() % 2, 0, "{piece}");
        }
        assert_eq!(said.iter().map(|piece| piece.matches("let x").count()).sum::<usize>(), 200);
        assert!(said[1].starts_with("```rust\n"), "{}", said[1]);
    }

    #[test]
    fn letters_of_any_script_are_never_cut_apart() {
        let text = "日本語🙂".repeat(500);
        assert_eq!(pieces(&text, 333).concat(), text);
    }

    #[test]
    fn what_is_held_back_belongs_to_its_asker_until_it_expires() {
        let mut metadata = Map::new();
        let mut change = |asker: u128, answers: Vec<Continuation>, continued, said, at| {
            let change = update(&metadata, at, person(asker), answers, continued, said);
            let changed = change.is_some();
            metadata.extend(change.unwrap_or_default());
            (changed, read(&metadata, at))
        };
        assert!(!change(1, vec![], false, true, NOW).0, "nothing was held back");
        assert_eq!(change(1, vec![whole(7)], false, true, NOW).1.len(), 1);
        assert_eq!(change(2, vec![whole(8)], false, true, NOW).1.len(), 2, "another's stays");
        assert!(!change(3, vec![], false, true, NOW).0, "another person's question drops nothing");
        let (_, held) = change(1, vec![], false, true, NOW);
        assert_eq!((held[0].stale, held[1].stale), (true, false));
        let (_, held) = change(2, vec![], true, true, NOW);
        assert_eq!(held.iter().map(|held| held.asker).collect::<Vec<_>>(), [person(1)]);
        let late = NOW.plus(LIFE);
        assert!(
            change(3, vec![whole(9)], false, true, late)
                .1
                .iter()
                .all(|held| held.asker == person(3))
        );
        for n in 10..100 {
            change(n, vec![whole(n)], false, true, late);
        }
        assert_eq!(change(5, vec![], true, true, late).1.len(), MOST_PEOPLE);
    }

    #[test]
    fn an_unknown_form_is_nothing() {
        for value in [json!([{ "memory": "x", "from": 1, "replyTo": null }]), json!(7), Value::Null]
        {
            let metadata = Map::from_iter([(KEY.to_owned(), value)]);
            assert!(read(&metadata, NOW).is_empty());
        }
    }

    #[test]
    fn the_button_names_its_answer() {
        let memory = MemoryId(Uuid::from_u128(5));
        let Press::Data(data) = &button(memory)[0][0].press else { panic!() };
        assert!(data.len() <= 64);
        assert_eq!(
            (pressed(data), pressed("ok-7K2QM"), pressed("more:x")),
            (Some(memory), None, None)
        );
    }
}
