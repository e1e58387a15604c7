//! Decodes interactions: slash commands and button presses.

use galatea_core::{Command, Content, Incoming, IncomingEvent, IncomingMessage, RemoteId};
use serde_json::Value;

use super::{
    Addressed, connection,
    directory::{Channel, Directory, administers, id},
    user,
};
use crate::time_of;

/// Prefix of an interaction's id. An interaction is not a message, so a reply to it takes another
/// call.
pub(crate) const INTERACTION: &str = "interaction:";

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
    let remote = RemoteId(format!("{INTERACTION}{number}"));
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
