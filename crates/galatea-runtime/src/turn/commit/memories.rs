//! Memories of an answer, and the message it replies to.

use galatea_core::{ActionResult, Content, Media, Memory, MemoryId, MemoryKind, RemoteId, RoomId};
use serde_json::json;

use crate::turn::{context::TurnContext, engine::Engine};

/// In groups the question is quoted, so that everyone sees what is answered; between two it would
/// only be noise, unless several were answered at once or the platform keeps a place for the
/// answer.
pub(crate) fn reply_target(context: &TurnContext) -> Option<RemoteId> {
    let pressed = context.message.entry.envelope.pressed.is_some();
    let remote = &context.message.entry.remote;
    let shown = !context.info.room.kind.is_direct()
        || !context.merged.is_empty()
        || context.message.entry.envelope.awaited
        || context.route.handler.awaits(remote);
    (!pressed && shown).then(|| remote.clone())
}

pub(crate) fn reply_memory(
    engine: &Engine,
    context: &TurnContext,
    room: RoomId,
    content: Content,
) -> Memory {
    let mut metadata = serde_json::Map::new();
    metadata.insert("type".into(), json!("message"));
    metadata.insert("entityName".into(), json!(engine.view.character.name));
    metadata.insert("turn".into(), json!(context.turn));
    Memory {
        id: MemoryId::fresh(),
        kind: MemoryKind::Messages,
        agent_id: engine.view.identity.id(),
        entity_id: engine.view.identity.entity(),
        room_id: room,
        world_id: Some(context.info.room.world_id),
        content,
        metadata,
        created_at: context.answered_at(),
    }
}

fn is_file(media: &Media) -> bool {
    media.url.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"))
}

/// True if a message carries a file in itself.
pub(crate) fn carries_file(content: &Content) -> bool {
    content.attachments.iter().any(is_file)
}

/// Takes out the files that a message carries in itself: they lie in the outbox until they are
/// sent. What they show is remembered.
pub(crate) fn leave_files_out(content: &mut Content) {
    content
        .attachments
        .iter_mut()
        .filter(|media| is_file(media))
        .for_each(|media| media.url.clear());
}

/// True if a remembered message lacks a file that it carried.
pub(crate) fn lacks_file(content: &Content) -> bool {
    content.attachments.iter().any(|media| media.url.is_empty())
}

pub(crate) fn result_memory(
    engine: &Engine,
    context: &TurnContext,
    room: RoomId,
    result: ActionResult,
) -> Memory {
    let content = Content { actions: vec![result.action], ..Content::text(result.text) };
    let mut memory =
        Memory { kind: MemoryKind::ActionResult, ..reply_memory(engine, context, room, content) };
    memory.metadata.insert("type".into(), json!("action_result"));
    memory.metadata.insert("success".into(), json!(result.success));
    if !result.data.is_empty() {
        memory.metadata.insert("data".into(), json!(result.data));
    }
    memory
}
