//! Lets a person say on two platforms that they are the same. What is private to them is then seen
//! in the direct Rooms of both, and nowhere else.

use galatea_core::{
    Address, Button, Content, EntityId, Press, Result, RoomId, Store, Turn, speakers,
    store::{MOST_LINKED, RequestedChange},
};

use super::{
    done::{Done, say},
    parts::CommandParts,
};
use crate::{
    directory::Directory,
    linking::{self, LIFE, LinkStep, Question, Side},
};

const ELSEWHERE: &str = "That works in a direct chat with me only.";
const SHOWN: &str =
    "A code that was shown here should not be used any more: send /link there to get a new one.";
const NOTHING_ASKED: &str = "I have not asked you anything, or the question is open no more. Nothing has changed. Send /link to get a code.";
const HOW: &str = "Send /link to get a code, or /link and the code that I showed you on the other platform. /link yes and /link no answer my question.";
const UNKNOWN: &str = "That code is not valid: it is wrong, was used already, or is older than ten minutes. Send /link on the other platform to get a new one.";

/// `/link`, `/link CODE`, `/link yes` and `/link no`.
pub(super) async fn run(parts: &CommandParts<'_>, turn: &Turn<'_>, args: &str) -> Result<Done> {
    if !turn.room.kind.is_direct() {
        let warning = linking::looks_like_code(args);
        return Ok(say(if warning {
            format!("{ELSEWHERE} {SHOWN}")
        } else {
            ELSEWHERE.to_owned()
        }));
    }
    let store = parts.store;
    match args.trim().to_lowercase().as_str() {
        "" => code(store, turn).await,
        word @ ("yes" | "no") => {
            let mut waiting = mine(store, turn).await?;
            match (waiting.pop(), waiting.is_empty()) {
                (None, _) => Ok(say(NOTHING_ASKED)),
                (Some(question), true) => {
                    decide(store, parts.directory, turn, &question, word == "yes").await
                }
                // The word does not say which of them it answers.
                (Some(last), false) => Ok(Done {
                    effects: waiting.iter().chain([&last]).map(Question::delete).collect(),
                    ..say(
                        "I had asked you more than one question, so I dropped them all. Send /link to begin again.",
                    )
                }),
            }
        }
        sent if linking::looks_like_code(sent) => redeem(parts, turn, sent).await,
        _ => Ok(say(HOW)),
    }
}

/// The answer to a question by its word or button. None if none of this word waits here.
pub(crate) async fn answer(
    store: &dyn Store,
    directory: &Directory,
    turn: &Turn<'_>,
    word: &str,
    yes: bool,
) -> Result<Option<Done>> {
    let waiting = mine(store, turn).await?;
    match waiting.into_iter().find(|question| question.word == word) {
        Some(question) => decide(store, directory, turn, &question, yes).await.map(Some),
        None => Ok(None),
    }
}

/// `/unlink`: this side is a person of its own again.
pub(super) async fn end(store: &dyn Store, turn: &Turn<'_>) -> Result<Done> {
    let (agent, entity) = (turn.agent.identity.id(), turn.message.entity_id);
    let linked = store.linked(agent, entity).await?;
    let mut effects = linking::withdraw(store, agent, entity).await?;
    // Also without a link: the other side may be confirming one at this moment.
    effects.push(RequestedChange::Unlink { entity });
    if linked.is_empty() {
        let reply = Content::text("You are not linked with anything. I dropped open codes, too.");
        return Ok(Done { reply, effects, ..Done::default() });
    }
    // Members of a group need not know who the person is elsewhere.
    let reply = if turn.room.kind.is_direct() {
        format!(
            "Done: here you are a person of your own again, no longer {}.",
            names(store, &linked).await?
        )
    } else {
        "Done: here you are a person of your own again.".to_owned()
    };
    Ok(Done { effects, ..say(reply) })
}

