//! Agents of one channel hear each other: each committed answer becomes a message for the others. It is stored
//! under the answer's id, so that passing it on again, in any process, changes nothing.

use galatea_core::{
    AgentId, Batch, ChannelType, DeliveryId, Result, Role, Store,
    store::{LiveEvent, MESSAGE_SENT, OperatorRole},
};
use galatea_runtime::Orchestrator;
use galatea_web::{AGENTS, Channel, SOURCE, Said, Speaker};
use serde_json::Value;
use std::{
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::time::sleep;

use super::{
    super::{
        Operator,
        live::{Followed, Live},
    },
    message::{ChatMessage, id},
};

/// Events before its start that are looked at again: a process that was killed may have passed on less than
/// it committed.
const BACK: i64 = 2_000;
/// Pause after a failure of the store.
const PAUSE: Duration = Duration::from_secs(1);
/// How often an answer is handed to an agent that does not run yet.
const TRIES: u32 = 10;

pub(super) async fn run(store: Arc<dyn Store>, orchestrator: Weak<Orchestrator>, live: Arc<Live>) {
    let reader = Operator { role: OperatorRole::Viewer, ..Operator::command_line() };
    let mut after = None;
    loop {
        let from = match after {
            Some(seq) => Some(seq),
            None => match store.live_bounds().await {
                Ok(bounds) => bounds.map(|(first, last)| first.max(last.saturating_sub(BACK)) - 1),
                Err(_) => {
                    sleep(PAUSE).await;
                    continue;
                }
            },
        };
        let Ok(mut follower) = live.follow(&reader, from).await else {
            sleep(PAUSE).await;
            continue;
        };
        loop {
            match follower.next().await {
                Ok(Some(Followed::Event(event))) => {
                    after = Some(event.seq);
                    if event.kind != MESSAGE_SENT {
                        continue;
                    }
                    if let Err(error) = pass_on(&*store, &orchestrator, &event).await {
                        tracing::warn!(error = %error.report(), "failed to pass an answer on to the other agents of its channel; they do not hear it");
                    }
                }
                Ok(Some(Followed::Missed(_))) => {}
                Ok(None) => return,
                Err(_) => break,
            }
        }
        sleep(PAUSE).await;
    }
}

async fn pass_on(store: &dyn Store, all: &Weak<Orchestrator>, event: &LiveEvent) -> Result<()> {
    let Some(delivery) = id::<DeliveryId>(event, "delivery") else { return Ok(()) };
    let Some(message) = store.delivery(delivery).await?.and_then(ChatMessage::of) else {
        return Ok(());
    };
    let Some(room) = store.room(message.room).await? else { return Ok(()) };
    let members: Vec<AgentId> = room
        .metadata
        .get(AGENTS)
        .and_then(|list| serde_json::from_value(list.clone()).ok())
        .unwrap_or_default();
    let others = members.into_iter().filter(|agent| *agent != message.agent);
    for agent in others.collect::<Vec<_>>() {
        let Some(all) = all.upgrade() else { return Ok(()) };
        let Some(name) = all.agents().into_iter().find(|(id, _)| *id == message.agent) else {
            return Ok(());
        };
        hand_over(&all, agent, &said(&message, &name.1, &room.metadata, &room.name)).await?;
    }
    Ok(())
}

async fn hand_over(all: &Orchestrator, agent: AgentId, said: &Said) -> Result<()> {
    let mut tries = 0;
    loop {
        let outcome = match all.gateway(agent, &SOURCE) {
            Ok(gateway) => {
                let incoming = galatea_web::decode(said, gateway.clock().now())?;
                let batch = Batch { events: vec![incoming], ..Batch::default() };
                gateway.receive(batch).await.map(drop)
            }
            Err(error) => Err(error),
        };
        tries += 1;
        match outcome {
            Err(error) if error.retry() != galatea_core::Retry::Never && tries < TRIES => {
                sleep(PAUSE).await;
            }
            outcome => return outcome,
        }
    }
}

/// The answer as the others hear it. It is for nobody in particular: an agent that is called by name answers.
fn said(
    message: &ChatMessage,
    name: &str,
    metadata: &serde_json::Map<String, Value>,
    room: &str,
) -> Said {
    let mut speaker = Speaker::new(format!("agent:{}", message.agent), Some(name.to_owned()));
    speaker.bot = true;
    speaker.role = None::<Role>;
    let mut channel = Channel::new(&message.channel, ChannelType::Group);
    channel.name = Some(room.to_owned()).filter(|name| !name.is_empty());
    if let Some(agents) = metadata.get(AGENTS) {
        channel.metadata.insert(AGENTS.to_owned(), agents.clone());
    }
    let text = if message.text.trim().is_empty() { "[file]" } else { &message.text };
    let mut said = Said::new(speaker, channel, message.id.to_string(), text);
    said.mention = false;
    said
}
