//! Link: a person says on two platforms that they are the same. What is private to them is then seen
//! in the direct Rooms of both, and nowhere else.

use galatea_core::{
    Address, Button, Content, EntityId, Press, Result, RoomId, Turn, speakers,
    store::{MOST_LINKED, RequestedChange},
};

use super::{Done, say};
use crate::{
    linking::{self, LIFE, Question},
    turn::{act::pending, engine::Engine},
};

const ELSEWHERE: &str = "That works in a direct chat with me only. A code that was shown here should not be used any more: send /link there to get a new one.";
const UNKNOWN: &str = "That code is not valid: it is wrong, was used already, or is older than ten minutes. Send /link on the other platform to get a new one.";

/// `/link`, `/link CODE`, `/link yes` and `/link no`.
pub(super) async fn run(engine: &Engine, turn: &Turn<'_>, args: &str) -> Result<Done> {
    if !turn.room.kind.is_direct() {
        return Ok(say(ELSEWHERE));
    }
    match args.trim().to_lowercase().as_str() {
        "" => code(engine, turn).await,
        word @ ("yes" | "no") => {
            let waits = |question: &Question| question.room == turn.room.id;
            let Some(question) = mine(engine, turn, waits).await? else {
                return Ok(say("I have not asked you anything. Send /link to get a code."));
            };
            decide(engine, turn, &question, word == "yes").await
        }
        sent => redeem(engine, turn, sent).await,
    }
}

/// The answer to a question by its word or button. None if none of this word waits here.
pub(in crate::turn) async fn answer(
    engine: &Engine,
    turn: &Turn<'_>,
    answer: &pending::Answer,
) -> Result<Option<Done>> {
    let named = |question: &Question| question.room == turn.room.id && question.word == answer.code;
    match mine(engine, turn, named).await? {
        Some(question) => decide(engine, turn, &question, answer.yes).await.map(Some),
        None => Ok(None),
    }
}

/// `/unlink`: this side is a person of its own again.
pub(super) async fn end(engine: &Engine, turn: &Turn<'_>) -> Result<Done> {
    let (agent, entity) = (turn.agent.identity.id(), turn.message.entity_id);
    let linked = engine.store.linked(agent, entity).await?;
    let mut effects = linking::withdraw(&*engine.store, agent, entity).await?;
    if linked.is_empty() {
        let reply = Content::text("You are not linked with anything. I dropped open codes, too.");
        return Ok(Done { reply, effects, ..Done::default() });
    }
    effects.push(RequestedChange::Unlink { entity });
    let reply = Content::text(format!(
        "Done: here you are a person of your own again, no longer {}.",
        names(engine, &linked).await?
    ));
    Ok(Done { reply, effects, ..Done::default() })
}

/// What `/privacy forget me` drops besides, and what it says of the other side.
pub(super) async fn forget(
    engine: &Engine,
    turn: &Turn<'_>,
) -> Result<(Vec<RequestedChange>, String)> {
    let (agent, entity) = (turn.agent.identity.id(), turn.message.entity_id);
    let linked = engine.store.linked(agent, entity).await?;
    let effects = linking::withdraw(&*engine.store, agent, entity).await?;
    let said = if linked.is_empty() {
        String::new()
    } else {
        format!(
            " You were linked with {}; that has ended. What I store of you there is still there: send /privacy forget me there to delete it, too.",
            names(engine, &linked).await?
        )
    };
    Ok((effects, said))
}

async fn code(engine: &Engine, turn: &Turn<'_>) -> Result<Done> {
    let (agent, entity) = (turn.agent.identity.id(), turn.message.entity_id);
    let (code, effects) =
        linking::code(&*engine.store, agent, entity, turn.room.id, turn.now()).await?;
    let linked = engine.store.linked(agent, entity).await?;
    let known = if linked.is_empty() {
        String::new()
    } else {
        format!("You are linked with {}. /unlink ends it.\n\n", names(engine, &linked).await?)
    };
    let minutes = LIFE.as_secs() / 60;
    let reply = Content::text(format!(
        "{known}Your code is {code}. Within {minutes} minutes, send me /link {code} in a direct chat on the other platform. I then ask you here to confirm. Show the code to no other person."
    ));
    Ok(Done { reply, effects, ..Done::default() })
}