/// Codes and questions that `/privacy forget me` drops, and its words about the other side.
pub(super) async fn forget(
    store: &dyn Store,
    turn: &Turn<'_>,
) -> Result<(Vec<RequestedChange>, String)> {
    let (agent, entity) = (turn.agent.identity.id(), turn.message.entity_id);
    let linked = store.linked(agent, entity).await?;
    let effects = linking::withdraw(store, agent, entity).await?;
    let said = if linked.is_empty() {
        String::new()
    } else if !turn.room.kind.is_direct() {
        " Links of this account have ended. What I store of you elsewhere is still there: send /privacy forget me there to delete it, too.".to_owned()
    } else {
        format!(
            " You were linked with {}; that has ended. What I store of you there is still there: send /privacy forget me there to delete it, too.",
            names(store, &linked).await?
        )
    };
    Ok((effects, said))
}

async fn code(store: &dyn Store, turn: &Turn<'_>) -> Result<Done> {
    let (agent, entity) = (turn.agent.identity.id(), turn.message.entity_id);
    let (code, effects) = linking::code(store, agent, entity, turn.room.id, turn.now()).await?;
    let linked = store.linked(agent, entity).await?;
    let known = if linked.is_empty() {
        String::new()
    } else {
        format!("You are linked with {}. /unlink ends it.\n\n", names(store, &linked).await?)
    };
    let minutes = LIFE.as_secs() / 60;
    let reply = Content::text(format!(
        "{known}Your code is {code}. Within {minutes} minutes, send me /link {code} in a direct chat on the other platform. I then ask there first, and you here. Show the code to no other person."
    ));
    Ok(Done { reply, effects, ..Done::default() })
}

async fn redeem(parts: &CommandParts<'_>, turn: &Turn<'_>, sent: &str) -> Result<Done> {
    let (agent, entity, now) = (turn.agent.identity.id(), turn.message.entity_id, turn.now());
    let store = parts.store;
    if linking::is_blocked(store, agent, entity, now).await? {
        return Ok(say("Too many of your codes were wrong. Please try again in ten minutes."));
    }
    let Some(code) = linking::find(store, agent, sent, now).await? else {
        linking::count_wrong(store, agent, entity, now).await?;
        return Ok(say(UNKNOWN));
    };
    if code.owner == entity {
        return Ok(say("That is your own code. Send it to me on the other platform."));
    }
    let linked = store.linked(agent, entity).await?;
    if linked.contains(&code.owner) {
        return Ok(say("You are linked already. /unlink ends it."));
    }
    let owner = Side::of(store, agent, code.owner, code.room).await?;
    let sender = Side::of(store, agent, entity, turn.room.id).await?;
    let question = Question::new(agent, owner, sender, now);
    if question.accounts().len() > MOST_LINKED {
        return Ok(say(format!(
            "One person can be linked on {MOST_LINKED} accounts at most. Send /unlink on one of them first."
        )));
    }
    let Some(address) = address(store, parts.directory, code.room).await? else {
        return Ok(say(UNKNOWN));
    };
    if parts.outbox.routes.ready(&address.source, &address.account).is_none() {
        return Ok(say("I cannot reach the other platform at the moment. Please try again later."));
    }
    if !linking::take(store, agent, &code).await? {
        return Ok(say(UNKNOWN));
    }
    // A later question takes the place of one that waits here.
    let before = mine(store, turn).await?;
    let mut effects: Vec<RequestedChange> = before.iter().map(Question::delete).collect();
    effects.push(question.save(agent));
    Ok(Done { reply: ask(store, &question).await?, effects, ..Done::default() })
}

