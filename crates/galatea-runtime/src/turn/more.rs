//! The rest of an answer that was too long to be said at once, when a person asks for it.

use galatea_core::{Character, Content, Decision, Event, Result, StepOutcome, Verdict};

use super::{
    commit::commit,
    context::{TurnContext, TurnPlace},
    engine::Engine,
    memories::lacks_file,
    message::Waiting,
    outcome::{CONTINUATION_KEY, Continuation, Outcome},
};
use crate::{budget::Visit, directory::RoomInfo};

/// What is held back in a Room.
fn held(info: &RoomInfo) -> Vec<Continuation> {
    info.room
        .metadata
        .get(CONTINUATION_KEY)
        .and_then(|held| serde_json::from_value(held.clone()).ok())
        .unwrap_or_default()
}

/// Whether a message asks for it, and for nothing else.
pub(super) fn is_asked(character: &Character, waiting: &Waiting, info: &RoomInfo) -> bool {
    !held(info).is_empty()
        && asks(&waiting.entry.memory.content.text, &character.name, character.username.as_deref())
}

fn asks(text: &str, name: &str, handle: Option<&str>) -> bool {
    let text = text.to_lowercase();
    let name = name.to_lowercase();
    let names: Vec<&str> = name.split_whitespace().collect();
    let words = text
        .split(|c: char| c.is_whitespace() || ",.:;!?/".contains(c))
        .filter(|word| !word.is_empty());
    let handle = handle.map(str::to_lowercase);
    let rest: Vec<&str> = words
        .filter(|word| {
            !word.starts_with(['@', '<'])
                && !names.contains(word)
                && handle.as_deref() != Some(*word)
        })
        .collect();
    matches!(rest.as_slice(), ["more"] | ["more", "please"])
}

/// Says the next parts.
pub(super) async fn go_on(
    engine: &Engine,
    place: &TurnPlace,
    waiting: Waiting,
    mut verdict: Verdict,
    visit: Visit,
) -> Result<()> {
    let mut outcome = Outcome::default();
    for held in held(&place.info) {
        // A version before this one held back files too, which are lost.
        if let Some(memory) = engine.store.memory(held.memory).await?
            && !lacks_file(&memory.content)
        {
            outcome.resumed.push((memory.content, held));
        }
    }
    if outcome.resumed.is_empty() {
        outcome.replies.push(Content::text("There is no more."));
    }
    verdict.decision = Decision::Command;
    verdict.step("continued", StepOutcome::Answer, "the rest of a long answer was asked for");
    let (room, memory, decision) = (place.info.room.id, waiting.entry.memory.id, verdict.decision);
    let context = TurnContext::new(engine, place, waiting.clone(), verdict.clone(), visit);
    commit(engine, &context, outcome, vec![(waiting, verdict)]).await?;
    engine.events.publish(Event::TurnDecided {
        agent: engine.view.identity.id(),
        room,
        turn: context.turn,
        memory,
        decision,
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_word_by_itself_asks_for_more() {
        for text in [
            "more",
            "More!",
            "/more",
            "@eliza_bot more",
            "Eliza, more please",
            "eliza_bot: more",
            "<@123> more",
        ] {
            assert!(asks(text, "Eliza", Some("eliza_bot")), "{text}");
        }
        for text in ["tell me more", "more or less", "Eliza", "", "more?, he said"] {
            assert!(!asks(text, "Eliza", Some("eliza_bot")), "{text}");
        }
    }
}
