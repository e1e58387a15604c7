//! Answers commands, the same on every platform, without a model.

mod block;
mod done;
mod export;
mod grant;
pub(crate) mod known;
pub(crate) mod link;
mod may;
mod memory;
mod mentions;
mod parts;
mod reminders;

use galatea_core::{
    COMMANDS, Content, MemoryId, MemoryKind, ParticipantState, Result, Store, Timestamp, Turn,
    speakers,
    store::{InboxState, MemoryQuery, RequestedChange},
    world,
};
use serde_json::{Map, json};

pub(crate) use self::{done::Done, may::may_change, parts::CommandParts};
use self::{done::say, grant::GrantParts, may::may_rule};

/// The command that asks for the rest of an answer.
pub(crate) const MORE: &str = "more";
/// The answer to [`MORE`] where nothing was held back.
pub(crate) const NOTHING: &str = "There is no more.";
/// Memories deleted in one commit: as many as in a step of [`Store::forget_ahead`].
const AT_ONCE: usize = 100;

/// Runs the command of the message; without one, shows the help.
pub(crate) async fn run(parts: &CommandParts<'_>, turn: &Turn<'_>) -> Result<Done> {
    let store = parts.store;
    let (name, args) =
        turn.envelope.command.as_ref().map_or(("help", ""), |c| (c.name.as_str(), c.args.as_str()));
    Ok(match name {
        "start" => say(greeting(turn)),
        "reset" if !may_rule(turn)? => say("Only admins of this group can reset the conversation."),
        "reset" => {
            let mut metadata = Map::new();
            metadata.insert("resetAt".into(), json!(reset_at(parts, turn).await?));
            Done {
                reply: Content::text(
                    "Done. I start this conversation afresh; what was said before is not shown to me any more.",
                ),
                effects: vec![RequestedChange::MergeRoomMetadata { room: turn.room.id, metadata }],
                ..Done::default()
            }
        }
        "mute" | "unmute" if !may_rule(turn)? => {
            say("Only admins of this group can mute or unmute me.")
        }
        "mute" => switch(
            turn,
            Some(ParticipantState::Muted),
            "I am silent here until a person sends /unmute.",
        ),
        "unmute" => switch(turn, None, "I am back."),
        "memory" => say(memory::run(turn, store, args).await?),
        "privacy" => privacy(store, turn, args).await?,
        "link" => link::run(parts, turn, args).await?,
        "unlink" => link::end(store, turn).await?,
        "reminders" => reminders::run(turn, store, args).await?,
        MORE => say(NOTHING),
        "block" | "unblock" => say(block::run(turn, store, name == "unblock", args).await?),
        "grant" => say(grant::add(&grants(parts), turn, args).await?),
        "revoke" => say(grant::remove(&grants(parts), turn, args).await?),
        _ => say(help(turn)),
    })
}

fn grants<'a>(parts: &'a CommandParts<'_>) -> GrantParts<'a> {
    GrantParts { store: parts.store, registry: parts.registry, known: parts.grants }
}

/// New start of the conversation: just behind the command, and behind what was said before it
/// but has a later time, since it has the machine's: a button that was pressed, for example, and its
/// answer. What waits for its own turn was said after the command.
async fn reset_at(parts: &CommandParts<'_>, turn: &Turn<'_>) -> Result<Timestamp> {
    let command = turn.message.created_at;
    let behind = |at: Timestamp| Timestamp(at.0.saturating_add(1));
    let query = MemoryQuery {
        since: Some(command),
        before: Some(behind(turn.now())),
        ..MemoryQuery::new(turn.agent.identity.id(), parts.conversation)
            .room(turn.room.id)
            .kind(MemoryKind::Messages)
    };
    for memory in parts.store.memories(&query).await? {
        let item = parts.store.inbox_item(memory.id).await?;
        if item.is_none_or(|item| item.state != InboxState::New) {
            return Ok(behind(memory.created_at));
        }
    }
    Ok(behind(command))
}

