//! Outbound: any room from any other (`send_message_to_target`).

use async_trait::async_trait;
use galatea_core::{Address, Error, ErrorKind, Outbound, Outgoing, Result, TurnId, store::NewDelivery};
use std::sync::Weak;

use crate::{agent::Agent, doubt, turn::commit};

/// Reaches rooms through the outbox. Weak, because the agent holds it.
pub(crate) struct ThroughOutbox(pub(crate) Weak<Agent>);

#[async_trait]
impl Outbound for ThroughOutbox {
    async fn send_message_to_target(&self, address: &Address, outgoing: Outgoing) -> Result<()> {
        let agent = self.0.upgrade().ok_or_else(|| Error::new(ErrorKind::Unavailable, "the agent has stopped"))?;
        let route = agent.route(&address.source, &address.account).ok_or_else(|| {
            Error::new(ErrorKind::Unavailable, "that platform is not connected")
                .with("source", &address.source)
                .with_fix("galatea connector ls shows what is on and why")
        })?;
        if outgoing == Outgoing::Typing {
            return route.stack.typing(address).await;
        }
        let (now, turn) = (agent.clock.now(), TurnId::fresh());
        let said = match &outgoing {
            Outgoing::Message { content, .. } => Some(commit::memory_elsewhere(&agent, address, content.clone(), now).await),
            _ => None,
        };
        let memory = said.as_ref().map(|memory| memory.id);
        let mut jobs = Vec::new();
        for (part, body) in (0_u32..).zip(route.handler.encode(&outgoing)?) {
            jobs.push(commit::job(&agent, turn, part, address.clone(), body, now, Some(agent.limits.answer_ttl)));
        }
        let rows = jobs.iter().map(|job| NewDelivery { delivery: job.delivery.clone(), memory, sending: false, expires: job.part.expires }).collect();
        if let Err(error) = agent.store.enqueue(rows, said.into_iter().collect()).await {
            doubt::settle(&agent, error, turn, None).await?;
        }
        commit::hand_over(&agent, jobs.into_iter());
        Ok(())
    }
}
