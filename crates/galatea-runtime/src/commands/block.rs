//! Lets owners say in a chat who is never answered. The same list as that of `galatea block`.

use galatea_core::{
    EntityId, RemoteId, Result, Store, Turn,
    store::{Block, BlockKind},
};

use crate::config;

const HOW: &str = "Reply to a message of theirs with /block, or send /block @handle, /block ID, /block room or /block world. /unblock ends it.";

/// Blocks or unblocks; gives what to say.
pub(super) async fn run(
    turn: &Turn<'_>,
    store: &dyn Store,
    unblock: bool,
    args: &str,
) -> Result<String> {
    if !is_owner(turn)? {
        return Ok("Only my owners can do that.".to_owned());
    }
    let Some((kind, remote)) = target(turn, store, args).await? else { return Ok(HOW.to_owned()) };
    let (agent, source) = (turn.agent.identity.id(), turn.room.source.clone());
    let shown = format!("{} {remote}", kind.as_str());
    if unblock {
        let removed = store.unblock(agent, &source, kind, &remote).await?;
        return Ok(if removed {
            format!("I answer {shown} again.")
        } else {
            format!("{shown} is not on my list. Settings may block besides.")
        });
    }
    store
        .block(&Block {
            agent,
            source,
            kind,
            remote,
            reason: "by an owner".to_owned(),
            at: turn.now(),
        })
        .await?;
    Ok(format!("I do not answer {shown} any more."))
}

/// By settings and the platform's id, never by what text claims.
fn is_owner(turn: &Turn<'_>) -> Result<bool> {
    let owners = config::owners(&turn.agent.settings)?;
    let mut here = owners
        .iter()
        .filter(|(source, _)| source.as_str().eq_ignore_ascii_case(turn.room.source.as_str()));
    Ok(here.any(|(_, id)| EntityId(turn.agent.identity.swizzle(id)) == turn.message.entity_id))
}

/// The target: what the arguments name, else the author of the message that is replied to.
async fn target(
    turn: &Turn<'_>,
    store: &dyn Store,
    args: &str,
) -> Result<Option<(BlockKind, RemoteId)>> {
    Ok(match args.trim() {
        "" => {
            let Some(replied) = &turn.envelope.reply_to else { return Ok(None) };
            let found =
                store.inbox_by_remote(&turn.room.source, Some(&turn.room.remote), replied).await?;
            found
                .into_iter()
                .find_map(|item| item.entry.envelope.entity_remote)
                .map(|id| (BlockKind::Person, id))
        }
        "room" => Some((BlockKind::Room, turn.room.remote.clone())),
        "world" => turn.world.map(|world| (BlockKind::World, world.remote.clone())),
        who if who.starts_with('@') => Some((BlockKind::Person, RemoteId::new(who.to_lowercase()))),
        who if who.chars().any(char::is_whitespace) => None,
        who => Some((BlockKind::Person, RemoteId::new(who))),
    })
}