fn switch(turn: &Turn<'_>, state: Option<ParticipantState>, text: &str) -> Done {
    let effect = RequestedChange::SetParticipantState {
        room: turn.room.id,
        entity: turn.agent.identity.entity(),
        state,
    };
    Done { reply: Content::text(text), effects: vec![effect], ..Done::default() }
}

fn greeting(turn: &Turn<'_>) -> String {
    let person = speakers::name_in(turn.message).map(speakers::display);
    let own = turn.agent.character.greeting(person.as_deref().unwrap_or("you"));
    if let Some(own) = own.filter(|_| turn.room.kind.is_direct()) {
        return own;
    }
    format!("Hello, I am {}. Write to me, or send /help.", turn.agent.character.name)
}

fn help(turn: &Turn<'_>) -> String {
    let mut text = format!("I am {}.", turn.agent.character.name);
    if !turn.room.kind.is_direct() {
        text.push_str(" In groups I answer when you mention me, reply to me or call me by name.");
    }
    text.push('\n');
    for (name, about) in COMMANDS {
        text.push_str(&format!("\n/{name} – {about}"));
    }
    text
}

async fn privacy(store: &dyn Store, turn: &Turn<'_>, args: &str) -> Result<Done> {
    let agent = turn.agent.identity.id();
    let count = turn
        .store
        .count_memories(&MemoryQuery {
            entity: Some(turn.message.entity_id),
            ..MemoryQuery::new(agent, 1)
        })
        .await?;
    if args.trim().eq_ignore_ascii_case("export") {
        return export::run(store, turn).await;
    }
    if args.trim().eq_ignore_ascii_case("forget me") {
        // Most of it first, in small commits: others wait for no commit of 100,000 messages.
        let entity = turn.message.entity_id;
        // These are found by the names, which the commit deletes.
        let identity = &turn.agent.identity;
        let rooms = mentions::rooms(store, identity, &[entity]).await?;
        let of_others = mentions::of(store, identity, &[entity], &rooms).await?;
        let ids: Vec<MemoryId> = of_others.iter().map(|fact| fact.memory.id).collect();
        for ids in ids.chunks(AT_ONCE) {
            store.delete_memories(agent, ids).await?;
        }
        let ahead = store.forget_ahead(agent, entity).await?;
        if ahead > 0 {
            tracing::info!(turn = %turn.id, deleted = ahead, "deleted most of what a person wrote and was answered; the turn's commit forgets the rest");
        }
        // Together with the turn: what is said is done.
        // What waits for an answer goes first: a confirmation in between finds nothing to confirm.
        let (mut effects, linked) = link::forget(store, turn).await?;
        effects.push(RequestedChange::ForgetPerson { entity });
        let others = count.saturating_sub(1);
        let text = format!(
            "Done. I deleted this command and {others} other messages of yours and notes about you, what I answered you, and your names.{linked} \
             What stays are numbers without words: the platform's for this chat, which in a private chat may be your own, and for messages. \
             With them I can answer you if you write again, and answer no message twice."
        );
        return Ok(Done { reply: Content::text(text), effects, ..Done::default() });
    }
    let kept = turn.world.and_then(|world| Some((world, world.retention_days()?))).map_or_else(
        String::new,
        |(world, days)| {
            format!(
                " Messages in all rooms of {} are deleted after {}, with what I noted from them.",
                speakers::display(&world.name),
                world::days(days)
            )
        },
    );
    Ok(say(format!(
        "I store what is written where I can read it, to follow the conversation: {count} of your messages so far. \
         They stay on the machine that runs me and are shown to my language model when I answer.{kept}\n\n\
         Send /privacy export in a direct chat to get a copy of it, /privacy forget me to delete everything you wrote to me, what I answered and your names, everywhere; the platform's numbers of chats and messages stay."
    )))
}
