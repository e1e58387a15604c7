//! The rest of an answer that was too long to be said at once, when the person who asked asks for it:
//! by a word, in a reply, by the command or by the button.

use galatea_core::{Character, Content, Decision, Event, Result, StepOutcome, Timestamp, Verdict};

use super::{
    commit::commit,
    context::{TurnContext, TurnPlace},
    engine::Engine,
    message::Waiting,
    spelling::{folded, is_word},
};
use crate::{
    budget::Visit,
    commands,
    directory::RoomInfo,
    turn::commit::{
        held::{self, Held},
        memories::lacks_file,
        outcome::Outcome,
    },
};

/// Words that ask for it, folded: those of the languages most spoken on the platforms.
const WORDS: &[&str] = &[
    "more",
    "continue",
    "go on",
    "read on",
    "keep going",
    "mehr",
    "weiter",
    "weiterlesen",
    "suite",
    "la suite",
    "encore",
    "continuer",
    "mas",
    "sigue",
    "continua",
    "continuar",
    "mais",
    "ancora",
    "avanti",
    "meer",
    "verder",
    "ga door",
    "mer",
    "fortsatt",
    "fortsaet",
    "mere",
    "lisaa",
    "jatka",
    "wiecej",
    "dalej",
    "vice",
    "dal",
    "pokracuj",
    "mai mult",
    "tovabb",
    "еще",
    "дальше",
    "продолжаи",
    "продолжение",
    "ще",
    "далі",
    "продовжуи",
    "daha",
    "devam",
    "devam et",
    "περισσοτερα",
    "συνεχεια",
    "اكمل",
    "المزيد",
    "תמשיך",
    "המשך",
    "עוד",
    "और",
    "आगे",
    "them",
    "tiep",
    "tiep tuc",
    "lagi",
    "lanjut",
    "lanjutkan",
    "もっと",
    "続き",
    "つづき",
    "続けて",
    "继续",
    "更多",
    "接着说",
    "繼續",
    "더",
    "계속",
    "ต่อ",
    "เพิ่มเติม",
];
/// Words beside them that change nothing, folded.
const POLITE: &[&str] = &[
    "please",
    "pls",
    "yes",
    "ok",
    "okay",
    "and",
    "bitte",
    "ja",
    "svp",
    "stp",
    "oui",
    "por",
    "favor",
    "si",
    "sim",
    "per",
    "favore",
    "graag",
    "tak",
    "tack",
    "prosze",
    "пожалуиста",
    "да",
    "lutfen",
    "요",
    "주세요",
    "해줘",
    "お願い",
    "请",
    "請",
];

/// Relation of a message to answers held back in its Room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum More {
    /// It does not ask for it.
    NotAsked,
    /// The person who asked the question asks for the rest of the answer.
    Asked,
    /// Another person pressed the button.
    OfAnother,
    /// The button of an answer of which nothing is held back any more.
    Gone,
}

/// Finds out if a message asks for the rest of an answer.
pub(super) fn asked(
    character: &Character,
    waiting: &Waiting,
    info: &RoomInfo,
    now: Timestamp,
) -> More {
    let (envelope, memory) = (&waiting.entry.envelope, &waiting.entry.memory);
    let held = || held::read(&info.room.metadata, now);
    if let Some(data) = &envelope.pressed {
        let Some(answer) = held::pressed(data) else { return More::NotAsked };
        let has = |held: &&Held| held.answers.iter().any(|held| held.memory == answer);
        return match held().iter().find(has) {
            Some(held) if held.asker == memory.entity_id => More::Asked,
            Some(_) => More::OfAnother,
            None => More::Gone,
        };
    }
    let by_command =
        envelope.command.as_ref().is_some_and(|command| command.name == commands::MORE);
    let names = [Some(character.name.as_str()), character.username.as_deref()];
    if !by_command && !asks(&memory.content.text, &names) {
        return More::NotAsked;
    }
    // After another answer the word alone may mean that.
    let fresh = |held: &Held| by_command || envelope.addressed.reply || !held.stale;
    let mine = |held: &Held| held.asker == memory.entity_id && fresh(held);
    if held().iter().any(mine) { More::Asked } else { More::NotAsked }
}

fn asks(text: &str, names: &[Option<&str>]) -> bool {
    // Longer texts say something else.
    if text.chars().count() > 80 {
        return false;
    }
    let names: Vec<String> = names
        .iter()
        .flatten()
        .flat_map(|name| folded(name).split(|c| !is_word(c)).map(str::to_owned).collect::<Vec<_>>())
        .filter(|name| !name.is_empty())
        .collect();
    let text = folded(text);
    let said: Vec<&str> = text
        .split_whitespace()
        .filter(|word| !word.starts_with(['@', '<']))
        .flat_map(|word| word.split(|c: char| ",.:;!?/\"'()[]…、。，！？“”„«»-".contains(c)))
        .filter(|word| !word.is_empty())
        .filter(|word| !POLITE.contains(word))
        .filter(|word| {
            !names.iter().any(|name| {
                name == word || word.split('_').any(|part| part == name) && word.contains('_')
            })
        })
        .collect();
    WORDS.contains(&said.join(" ").as_str())
}

/// Says the next parts.
pub(super) async fn go_on(
    engine: &Engine,
    place: &TurnPlace,
    waiting: Waiting,
    mut verdict: Verdict,
    visit: Visit,
) -> Result<()> {
    let entry = &waiting.entry;
    let answer = entry.envelope.pressed.as_deref().and_then(held::pressed);
    let mut outcome = Outcome::default();
    let held = held::read(&place.info.room.metadata, engine.clock.now());
    let mine = held.into_iter().filter(|held| held.asker == entry.memory.entity_id);
    for part in mine.flat_map(|held| held.answers) {
        if answer.is_some_and(|answer| answer != part.memory) && outcome.resumed.is_empty() {
            continue;
        }
        // A version before this one held back files too, which are lost.
        if let Some(memory) = engine.store.memory(part.memory).await?
            && !lacks_file(&memory.content)
        {
            outcome.resumed.push((memory.content, part));
        }
    }
    if outcome.resumed.is_empty() {
        outcome.replies.push(Content::text(commands::NOTHING));
    }
    verdict.decision = Decision::Command;
    verdict.step("continued", StepOutcome::Answer, "the rest of a long answer was asked for");
    let (room, memory, decision) = (place.info.room.id, entry.memory.id, verdict.decision);
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

    fn of(text: &str) -> bool {
        asks(text, &[Some("Eliza Day"), Some("eliza_bot")])
    }

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
            "MEHR",
            "weiter bitte",
            "más",
            "Encore !",
            "Ещё",
            "продолжай",
            "もっと",
            "继续",
            "계속",
            "devam",
            "“more”",
            "more 🙂",
            "go on",
            "Eliza Day: read on.",
            "więcej",
            "la suite",
            "mai mult",
            "thêm",
        ] {
            assert!(of(text), "{text}");
        }
        for text in [
            "tell me more",
            "more or less",
            "Eliza",
            "",
            "more?, he said",
            "please",
            "no more",
            "more of the second one",
            "/more@other_bot",
            "moreover",
        ] {
            assert!(!of(text), "{text}");
        }
    }

    #[test]
    fn the_lists_are_folded() {
        for word in WORDS.iter().chain(POLITE) {
            assert_eq!(folded(word), *word);
        }
    }
}
