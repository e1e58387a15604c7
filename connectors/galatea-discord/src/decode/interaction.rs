//! Decodes interactions: slash commands and button presses.

use galatea_core::{
    ADMIN_COMMANDS, Addressed, Command, Content, Incoming, IncomingEvent, IncomingMessage, RemoteId,
};
use serde_json::Value;

use super::{
    connection,
    connection::user,
    directory::{Channel, Directory},
    permissions::administers,
};
use crate::{decode::raw::id, time_of};

/// Prefix of an interaction's id. An interaction is not a message, so a reply to it takes another
/// call.
const INTERACTION: &str = "interaction:";
/// Prefix of an interaction whose answer only the caller may read. It is part of the id, so that an
/// answer stays private whatever the memory of this process has lost.
const PRIVATE_INTERACTION: &str = "interaction:private:";
/// Commands whose answer concerns only the caller.
const PRIVATE: [&str; 6] = ["help", "link", "memory", "privacy", "reminders", "unlink"];

/// The id of an interaction, from its event.
pub(crate) fn remote_id(data: &Value) -> Option<RemoteId> {
    let number = id(&data["id"])?;
    let prefix = if asks_privately(data) { PRIVATE_INTERACTION } else { INTERACTION };
    Some(RemoteId(format!("{prefix}{number}")))
}

/// True if a message is an interaction.
pub(crate) fn is_interaction(message: &RemoteId) -> bool {
    message.as_str().starts_with(INTERACTION)
}

/// True if a message is an interaction whose answer only the caller may read.
pub(crate) fn is_private(message: &RemoteId) -> bool {
    message.as_str().starts_with(PRIVATE_INTERACTION)
}

/// True if only the caller may read the answer to a command. The answer to an admin command is
/// public, because the command changes the room, unless it will be refused.
fn asks_privately(data: &Value) -> bool {
    let name = data["data"]["name"].as_str().unwrap_or_default().to_lowercase();
    let refused = id(&data["guild_id"]).is_some()
        && ADMIN_COMMANDS.contains(&name.as_str())
        && !administers(&data["member"]["permissions"]);
    data["type"] == 2 && (PRIVATE.contains(&name.as_str()) || refused)
}

/// A slash command becomes a message, a button press a press. Other interactions (autocompletion,
/// forms) are ignored.
pub(super) fn decode(data: &Value, directory: &Directory) -> Option<Incoming> {
    let (number, channel, guild) =
        (id(&data["id"])?, id(&data["channel_id"])?, id(&data["guild_id"]));
    if let Some((known, described)) = Channel::read(&data["channel"], guild)
        && directory.channel(known).is_none()
    {
        directory.put(known, described);
    }
    let member = &data["member"];
    let who = user(&member["user"]).or_else(|| user(&data["user"]))?;
    let mut place = connection::place(
        channel,
        guild,
        directory,
        Some(connection::person(&who, member["nick"].as_str())),
    );
    if administers(&member["permissions"]) {
        connection::administrator(&mut place, who.id.get());
    }
    let remote = remote_id(data)?;
    let event = match data["type"].as_u64()? {
        2 => command(remote, &data["data"])?,
        3 => {
            let pressed = data["data"]["custom_id"].as_str()?.to_owned();
            IncomingEvent::Pressed {
                id: remote,
                message: id(&data["message"]["id"]).map(RemoteId::new),
                data: pressed,
            }
        }
        _ => return None,
    };
    Some(Incoming { connection: place, event, at: time_of(number) })
}

fn command(remote: RemoteId, data: &Value) -> Option<IncomingEvent> {
    let name = data["name"].as_str()?.to_lowercase();
    let options = data["options"].as_array().into_iter().flatten();
    let args: Vec<String> = options
        .map(|o| o["value"].as_str().map_or_else(|| o["value"].to_string(), str::to_owned))
        .collect();
    let args = args.join(" ");
    let text = format!("/{name} {args}").trim_end().to_owned();
    Some(IncomingEvent::Message(IncomingMessage {
        id: remote,
        legacy_id: None,
        content: Content { source: Some(crate::SOURCE_NAME.to_owned()), ..Content::text(text) },
        // A command always addresses the bot.
        addressed: Addressed { mention: true, reply: false },
        reply_to: None,
        command: Some(Command { name, args }),
        from_self: false,
    }))
}
