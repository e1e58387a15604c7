//! Facts of a turn about the talk that an answer belongs to.

use galatea_core::{Memory, Speakers, Turn, speakers::name_in};

use crate::plan::Talk;

/// Messages that are compared with a quotation, the newest first.
const COMPARED: usize = 20;
/// Longest head of a section, in bytes.
const LONGEST_HEAD: usize = 80;

/// The talk of this turn.
pub(crate) fn of(turn: &Turn<'_>) -> Talk {
    let own = turn.agent.identity.entity();
    let speakers = Speakers::of(turn);
    let waiting = || turn.merged.iter().chain(std::iter::once(turn.message));
    let recent = || turn.recent.iter().map(AsRef::as_ref);
    let mut others: Vec<String> = Vec::new();
    for memory in recent().chain(waiting()).filter(|memory| memory.entity_id != own) {
        for name in names(&speakers, memory) {
            if !others.contains(&name) {
                others.push(name);
            }
        }
    }
    let mut asker = names(&speakers, turn.message);
    asker.push(turn.message.entity_id.to_string());
    let mut said: Vec<String> =
        recent().rev().take(COMPARED).map(|memory| memory.content.text.clone()).collect();
    said.extend(waiting().flat_map(|memory| memory.content.quotes.iter().map(|q| q.text.clone())));
    let fragments = || turn.state.fragments.iter().map(|(_, fragment)| fragment.text.as_str());
    said.extend(fragments().map(str::to_owned));
    let is_head = |line: &&str| {
        line.starts_with(['#', '[']) && line.len() <= LONGEST_HEAD && !line.contains("](")
    };
    Talk {
        own: std::iter::once(turn.agent.character.name.as_str())
            .chain(turn.handle)
            .map(str::to_owned)
            .collect(),
        others,
        asker,
        here: vec![
            turn.room.name.clone(),
            turn.room.remote.as_str().to_owned(),
            turn.room.id.to_string(),
        ],
        direct: turn.room.kind.is_direct(),
        question: waiting()
            .map(|memory| memory.content.text.as_str())
            .collect::<Vec<_>>()
            .join("\n"),
        said,
        heads: fragments().flat_map(str::lines).filter(is_head).map(str::to_owned).collect(),
    }
}

fn names(speakers: &Speakers, memory: &Memory) -> Vec<String> {
    let shown = speakers.of_memory(memory);
    let own = name_in(memory).map(galatea_core::speakers::display);
    std::iter::once(shown).chain(own.filter(|name| !name.is_empty())).collect()
}
