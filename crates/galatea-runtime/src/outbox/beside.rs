//! A message of the agent from a process that runs none: an operator's command puts it into the outbox,
//! and the process that holds the account sends it.

use galatea_core::{
    Address, AgentIdentity, Content, Delivery, DeliveryId, Memory, MemoryId, MemoryKind, Outgoing,
    Result, Room, SendHandler, Store, Timestamp, TurnId, store::NewDelivery,
};
use serde_json::{Map, json};
use std::time::Duration;

use super::key::idempotency_key;

/// How long such a message waits for a process that sends it.
const EXPIRES: Duration = Duration::from_secs(3_600);

/// Commits a message for a Room, with the memory of having said it. `handler` is the outbound side of the
/// Room's account. Returns the turn that it stands under.
///
/// # Errors
/// Those of the encoder and the store.
pub async fn send_beside(
    store: &dyn Store,
    (identity, name): (&AgentIdentity, &str),
    room: &Room,
    handler: &dyn SendHandler,
    text: &str,
    now: Timestamp,
) -> Result<TurnId> {
    let address = Address {
        source: room.source.clone(),
        account: room.account.clone(),
        room: room.id,
        remote: room.remote.clone(),
    };
    let content = Content { source: Some(room.source.to_string()), ..Content::text(text) };
    let outgoing = Outgoing::Message { content: content.clone(), reply_to: None }.made_visible();
    let turn = TurnId::fresh();
    let mut metadata = Map::new();
    metadata.insert("type".into(), json!("message"));
    metadata.insert("entityName".into(), json!(name));
    let memory = Memory {
        id: MemoryId::fresh(),
        kind: MemoryKind::Messages,
        agent_id: identity.id(),
        entity_id: identity.entity(),
        room_id: room.id,
        world_id: Some(room.world_id),
        content: content.made_visible(),
        metadata,
        created_at: now,
    };
    let rows = (0_u32..)
        .zip(handler.encode(&outgoing)?)
        .map(|(part, body)| {
            let id = DeliveryId::fresh();
            let delivery = Delivery {
                id,
                agent: identity.id(),
                turn,
                part,
                address: address.clone(),
                key: idempotency_key(id),
                body,
                attempt: 0,
                created_at: now,
                previous: None,
            };
            let expires = Some(now.plus(EXPIRES));
            let delivered = handler.delivers_by_commit();
            NewDelivery { delivery, memory: Some(memory.id), sending: false, delivered, expires }
        })
        .collect();
    store.enqueue(rows, vec![memory]).await?;
    Ok(turn)
}
