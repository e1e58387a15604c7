//! Reads the JSON export of DiscordChatExporter: one channel a file.

use galatea_core::{
    Addressed, ChannelType, Connection, Content, EntityRef, Incoming, IncomingEvent,
    IncomingMessage, RemoteId, RoomRef, WorldRef,
};
use serde::Deserialize;
use serde_json::Value;

use crate::time_of;

/// An export without its messages, which are read where they stand: it may be large.
#[derive(Debug, Deserialize)]
struct Export {
    guild: Named,
    channel: Named,
}

#[derive(Debug, Deserialize)]
struct Named {
    id: String,
    name: String,
    #[serde(rename = "type", default)]
    kind: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    id: String,
    content: String,
    author: Author,
    #[serde(default)]
    reference: Option<Reference>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Author {
    id: String,
    name: String,
    #[serde(default)]
    nickname: Option<String>,
    #[serde(default)]
    is_bot: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reference {
    #[serde(default)]
    message_id: Option<String>,
}

/// The messages of an export, and what cannot be read, each with the reason; `None` for any other
/// JSON. Messages without text are passed over.
pub fn read_export(export: &Value) -> Option<(Vec<Incoming>, Vec<String>)> {
    let values = export.get("messages")?.as_array()?;
    let export = Export::deserialize(export).ok()?;
    let (mut messages, mut skipped) = (Vec::new(), Vec::new());
    for (n, value) in values.iter().enumerate() {
        match read_message(&export, value) {
            Ok(message) => messages.extend(message),
            Err(cause) => {
                let id = value.get("id").and_then(Value::as_str).map(str::to_owned);
                let id = id.unwrap_or_else(|| format!("number {}", n + 1));
                skipped.push(format!("message {id}: {cause}"));
            }
        }
    }
    Some((messages, skipped))
}

/// A message; `None` for one without text.
///
/// # Errors
/// What cannot be read.
fn read_message(export: &Export, message: &Value) -> Result<Option<Incoming>, String> {
    let message = Message::deserialize(message).map_err(|error| error.to_string())?;
    let id: u64 = message.id.parse().map_err(|_| "its `id` is not a number".to_owned())?;
    if message.content.trim().is_empty() {
        return Ok(None);
    }
    let Author { id: author, name, nickname, is_bot } = message.author;
    let mut entity = EntityRef::new(
        RemoteId::new(author),
        Some(nickname.unwrap_or_else(|| name.clone())),
        Some(name),
    );
    entity.is_bot = is_bot;
    Ok(Some(Incoming {
        connection: Connection { world: world(export), room: room(export), entity: Some(entity) },
        event: IncomingEvent::Message(IncomingMessage {
            id: RemoteId::new(message.id),
            legacy_id: None,
            content: Content::text(message.content),
            addressed: Addressed::default(),
            reply_to: message.reference.and_then(|r| r.message_id).map(RemoteId::new),
            command: None,
            from_self: false,
        }),
        at: time_of(id),
    }))
}

/// Direct messages have no guild, whose id is 0 then: their channel is the World.
fn world(export: &Export) -> WorldRef {
    let Named { id, name, .. } =
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
        let (found, skipped) = read_export(&export).unwrap();
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
}
