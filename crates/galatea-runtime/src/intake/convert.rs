//! Pure part of intake: an event → an inbox entry or a memory.

use galatea_core::{
    Addressed, Command, ConnectionIds, ConnectorInfo, Content, Incoming, IncomingEvent,
    IncomingMessage, Memory, MemoryId, MemoryKind, RemoteId,
    store::{Envelope, InboxEntry},
};
use serde_json::{Map, Value, json};

use crate::directory::Directory;

/// Result of converting an event.
pub(super) enum Converted {
    /// A message with a turn.
    Message(Box<InboxEntry>),
    /// Something to remember without a turn.
    Memory(Box<Memory>),
    /// An event without a row, such as the agent's own status.
    Nothing,
}

/// Changes of the store by an event. Pure.
pub(super) fn convert(
    directory: &Directory,
    info: &ConnectorInfo,
    place: ConnectionIds,
    incoming: &Incoming,
) -> Converted {
    match &incoming.event {
        IncomingEvent::Message(message) => Converted::Message(Box::new(entry_of_message(
            directory, info, place, incoming, message,
        ))),
        IncomingEvent::Pressed { id, data, message } => Converted::Message(Box::new(
            entry_of_press(directory, info, place, incoming, id, data, message.as_ref()),
        )),
        IncomingEvent::Reacted { id, added, removed }
            if !added.is_empty() || !removed.is_empty() =>
        {
            let text = if added.is_empty() {
                format!("took back {}", removed.join(" "))
            } else {
                format!("reacted with {}", added.join(" "))
            };
            let about = directory.accounts.memory(info, id.as_str());
            let content = Content {
                in_reply_to: Some(about),
                source: Some(info.source.to_string()),
                ..Content::text(text)
            };
            let mut metadata = speaker(incoming);
            metadata.insert("type".into(), json!("reaction"));
            Converted::Memory(Box::new(memory(
                directory,
                place,
                MemoryId::fresh(),
                MemoryKind::Custom,
                content,
                metadata,
                incoming,
            )))
        }
        _ => Converted::Nothing,
    }
}

fn entry_of_message(
    directory: &Directory,
    info: &ConnectorInfo,
    place: ConnectionIds,
    incoming: &Incoming,
    message: &IncomingMessage,
) -> InboxEntry {
    let identity = &directory.identity;
    let mut content = message.content.clone();
    content.source.get_or_insert_with(|| info.source.to_string());
    if content.in_reply_to.is_none() {
        content.in_reply_to =
            message.reply_to.as_ref().map(|id| directory.accounts.memory(info, id.as_str()));
    }
    let mut metadata = speaker(incoming);
    metadata.insert("type".into(), json!("message"));
    metadata.insert("sourceId".into(), json!(message.id));
    let id = directory.accounts.memory(info, message.id.as_str());
    InboxEntry {
        memory: memory(directory, place, id, MemoryKind::Messages, content, metadata, incoming),
        legacy_id: message
            .legacy_id
            .as_ref()
            .map(|id| directory.accounts.memory(info, id.as_str())),
        source: info.source.clone(),
        account: info.account.clone(),
        room_remote: incoming.connection.room.remote.clone(),
        remote: message.id.clone(),
        envelope: Envelope {
            addressed: message.addressed,
            from_self: message.from_self || place.entity == identity.entity(),
            command: message.command.clone(),
            reply_to: message.reply_to.clone(),
            ..envelope(incoming)
        },
    }
}

/// A question that came by an edit: a message of its own, quoted as the one that was changed.
pub(super) fn entry_of_edit(
    directory: &Directory,
    info: &ConnectorInfo,
    place: ConnectionIds,
    incoming: &Incoming,
    remote: &RemoteId,
    content: &Content,
    addressed: Addressed,
) -> InboxEntry {
    let said = IncomingMessage {
        id: remote.clone(),
        legacy_id: None,
        content: content.clone(),
        addressed,
        reply_to: None,
        command: None,
        from_self: false,
    };
    let mut entry = entry_of_message(directory, info, place, incoming, &said);
    entry.envelope.edit_of = Some(entry.memory.id);
    entry.memory.id = directory.accounts.memory(info, &format!("edited:{remote}"));
    entry
}

fn entry_of_press(
    directory: &Directory,
    info: &ConnectorInfo,
    place: ConnectionIds,
    incoming: &Incoming,
    id: &RemoteId,
    data: &str,
    message: Option<&RemoteId>,
) -> InboxEntry {
    let mut metadata = speaker(incoming);
    metadata.insert("type".into(), json!("pressed"));
    let content = Content {
        source: Some(info.source.to_string()),
        in_reply_to: message.map(|id| directory.accounts.memory(info, id.as_str())),
        ..Content::text(data)
    };
    InboxEntry {
        memory: memory(
            directory,
            place,
            directory.accounts.memory(info, &format!("pressed:{id}")),
            MemoryKind::Messages,
            content,
            metadata,
            incoming,
        ),
        legacy_id: None,
        source: info.source.clone(),
        account: info.account.clone(),
        room_remote: incoming.connection.room.remote.clone(),
        remote: id.clone(),
        envelope: Envelope {
            command: Command::of_button(data),
            pressed: Some(data.to_owned()),
            reply_to: message.cloned(),
            ..envelope(incoming)
        },
    }
}

fn envelope(incoming: &Incoming) -> Envelope {
    let entity = incoming.connection.entity.as_ref();
    Envelope {
        from_bot: entity.is_some_and(|e| e.is_bot),
        entity_remote: entity.map(|e| e.remote.clone()),
        user_name: entity.and_then(|e| e.user_name.clone()),
        ..Envelope::default()
    }
}

/// Names in the memory itself, so that composing a prompt needs no entity look-up.
fn speaker(incoming: &Incoming) -> Map<String, Value> {
    let mut metadata = Map::new();
    if let Some(entity) = &incoming.connection.entity {
        if let Some(name) = entity.name.as_ref().or(entity.user_name.as_ref()) {
            metadata.insert("entityName".into(), json!(name));
        }
        if let Some(user_name) = &entity.user_name {
            metadata.insert("entityUserName".into(), json!(user_name));
        }
        if entity.is_bot {
            metadata.insert("fromBot".into(), json!(true));
        }
    }
    metadata
}

fn memory(
    directory: &Directory,
    place: ConnectionIds,
    id: MemoryId,
    kind: MemoryKind,
    content: Content,
    metadata: Map<String, Value>,
    incoming: &Incoming,
) -> Memory {
    Memory {
        id,
        kind,
        agent_id: directory.identity.id(),
        entity_id: place.entity,
        room_id: place.room,
        world_id: Some(place.world),
        content,
        metadata,
        created_at: incoming.at,
    }
}
