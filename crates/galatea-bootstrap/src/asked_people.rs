//! Finds the people whom a question names.

use galatea_core::{
    EntityId, Turn,
    fusion::{self, Named},
    speakers,
};
use std::iter;

/// Names of a room that are looked for in questions, besides those of who speaks: half of
/// [`fusion::MOST_KNOWN`]. The rest is for the people of facts.
const NAMES: usize = fusion::MOST_KNOWN / 2;

/// The people whom a question of this turn names, of those who speak or take part in its room, and of
/// `others` who may be seen there. No person of another place is among them.
///
/// The agent is addressed by its name rather than asked for: its name is found, and neither its messages
/// nor those to it rise.
pub(crate) fn named(turn: &Turn<'_>, question: &str, others: &[(EntityId, String)]) -> Named {
    let own = turn.agent.identity.entity();
    let at_hand = iter::once(turn.message)
        .chain(turn.merged.iter().rev())
        .chain(turn.recent.iter().rev().map(AsRef::as_ref));
    // A list is enough: a prompt has few speakers.
    let mut speaking: Vec<(EntityId, &str)> = Vec::new();
    for memory in at_hand {
        if let Some(name) = speakers::name_in(memory)
            && !speaking.contains(&(memory.entity_id, name))
        {
            speaking.push((memory.entity_id, name));
        }
    }
    let others = others.iter().map(|(person, name)| (*person, name.as_str()));
    let agent = || iter::once(turn.agent.character.name.as_str()).chain(turn.handle);
    let all = agent()
        .map(|name| (own, name))
        .chain(speaking)
        .chain(turn.people.called().take(NAMES))
        .chain(others);
    fusion::named(question, all).addressing(question, own, agent())
}
