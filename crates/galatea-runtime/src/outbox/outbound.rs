//! Sends to any Room from any other (`send_message_to_target`).

use async_trait::async_trait;
use galatea_core::{Address, Error, ErrorKind, Outbound, Outgoing, Result, TurnId};
use std::sync::Weak;

use super::{state::Outbox, submit::Stamp};
use crate::unknown_outcome;

/// Reaches Rooms through the outbox. Weak, because services that keep it must not keep a stopped
/// agent's outbox.
pub(crate) struct ThroughOutbox(pub(crate) Weak<Outbox>);

#[async_trait]
impl Outbound for ThroughOutbox {
    async fn send_message_to_target(&self, address: &Address, outgoing: Outgoing) -> Result<()> {
        let outbox = self
            .0
            .upgrade()
            .ok_or_else(|| Error::new(ErrorKind::Unavailable, "the agent has stopped"))?;
        let route = outbox.routes.ready(&address.source, &address.account).ok_or_else(|| {
            Error::new(ErrorKind::Unavailable, "that platform is not connected")
                .with("source", &address.source)
                .with_fix("galatea connector ls shows what is on and why")
        })?;
        if outgoing == Outgoing::Typing {
            return route.stack.typing(address).await;
        }
        let outgoing = outgoing.made_visible();
        let (stamp, turn) = (Stamp::now(&*outbox.clock), TurnId::fresh());
        let said = match &outgoing {
            Outgoing::Message { content, .. } => {
                Some(outbox.memory_elsewhere(address, content.clone(), stamp.at).await)
            }
            _ => None,
        };
        let memory = said.as_ref().map(|memory| memory.id);
        let rows = (0_u32..)
            .zip(route.handler.encode(&outgoing)?)
            .map(|(part, body)| outbox.row(turn, part, address.clone(), body, memory, stamp))
            .collect();
        let prepared = outbox.prepare(rows, stamp);
        if let Err(error) = outbox.store.enqueue(prepared.rows(), said.into_iter().collect()).await
        {
            unknown_outcome::resolve(&*outbox.store, &*outbox.clock, error, turn, None).await?;
        }
        outbox.submit(prepared);
        Ok(())
    }
}
