//! Prints how many turns a second the store carries: ingest, begin, read a page, finish and settle,
//! in many rooms at once; and how many messages it takes in durably.
//!
//! `cargo run --release -p galatea-store --example throughput_postgres -- [rooms] [turns per room] [readers]`,
//! on the server that `DATABASE_URL` names (an empty database), or on one of its own with `fsync`.
#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use galatea_core::{
    Account, Address, AgentId, Content, Cursor, Delivery, DeliveryId, Encoded, EntityId, Error,
    Memory, MemoryId, MemoryKind, RemoteId, Result, RoomId, Source, Timestamp, TurnId, Verdict,
    store::{
        Envelope, FinishedMessage, InboxEntry, InboxState, InboxStore, Ingest, MemoryQuery,
        MemoryStore, NewDelivery, OutboxState, OutboxStore, Settlement, TurnRecord,
    },
};
use galatea_store::{Database as Store, PostgresOptions};
use galatea_testkit::postgres::{Database, Server};
use secrecy::SecretString;
use serde_json::{Map, json};
use std::time::Instant;

const SOURCE: Source = Source::new("throughput");
/// Two hundred letters: about the middle of what people and models write in chats.
const TEXT: &str = "She is alive, he thought, and the ivory grew warm under his fingers; she is alive, and in a moment she will turn her head, \
    and look at me, and ask in a voice that no one has heard before who I am.";

fn memory(agent: AgentId, room: RoomId, entity: EntityId) -> Memory {
    Memory {
        id: MemoryId(uuid::Uuid::new_v4()),
        kind: MemoryKind::Messages,
        agent_id: agent,
        entity_id: entity,
        room_id: room,
        world_id: None,
        content: Content { source: Some("throughput".to_owned()), ..Content::text(TEXT) },
        metadata: Map::new(),
        created_at: Timestamp(1_700_000_000_000),
    }
}

fn entry(agent: AgentId, room: RoomId) -> InboxEntry {
    let memory = memory(agent, room, EntityId(room.0));
    let remote = RemoteId::new(memory.id);
    InboxEntry {
        memory,
        legacy_id: None,
        source: SOURCE,
        account: Account("1".to_owned()),
        room_remote: RemoteId::new(room),
        remote,
        envelope: Envelope::default(),
    }
}

async fn turn(store: &Store, agent: AgentId, room: RoomId) -> Result<()> {
    let (account, remote) = (Account("1".to_owned()), RemoteId::new(room));
    let entry = entry(agent, room);
    let message = entry.memory.clone();
    let cursor = Cursor { stream: "updates".to_owned(), position: message.id.to_string() };
    store
        .ingest(Ingest {
            messages: vec![entry],
            cursor: Some((agent, SOURCE, account.clone(), cursor)),
            ..Ingest::default()
        })
        .await?;
    store.begin_turn(&[message.id]).await?;
    store.memories(&MemoryQuery::new(agent, 20).room(room).kind(MemoryKind::Messages)).await?;
    let reply = memory(agent, room, EntityId(agent.0));
    let delivery = Delivery {
        id: DeliveryId::fresh(),
        agent,
        turn: TurnId::fresh(),
        part: 0,
        address: Address { source: SOURCE, account, room, remote },
        key: "0123456789012345678901".to_owned(),
        body: Encoded(json!({"text": TEXT})),
        attempt: 0,
        created_at: reply.created_at,
        previous: None,
    };
    let mut verdict = Verdict::default();
    verdict.step("mention", galatea_core::StepOutcome::Answer, "the agent was mentioned");
    let (id, at) = (delivery.id, reply.created_at);
    let record = TurnRecord {
        turn: delivery.turn,
        agent,
        room,
        deliveries: vec![NewDelivery {
            delivery,
            memory: Some(reply.id),
            sending: true,
            delivered: false,
            expires: None,
        }],
        memories: vec![reply],
        finished: vec![FinishedMessage { id: message.id, state: InboxState::Done, verdict }],
        effects: Vec::new(),
        usage: Vec::new(),
        told: Vec::new(),
        at,
        fence: None,
    };
    store.finish_turn(record).await?;
    let sent = Settlement {
        id,
        state: OutboxState::Sent,
        attempt: 1,
        not_before: at,
        remote: Some(RemoteId::new(1)),
        error: None,
        outcome_unknown: false,
        fence: None,
    };
    store.settle(vec![sent]).await.map(drop)
}

/// Messages a second that many accounts hand over in batches, each acknowledged after its commit.
async fn ingest(store: &Store, writers: u64, batches: u64, batch: usize) -> Result<f64> {
    let started = Instant::now();
    let tasks: Vec<_> = (0..writers)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                let (agent, room) = (AgentId::fresh(), RoomId(uuid::Uuid::new_v4()));
                for _ in 0..batches {
                    let messages = (0..batch).map(|_| entry(agent, room)).collect();
                    store.ingest(Ingest { messages, ..Ingest::default() }).await?;
                }
                Ok::<(), Error>(())
            })
        })
        .collect();
    for task in tasks {
        task.await.map_err(|e| Error::unexpected("a writer stopped").with_source(e))??;
    }
    #[allow(clippy::cast_precision_loss, reason = "figures for people")]
    Ok((writers * batches) as f64 * batch as f64 / started.elapsed().as_secs_f64())
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, or: u64| arguments.get(at).and_then(|a| a.parse().ok()).unwrap_or(or);
    let (rooms, turns) = (number(0, 100), number(1, 50));
    let readers = number(2, 8).try_into().unwrap_or(8);
    let own = match std::env::var("DATABASE_URL") {
        Ok(_) => None,
        Err(_) => Some(Server::durable()),
    };
    let database = match &own {
        Some(server) => Some(Database::on(server.clone()).await),
        None => None,
    };
    let url = database
        .as_ref()
        .map_or_else(|| std::env::var("DATABASE_URL").unwrap_or_default(), Database::url);
    let store = Store::postgres(
        &SecretString::from(url),
        PostgresOptions { readers, ..PostgresOptions::default() },
    )
    .await?;
    let agent = AgentId::fresh();
    let (started, before) = (Instant::now(), store.statements());
    let tasks: Vec<_> = (0..rooms)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                let room = RoomId(uuid::Uuid::new_v4());
                for _ in 0..turns {
                    turn(&store, agent, room).await?;
                }
                Ok::<(), Error>(())
            })
        })
        .collect();
    for task in tasks {
        task.await.map_err(|e| Error::unexpected("a room stopped").with_source(e))??;
    }
    let (seconds, statements, all) =
        (started.elapsed().as_secs_f64(), store.statements() - before, rooms * turns);
    #[allow(clippy::cast_precision_loss, reason = "figures for people")]
    let (rate, per_turn) = (all as f64 / seconds, statements as f64 / all as f64);
    println!("{all} turns in {rooms} rooms: {rate:.0} turns/s, {per_turn:.2} round trips a turn");
    for (writers, batches, batch) in [(1, 500, 1), (64, 50, 1), (8, 50, 50)] {
        println!(
            "{writers} writers, batches of {batch}: {:.0} messages/s",
            ingest(&store, writers, batches, batch).await?
        );
    }
    store.close().await;
    drop(database);
    if let Some(server) = own {
        server.end();
    }
    Ok(())
}
