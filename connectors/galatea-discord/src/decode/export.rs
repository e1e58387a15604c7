//! Reads the JSON export of DiscordChatExporter: one channel a file.

mod content;
mod file;

use galatea_core::{
    Addressed, Archive, ChannelType, Connection, EntityRef, Incoming, IncomingEvent,
    IncomingMessage, RemoteId, RoomRef, WorldRef,
};
use serde::Deserialize;
use serde_json::Value;

use crate::time_of;
use file::{Author, ExportedMessage, ExportedName};

/// An export without its messages, which are read where they stand: it may be large.
#[derive(Debug, Deserialize)]
struct Export {
    guild: ExportedName,
    channel: ExportedName,
}

/// The messages of an export, and what is not stored of it; `None` for any other JSON.
pub fn read_export(export: &Value) -> Option<Archive> {
    let values = export.get("messages")?.as_array()?;
    let export = Export::deserialize(export).ok()?;
    let mut archive = Archive::default();
    for (n, value) in values.iter().enumerate() {
        match read_message(&export, value) {
            Ok(ExportEntry::Message(message)) => archive.messages.push(*message),
            Ok(ExportEntry::LeftOut(what)) => archive.leave_out(what),
            Err(cause) => {
                let id = value.get("id").and_then(Value::as_str).map(str::to_owned);
                let id = id.unwrap_or_else(|| format!("number {}", n + 1));
                archive.skipped.push(format!("message {id}: {cause}"));
            }
        }
    }
    Some(archive)
}

/// Kind of a channel's entry.
enum ExportEntry {
    Message(Box<Incoming>),
    /// The connector does not store such an entry either.
    LeftOut(&'static str),
}

/// Reads an entry of a channel.
///
/// # Errors
/// What cannot be read.
fn read_message(export: &Export, message: &Value) -> Result<ExportEntry, String> {
    let message = ExportedMessage::deserialize(message).map_err(|error| error.to_string())?;
    let id: u64 = message.id.parse().map_err(|_| "its `id` is not a number".to_owned())?;
    if !is_speech(&message.kind) {
        return Ok(ExportEntry::LeftOut("system messages"));
    }
    let content = content::of(&message, &export.channel);
    if content.is_empty() {
        return Ok(ExportEntry::LeftOut("messages without content"));
    }
    let name = message.author.shown().to_owned();
    let Author { id: author, name: user_name, is_bot, .. } = message.author;
    let mut entity = EntityRef::new(RemoteId::new(author), Some(name), Some(user_name));
    entity.is_bot = is_bot;
    // Forwards and published posts have a reference, too.
    let replied = message.reference.filter(|_| is_reply(&message.kind));
    Ok(ExportEntry::Message(Box::new(Incoming {
        connection: Connection { world: world(export), room: room(export), entity: Some(entity) },
        event: IncomingEvent::Message(IncomingMessage {
            id: RemoteId::new(message.id),
            legacy_id: None,
            content,
            addressed: Addressed::default(),
            reply_to: replied.and_then(|reference| reference.message_id).map(RemoteId::new),
            command: None,
            from_self: false,
        }),
        at: time_of(id),
    })))
}

/// True if a message of this type was written by its author; all other types are notices. The exporter
/// writes the number of a type that it does not know: 20 and 23 are commands of applications (Discord,
/// "Message Types").
fn is_speech(kind: &str) -> bool {
    is_reply(kind) || matches!(kind, "" | "Default" | "0" | "20" | "23")
}

fn is_reply(kind: &str) -> bool {
    matches!(kind, "Reply" | "19")
}

/// Direct messages have no guild, whose id is 0 then: their channel is the World.
fn world(export: &Export) -> WorldRef {
    let ExportedName { id, name, .. } =
        if export.guild.id == "0" { &export.channel } else { &export.guild };
    WorldRef::new(RemoteId::new(id), Some(name.clone()))
}

fn room(export: &Export) -> RoomRef {
    let kind = match export.channel.kind.as_str() {
        "DirectTextChat" | "DirectGroupTextChat" => ChannelType::Dm,
        "GuildPublicThread" | "GuildPrivateThread" | "GuildNewsThread" => ChannelType::Thread,
        "GuildVoiceChat" | "GuildStageVoice" => ChannelType::VoiceGroup,
        _ => ChannelType::Group,
    };
    RoomRef::new(RemoteId::new(&export.channel.id), Some(export.channel.name.clone()), kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn messages_have_their_ids_times_and_names() {
        let export = json!({
            "guild": { "id": "80351110224678912", "name": "Bees" },
            "channel": { "id": "41771983423143937", "type": "GuildTextChat", "name": "general" },
            "messages": [
                { "id": "175928847299117063", "type": "Reply", "content": "In May.",
                  "author": { "id": "53908232506183680", "name": "ann", "nickname": "Ann B", "isBot": false },
                  "reference": { "messageId": "175928847299117000" } },
                { "id": "175928847299117064", "content": "", "author": { "id": "1", "name": "x" } },
                { "content": "no id" },
            ]
        });
        let Archive { messages: found, skipped, left_out } = read_export(&export).unwrap();
        assert_eq!(left_out, [("messages without content", 1)].into());
        assert_eq!(found.len(), 1);
        assert_eq!(skipped, ["message number 3: missing field `id`"]);
        // The example of Discord's documentation ("Snowflakes").
        assert_eq!(found[0].at.0, 1_462_015_105_796);
        let entity = found[0].connection.entity.as_ref().unwrap();
        assert_eq!(
            (entity.name.as_deref(), entity.user_name.as_deref()),
            (Some("Ann B"), Some("ann"))
        );
        assert_eq!(found[0].connection.world.remote.as_str(), "80351110224678912");
        let IncomingEvent::Message(message) = &found[0].event else { panic!() };
        assert_eq!(message.reply_to.as_ref().unwrap().as_str(), "175928847299117000");
        assert!(read_export(&json!({ "messages": [] })).is_none());
    }

    #[test]
    fn notices_are_counted_and_not_stored() {
        let one = |n: u32, kind: &str| {
            json!({ "id": n.to_string(), "type": kind, "content": "Pinned a message.",
                "author": { "id": "1", "name": "ann" }, "reference": { "messageId": "7" } })
        };
        let export = json!({
            "guild": { "id": "8", "name": "Bees" },
            "channel": { "id": "4", "type": "GuildTextChat", "name": "general" },
            "messages": [one(10, "GuildMemberJoin"), one(11, "ChannelPinnedMessage"), one(12, "Call"),
                one(13, "Default"), one(14, "Reply"), one(15, "20"), one(16, "18")]
        });
        let archive = read_export(&export).unwrap();
        assert_eq!(archive.left_out, [("system messages", 4)].into());
        let found: Vec<_> = archive
            .messages
            .iter()
            .map(|one| match &one.event {
                IncomingEvent::Message(m) => (m.id.to_string(), m.reply_to.is_some()),
                other => panic!("{other:?}"),
            })
            .collect();
        let expected = [("13", false), ("14", true), ("15", false)];
        assert_eq!(found, expected.map(|(id, reply)| (id.to_owned(), reply)));
    }
}