async fn redeem(engine: &Engine, turn: &Turn<'_>, sent: &str) -> Result<Done> {
    let (agent, entity, now) = (turn.agent.identity.id(), turn.message.entity_id, turn.now());
    let store = &*engine.store;
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
    if union(engine, turn, entity, code.owner).await?.len() > MOST_LINKED {
        return Ok(say(format!(
            "One person can be linked on {MOST_LINKED} accounts at most. Send /unlink on one of them first."
        )));
    }
    let Some(address) = address(engine, code.room).await? else { return Ok(say(UNKNOWN)) };
    if engine.outbox.routes.ready(&address.source, &address.account).is_none() {
        return Ok(say("I cannot reach the other platform at the moment. Please try again later."));
    }
    if !linking::take(store, agent, &code).await? {
        return Ok(say(UNKNOWN));
    }
    let question = Question::new(agent, &code, entity, turn.room.id, now);
    let asked = ask(&question, &names(engine, &[entity]).await?);
    let reply = format!(
        "I have asked {} to confirm that you are the same person. Until then nothing changes. If that is not you, send /unlink.",
        names(engine, &[code.owner]).await?
    );
    Ok(Done {
        reply: Content::text(reply),
        told: vec![(address, asked)],
        effects: vec![question.save(agent)],
    })
}

fn ask(question: &Question, who: &str) -> Content {
    let button = |text: &str, said: &str| Button {
        text: text.to_owned(),
        press: Press::Data(format!("{said}-{}", question.word)),
    };
    Content {
        buttons: vec![vec![button("Yes, that is me", "ok"), button("No", "no")]],
        ..Content::text(format!(
            "{who} sent your code and says that you are the same person. If that is you, send `/link yes`: what I know of you privately is then also seen in my direct chat with {who}. If it is not, send `/link no`. I wait {} minutes.",
            LIFE.as_secs() / 60
        ))
    }
}

async fn decide(engine: &Engine, turn: &Turn<'_>, question: &Question, yes: bool) -> Result<Done> {
    let other = names(engine, &[question.other]).await?;
    let mut effects = vec![question.delete()];
    if turn.now() >= question.until {
        let reply = Content::text("That was too long ago. Send /link to begin again.");
        return Ok(Done { reply, effects, ..Done::default() });
    }
    let own = names(engine, &[question.owner]).await?;
    let (reply, told) = if yes {
        let entities = union(engine, turn, question.owner, question.other).await?;
        if entities.len() > MOST_LINKED {
            return Ok(Done { effects, ..say("You are linked on too many accounts by now.") });
        }
        effects.push(RequestedChange::LinkPeople { entities });
        (
            format!("Done: you and {other} are one person to me. /unlink ends it, on either side."),
            format!(
                "{own} has confirmed: you are one person to me, there and here. /unlink ends it, on either side."
            ),
        )
    } else {
        (
            "Then nothing has changed.".to_owned(),
            format!("{own} did not confirm that you are the same person, so nothing has changed."),
        )
    };
    let there = address(engine, question.other_room).await?;
    let told = there.map(|there| (there, Content::text(told))).into_iter().collect();
    Ok(Done { reply: Content::text(reply), told, effects })
}

/// The question that waits for the person who writes.
async fn mine(
    engine: &Engine,
    turn: &Turn<'_>,
    which: impl Fn(&Question) -> bool,
) -> Result<Option<Question>> {
    let entity = turn.message.entity_id;
    let questions = Question::of(&*engine.store, turn.agent.identity.id(), entity).await?;
    Ok(questions.into_iter().find(|question| question.owner == entity && which(question)))
}

/// Two entities and all that are linked with either.
async fn union(
    engine: &Engine,
    turn: &Turn<'_>,
    one: EntityId,
    other: EntityId,
) -> Result<Vec<EntityId>> {
    let agent = turn.agent.identity.id();
    let mut all = vec![one, other];
    all.extend(engine.store.linked(agent, one).await?);
    all.extend(engine.store.linked(agent, other).await?);
    all.sort_by_key(|entity| entity.0);
    all.dedup();
    Ok(all)
}

async fn address(engine: &Engine, room: RoomId) -> Result<Option<Address>> {
    let info = engine.directory.rooms.load(engine.store.as_ref(), room).await?;
    Ok(info.map(|info| Address {
        source: info.room.source.clone(),
        account: info.room.account.clone(),
        room: info.room.id,
        remote: info.room.remote.clone(),
    }))
}

/// Names with their platforms, such as "Ann (telegram)".
async fn names(engine: &Engine, entities: &[EntityId]) -> Result<String> {
    let known = engine.store.entities(entities).await?;
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