/// Question to a side: with whom it would be one person, on all accounts.
async fn ask(store: &dyn Store, question: &Question) -> Result<Content> {
    let (asked, other) = question.sides();
    let (who, all) = (names(store, &[other.entity]).await?, names(store, &other.accounts).await?);
    let own: Vec<EntityId> =
        asked.accounts.iter().copied().filter(|account| *account != asked.entity).collect();
    let linked = if own.is_empty() {
        String::new()
    } else {
        format!(" The same holds for your linked accounts: {}.", names(store, &own).await?)
    };
    let here = names(store, &[asked.entity]).await?;
    let begin = match question.step {
        LinkStep::SenderAsked => format!(
            "This is a code of {who}. Is {who} the same person as {here}? {all} would then see what {here} told me privately. If another person gave you the code, do not agree."
        ),
        LinkStep::OwnerAsked => format!(
            "{who} sent the code of {here} and says that both are the same person. {all} would then see what {here} told me privately."
        ),
    };
    let button = |text: &str, said: &str| Button {
        text: text.to_owned(),
        press: Press::Data(format!("{said}-{}", question.word)),
    };
    Ok(Content {
        buttons: vec![vec![button("Yes, that is me", "ok"), button("No", "no")]],
        ..Content::text(format!(
            "{begin}{linked} If that is you, send `/link yes`. If it is not, send `/link no`. I wait {} minutes.",
            LIFE.as_secs() / 60
        ))
    })
}

async fn decide(
    store: &dyn Store,
    directory: &Directory,
    turn: &Turn<'_>,
    question: &Question,
    yes: bool,
) -> Result<Done> {
    let agent = turn.agent.identity.id();
    let dropped = |text: &str| Done { effects: vec![question.delete()], ..say(text) };
    if turn.now() >= question.until {
        return Ok(dropped("That was too long ago. Send /link to begin again."));
    }
    let (asked, other) = question.sides();
    let (own, others) =
        (names(store, &[asked.entity]).await?, names(store, &[other.entity]).await?);
    let there = address(store, directory, other.room).await?;
    let to_other = |text: Content| there.map(|there| (there, text)).into_iter().collect();
    if !yes {
        let text = format!(
            "{own} did not confirm to be the same person as {others}, so nothing has changed."
        );
        let notices = to_other(Content::text(text));
        return Ok(Done { notices, ..dropped("Then nothing has changed.") });
    }
    if !question.stands(store, agent).await? {
        return Ok(dropped(
            "One of you has linked or unlinked an account meanwhile, so nothing has changed. Send /link to begin again.",
        ));
    }
    match question.step {
        LinkStep::SenderAsked => {
            let reply = format!(
                "I have asked {others} to confirm, too. Until then nothing changes. To take it back, send /unlink."
            );
            let next = question.clone().agreed(turn.now());
            let notices = to_other(ask(store, &next).await?);
            Ok(Done { notices, effects: vec![next.save(agent)], ..say(reply) })
        }
        LinkStep::OwnerAsked => {
            let notices = to_other(Content::text(format!(
                "{own} has confirmed: {own} and {others} are one person to me. /unlink ends it, on either side."
            )));
            let reply = format!(
                "Done: {own} and {others} are one person to me. /unlink ends it, on either side."
            );
            Ok(Done { notices, effects: vec![question.link()], ..say(reply) })
        }
    }
}

/// The questions that wait here for the person who writes.
async fn mine(store: &dyn Store, turn: &Turn<'_>) -> Result<Vec<Question>> {
    let entity = turn.message.entity_id;
    let mut questions = Question::of(store, turn.agent.identity.id(), entity).await?;
    questions.retain(|question| {
        let (asked, _) = question.sides();
        asked.entity == entity && asked.room == turn.room.id
    });
    Ok(questions)
}

async fn address(
    store: &dyn Store,
    directory: &Directory,
    room: RoomId,
) -> Result<Option<Address>> {
    let info = directory.rooms.load(store, room).await?;
    Ok(info.map(|info| Address {
        source: info.room.source.clone(),
        account: info.room.account.clone(),
        room: info.room.id,
        remote: info.room.remote.clone(),
    }))
}

/// Names with their platforms, such as "Ann (telegram)".
async fn names(store: &dyn Store, entities: &[EntityId]) -> Result<String> {
    let known = store.entities(entities).await?;
    let names: Vec<String> = known
        .iter()
        .map(|entity| {
            let name = speakers::display(&entity.display_name());
            let platform = entity.metadata.iter().find(|(_, value)| value.get("id").is_some());
            match platform {
                Some((platform, _)) => format!("{name} ({platform})"),
                None => name,
            }
        })
        .collect();
    Ok(if names.is_empty() { "another account".to_owned() } else { names.join(", ") })
}
