//! Commits a run: what it says, what it changes, and when the task runs next, or nothing of it.

use galatea_core::{
    Address, Content, Error, ErrorKind, Memory, Outgoing, RemoteId, Result, RoomId, Task,
    TaskMessage, Timestamp, TurnId, kill_point,
    rights::TAINTED,
    store::{NewDelivery, RequestedChange, TaskCommit, UsageRow},
};
use serde_json::json;

use super::claim::Claimed;
use crate::{outbox::Stamp, turn::Engine, unknown_outcome};

/// End of a run.
pub(super) struct End {
    /// The task as it waits for its next run; none if it ends.
    pub(super) next: Option<Task>,
    pub(super) say: Vec<TaskMessage>,
    pub(super) effects: Vec<RequestedChange>,
    pub(super) usage: Vec<UsageRow>,
}

impl End {
    /// Says nothing.
    pub(super) fn silent(next: Option<Task>) -> Self {
        Self { next, say: Vec::new(), effects: Vec::new(), usage: Vec::new() }
    }

    /// Says in a Room that the task does not run any more until a person wants it to.
    pub(super) fn say_paused(&mut self, task: &Task, room: RoomId) {
        let what = galatea_core::visible::one_line(&task.description);
        let text = format!(
            "I could not do this three times in a row, so it is paused: {what}\nSend /reminders to see it, to try it again or to remove it."
        );
        self.say.push(TaskMessage { room, content: Content::text(text), reply_to: None });
    }
}

/// Commits a run and hands its messages to the outbox.
pub(super) async fn commit(
    engine: &Engine,
    claimed: Claimed,
    end: End,
    at: Timestamp,
) -> Result<()> {
    let Claimed { task, claim } = claimed;
    let (stamp, turn) = (Stamp::now(&*engine.clock), TurnId::fresh());
    let End { next, say, effects, usage } = end;
    let (mut memories, mut rows) = (Vec::new(), Vec::new());
    for message in say {
        add(engine, &task, turn, stamp, message, &mut memories, &mut rows).await?;
    }
    let says = !rows.is_empty();
    let prepared = engine.outbox.prepare(rows, stamp);
    let record = TaskCommit {
        task: task.id,
        agent: task.agent_id,
        claim,
        next: next.map(Box::new),
        turn,
        memories,
        deliveries: prepared.rows(),
        effects: effects.clone(),
        usage: usage.clone(),
        at,
    };
    kill_point("task.before");
    if let Err(error) = engine.store.finish_task(record).await {
        let stands = match error.kind() {
            // It was changed, removed or run by another process meanwhile. A commit whose answer was lost
            // is refused as well when it is repeated; what it says stands in the store then.
            ErrorKind::Conflict => Ok(says && !engine.store.deliveries_of(turn).await?.is_empty()),
            _ if says => {
                unknown_outcome::resolve(&*engine.store, &*engine.clock, error, turn, None)
                    .await
                    .map(|()| true)
            }
            _ => Err(error),
        };
        if !matches!(stands, Ok(true)) {
            engine.budget.keep(usage);
            tracing::debug!(task = %task.id, "a run of a task takes no effect");
            return stands.map(drop);
        }
    }
    kill_point("task.after");
    engine.directory.rooms.apply(&effects);
    engine.outbox.submit(prepared);
    engine.wake_tasks();
    Ok(())
}

/// Adds a message with its memory and its parts.
async fn add(
    engine: &Engine,
    task: &Task,
    turn: TurnId,
    stamp: Stamp,
    message: TaskMessage,
    memories: &mut Vec<Memory>,
    rows: &mut Vec<NewDelivery>,
) -> Result<()> {
    let TaskMessage { room, content, reply_to } = message;
    let info = engine.directory.rooms.load(&*engine.store, room).await?;
    let info = info.ok_or_else(|| {
        Error::not_found("the room of a task's message is not known").with("room", room)
    })?;
    let room = &info.room;
    let address = engine.directory.rooms.follow(Address {
        source: room.source.clone(),
        account: room.account.clone(),
        room: room.id,
        remote: room.remote.clone(),
    });
    let route = engine.outbox.routes.ready(&address.source, &address.account).ok_or_else(|| {
        Error::new(ErrorKind::Unavailable, "that platform is not connected")
            .with("source", &address.source)
    })?;
    let quoted: Option<RemoteId> = match reply_to {
        // Between two a quote is only noise.
        Some(id) if !room.kind.is_direct() => engine
            .store
            .inbox_item(id)
            .await?
            .map(|item| item.entry)
            .filter(|entry| {
                // A command or a button is no message that can be answered later.
                let envelope = &entry.envelope;
                entry.memory.room_id == room.id
                    && envelope.command.is_none()
                    && envelope.pressed.is_none()
                    && !envelope.awaited
                    && !route.handler.awaits(&entry.remote)
            })
            .map(|entry| entry.remote),
        _ => None,
    };
    let outgoing = Outgoing::Message { content: content.clone(), reply_to: quoted }.made_visible();
    let bodies = route.handler.encode(&outgoing)?;
    let mut memory = engine.outbox.memory_elsewhere(&address, content, stamp.at).await;
    if let Some(asked) = task.run.as_ref().and_then(|run| run.turn) {
        // By its turn it is found when the person who asked for it is forgotten.
        memory.metadata.insert("turn".into(), json!(asked));
    }
    if task.entity_id.is_none() || task.room_id != Some(room.id) {
        memory.metadata.insert(TAINTED.into(), json!(true));
    }
    memory.metadata.insert("task".into(), json!(task.name));
    for body in bodies {
        let part = u32::try_from(rows.len()).unwrap_or(u32::MAX);
        rows.push(engine.outbox.row(turn, part, address.clone(), body, Some(memory.id), stamp));
    }
    memories.push(memory);
    Ok(())
}
