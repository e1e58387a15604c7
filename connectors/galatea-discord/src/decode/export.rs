//! Reads the JSON export of DiscordChatExporter: one channel a file.

use galatea_core::{
    Addressed, ChannelType, Connection, Content, EntityRef, Incoming, IncomingEvent,
    IncomingMessage, RemoteId, RoomRef, WorldRef,
};
use serde::Deserialize;
use serde_json::Value;

use crate::time_of;

#[derive(Debug, Deserialize)]
struct Export {
    guild: Named,
    channel: Named,
    messages: Vec<Value>,
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

/// The messages of an export; `None` for any other JSON. A message that cannot be read, and one
/// without text, is skipped.
pub fn read_export(export: &Value) -> Option<Vec<Incoming>> {
    let export = Export::deserialize(export).ok()?;
    Some(export.messages.iter().filter_map(|message| read_message(&export, message)).collect())
}

fn read_message(export: &Export, message: &Value) -> Option<Incoming> {
    let message = Message::deserialize(message).ok()?;
    let id: u64 = message.id.parse().ok()?;
    if message.content.trim().is_empty() {
        return None;
    }
    let Author { id: author, name, nickname, is_bot } = message.author;
    let mut entity = EntityRef::new(
        RemoteId::new(author),
        Some(nickname.unwrap_or_else(|| name.clone())),
        Some(name),
    );
    entity.is_bot = is_bot;
    Some(Incoming {
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
    })
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
        let found = read_export(&export).unwrap();
        assert_eq!(found.len(), 1);
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
