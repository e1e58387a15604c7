//! Decides in place of a person about actions that wait for their confirmation.

use galatea_core::{
    Batch, Connection, EntityRef, Error, ErrorKind, GatewayBackend as _, Incoming, IncomingEvent,
    RemoteId, Result, RoomRef, WorldRef,
};
use serde_json::Value;
use uuid::Uuid;

use super::state::Orchestrator;
use crate::approvals::WaitingActions;

impl Orchestrator {
    /// Presses the button that says yes or no to actions that wait, as the person who asked for them
    /// would: the turn that follows carries them out once, or drops them, and says so in the Room. The
    /// caller has checked that an operator may decide, and records it.
    ///
    /// # Errors
    /// `NotFound` for an agent, a Room or a person that is not known, and `Conflict`
    /// (`GAL-APPROVAL-ELSEWHERE`) if another process has the account.
    pub async fn decide_waiting(&self, waiting: &WaitingActions, yes: bool) -> Result<()> {
        let agent = self.agent(waiting.agent)?;
        let store = &self.options.store;
        let missing = || Error::not_found("the place of the question is not known any more");
        let room = store.room(waiting.room).await?.ok_or_else(missing)?;
        let world = store.world(room.world_id).await?.ok_or_else(missing)?;
        let people = store.entities(&[waiting.person]).await?;
        let person = people.first().ok_or_else(missing)?;
        let own = person.metadata.get(room.source.as_str());
        let id = own.and_then(|own| own.get("id")).and_then(Value::as_str).ok_or_else(missing)?;
        let connector = agent.connectors.iter().find(|connector| {
            let info = connector.info();
            info.source == room.source && info.account == room.account
        });
        let elsewhere = || {
            Error::new(ErrorKind::Conflict, "this process does not have the account of the room")
                .with_code("GAL-APPROVAL-ELSEWHERE")
                .with_fix("ask the process that connects it, or answer in the room itself")
        };
        let info = connector.ok_or_else(elsewhere)?.info();
        if agent.ownership.account(&info.source, &info.account).is_none() {
            return Err(elsewhere());
        }
        let pressed = IncomingEvent::Pressed {
            id: RemoteId::new(format!("operator-{}", Uuid::now_v7())),
            message: None,
            data: waiting.press(yes),
        };
        let incoming = Incoming {
            connection: Connection {
                world: WorldRef::new(world.remote.clone(), None),
                room: RoomRef::new(room.remote.clone(), None, room.kind),
                entity: Some(EntityRef {
                    remote: RemoteId::new(id),
                    name: None,
                    user_name: None,
                    is_bot: false,
                    metadata: serde_json::Map::new(),
                }),
            },
            event: pressed,
            at: self.options.clock.now(),
        };
        let batch = Batch { events: vec![incoming], ..Batch::default() };
        agent.intake.receive(info, batch).await.map(drop)
    }
}
