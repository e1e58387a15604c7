//! The people that a turn answers, how a Room relates to them, and whose words are in the prompt.

use crate::{
    error::Result,
    ids::{EntityId, RoomId},
    memory::Memory,
    rights::{Authorship, Site, Standing, TAINTED, has_roles, owners, role},
    room::{ChannelType, Room},
    turn::Turn,
    world::{Role, World},
};

/// True if all people whom a turn answers are owners of the agent.
///
/// # Errors
/// `Invalid` for a list that cannot be read.
pub fn owns_agent(turn: &Turn<'_>) -> Result<bool> {
    let owners = owners_here(turn)?;
    Ok(speakers(turn).all(|speaker| owners.contains(&speaker)))
}

/// The owners of the agent on the platform of the Room.
fn owners_here(turn: &Turn<'_>) -> Result<Vec<EntityId>> {
    let listed = owners(&turn.agent.settings, turn.room.source.as_str())?;
    let identity = &turn.agent.identity;
    Ok(listed.iter().map(|id| EntityId(identity.swizzle(&id.to_string()))).collect())
}

/// The people whom a turn answers, once for each message.
pub fn speakers<'a>(turn: &'a Turn<'_>) -> impl Iterator<Item = EntityId> + 'a {
    turn.merged.iter().chain(std::iter::once(turn.message)).map(|m| m.entity_id)
}

/// The lowest role among the people whom a turn answers.
pub fn of_speaker(turn: &Turn<'_>) -> Role {
    speakers(turn).map(|speaker| role(turn.world, speaker)).min().unwrap_or(Role::None)
}

/// Role in a World of the people who are being answered: the least of them counts.
///
/// # Errors
/// `Invalid` for a list of owners that cannot be read.
pub fn standing(turn: &Turn<'_>, world: Option<&World>) -> Result<Standing> {
    if owns_agent(turn)? {
        return Ok(Standing::AgentOwner);
    }
    Ok(speakers(turn).map(|speaker| role(world, speaker)).min().unwrap_or(Role::None).into())
}

/// Role in a World of the people whose conversation the model reads: the most of them counts.
/// Actions are offered by it, so that the beginning of prompts stays the same while people of different
/// roles talk. Whether one is done depends on [`standing`].
///
/// # Errors
/// `Invalid` for a list of owners that cannot be read.
pub fn highest_present(turn: &Turn<'_>) -> Result<Standing> {
    let owners = owners_here(turn)?;
    if owners.is_empty() && !has_roles(turn.world) {
        // The case of most private chats: no need to look at who speaks.
        return Ok(Role::None.into());
    }
    let own = turn.agent.identity.entity();
    let others = turn.recent.iter().map(|m| m.entity_id).filter(|entity| *entity != own);
    let mut present: Vec<EntityId> = speakers(turn).chain(others).collect();
    present.sort_unstable();
    present.dedup();
    if present.iter().any(|entity| owners.contains(entity)) {
        return Ok(Standing::AgentOwner);
    }
    let roles = present.into_iter().map(|entity| role(turn.world, entity));
    Ok(roles.max().unwrap_or(Role::None).into())
}

/// Position of a Room for the people who are being answered.
///
/// # Errors
/// Whatever the store says.
pub async fn site(turn: &Turn<'_>, room: &Room) -> Result<Site> {
    if room.id == turn.room.id {
        return Ok(if room.kind.is_direct() { Site::Private } else { Site::Group });
    }
    let speakers = || speakers(turn);
    if !room.kind.is_direct() {
        let there = turn.store.participants(room.id).await?;
        let joined = speakers().all(|speaker| there.iter().any(|p| p.entity_id == speaker));
        return Ok(if joined { Site::Joined } else { Site::Foreign });
    }
    if room.kind != ChannelType::Dm {
        return Ok(Site::OthersPrivate);
    }
    // If a platform gives a private room the person's own id, that id identifies it.
    if speakers().all(|speaker| RoomId(speaker.0) == room.id) {
        return Ok(Site::OwnPrivate);
    }
    // Elsewhere it has another id: it is theirs if only they and the agent take part.
    let (there, own) = (turn.store.participants(room.id).await?, turn.agent.identity.entity());
    let alone = |speaker: EntityId| {
        there.iter().any(|p| p.entity_id == speaker)
            && there.iter().all(|p| [own, speaker].contains(&p.entity_id))
    };
    Ok(if speakers().all(alone) { Site::OwnPrivate } else { Site::OthersPrivate })
}

/// Authors of the words in the prompt besides those of the one person who is being answered and the
/// agent's own: other speakers, what the conversation holds of others, what is quoted, files, facts
/// and documents. In a group always others': names and titles are theirs.
pub fn authorship(turn: &Turn<'_>) -> Authorship {
    let others = |memory: &Memory| holds_others(turn, memory);
    let quoted = turn.envelope.reply_to.is_some()
        && !turn.envelope.addressed.reply
        && turn.envelope.pressed.is_none();
    let shown = turn
        .recent
        .iter()
        .map(AsRef::as_ref)
        .chain(turn.merged)
        .chain(std::iter::once(turn.message));
    let composed = || {
        turn.state.fragments.iter().any(|(_, fragment)| {
            fragment.authorship == Authorship::Others && !fragment.text.trim().is_empty()
        })
    };
    if !turn.room.kind.is_direct() || quoted || shown.into_iter().any(others) || composed() {
        Authorship::Others
    } else {
        Authorship::Own
    }
}

/// True if a memory contains words of people other than the person answered and the agent.
pub fn holds_others(turn: &Turn<'_>, memory: &Memory) -> bool {
    let (speaker, itself) = (turn.message.entity_id, turn.agent.identity.entity());
    (memory.entity_id != speaker && memory.entity_id != itself)
        || !memory.content.attachments.is_empty()
        || memory.content.quotes.iter().any(|quote| !quote.own)
        || memory.metadata.keys().any(|key| key == TAINTED || carries(key))
        || memory.content.extra.keys().any(|key| carries(key))
}

/// True if a connector keeps with this key a message that another one replies to, quotes or forwards.
fn carries(key: &str) -> bool {
    ["quote", "forward", "replyTo"].iter().any(|start| key.starts_with(start))
}
