//! Events that change what is stored already: edits, deletions, people who come and go, Rooms that
//! move. They are part of the batch's commit; caches and events follow once it is durable.

use galatea_core::{
    ConnectionIds, ConnectorInfo, Event, EventBus, IncomingEvent, MemoryId, OwnStatus, RemoteId,
    store::Mutation,
};

use super::connect;
use crate::directory::Directory;

/// The stored change that an event asks for; none for an event that changes nothing stored.
pub(super) fn mutation(
    directory: &Directory,
    info: &ConnectorInfo,
    place: ConnectionIds,
    event: &IncomingEvent,
) -> Option<Mutation> {
    let id = directory.identity.id();
    match event {
        IncomingEvent::Edited { id: remote, content, .. } => {
            let mut content = Box::new(content.clone());
            content.source.get_or_insert_with(|| info.source.to_string());
            Some(Mutation::Edit { agent: id, memory: memory(directory, info, remote), content })
        }
        IncomingEvent::Deleted { ids } => {
            let memories = ids.iter().map(|remote| memory(directory, info, remote)).collect();
            Some(Mutation::Delete { agent: id, memories })
        }
        IncomingEvent::Joined { entities } => {
            Some(Mutation::Join(connect::members(directory, info, place.room, entities)))
        }
        IncomingEvent::Left { entities } => {
            let entities =
                entities.iter().map(|e| connect::entity_id(directory, info, &e.remote)).collect();
            Some(Mutation::Leave { room: place.room, entities })
        }
        IncomingEvent::RoomMoved { to } => {
            let to_room = directory.accounts.room(&info.source, &info.account, to);
            Some(Mutation::MoveRoom { room: place.room, to_room, to_remote: to.clone() })
        }
        IncomingEvent::Message(_)
        | IncomingEvent::Pressed { .. }
        | IncomingEvent::Reacted { .. }
        | IncomingEvent::OwnStatus(_) => None,
    }
}

/// Brings caches up to date with a committed mutation and publishes its events. `changed`: it found
/// what it changes.
pub(super) fn applied(
    directory: &Directory,
    events: &EventBus,
    place: ConnectionIds,
    mutation: Mutation,
    changed: bool,
) {
    let id = directory.identity.id();
    let room = place.room;
    match mutation {
        Mutation::Edit { memory, .. } => {
            if changed {
                events.publish(Event::MessageEdited { agent: id, room, memory });
            }
        }
        Mutation::Delete { memories, .. } => {
            for memory in memories {
                events.publish(Event::MessageDeleted { agent: id, room, memory });
            }
        }
        Mutation::Join(change) => {
            for (entity, _) in change.participants {
                events.publish(Event::EntityJoined { agent: id, room, entity });
            }
        }
        Mutation::Leave { entities, .. } => {
            for entity in entities {
                directory.known.forget_participant(entity, room);
                events.publish(Event::EntityLeft { agent: id, room, entity });
            }
        }
        Mutation::MoveRoom { room, to_room, to_remote } => {
            directory.moved(room, to_room, &to_remote);
        }
    }
}

/// Publishes what an event that changes nothing stored means to listeners.
pub(super) fn publish_event(
    directory: &Directory,
    events: &EventBus,
    info: &ConnectorInfo,
    place: ConnectionIds,
    event: &IncomingEvent,
) {
    let id = directory.identity.id();
    let event = match event {
        IncomingEvent::Reacted { id: remote, .. } => Event::ReactionReceived {
            agent: id,
            room: place.room,
            memory: memory(directory, info, remote),
        },
        IncomingEvent::OwnStatus(OwnStatus::Removed) => {
            Event::WorldLeft { agent: id, world: place.world }
        }
        IncomingEvent::OwnStatus(OwnStatus::Joined | OwnStatus::Admin) => {
            Event::WorldJoined { agent: id, world: place.world }
        }
        _ => return,
    };
    events.publish(event);
}

fn memory(directory: &Directory, info: &ConnectorInfo, remote: &RemoteId) -> MemoryId {
    directory.accounts.memory(info, remote.as_str())
}
