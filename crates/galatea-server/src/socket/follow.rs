//! Tells sockets what happens in the channels that they joined, by whatever way and in whatever process it
//! happens: what people say, what agents answer, and that an agent says nothing more.

use galatea_core::{
    AgentId, Decision, MemoryId, RoomId, TurnId,
    event::Draft,
    store::{ChannelMessage, LiveEvent, OperatorRole},
};
use galatea_host::ops::{
    Operator,
    channel_history::{channel_of, message_of},
    chat::{ChatEvent, ChatMessage},
    live::Followed,
};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::{
    sync::broadcast::error::RecvError,
    time::{interval, sleep},
};
use uuid::Uuid;

use super::logs;
use crate::{
    app::App,
    eliza::{say::broadcast, wire_message::agents_broadcast},
};

/// Pause after a failure of the store.
const PAUSE: Duration = Duration::from_secs(1);
/// Between two looks at whether the credentials of sockets still hold.
const CHECK: Duration = Duration::from_secs(30);
/// Rooms and turns that are kept in memory.
const KEPT: usize = 4_096;
/// Kind of the event that a person's message is stored.
const RECEIVED: &str = "message_received";

/// Begins to tell. Ends with the app.
pub(super) fn start(app: &Arc<App>) {
    tokio::spawn(answers(Arc::downgrade(app)));
    tokio::spawn(messages(Arc::downgrade(app)));
    tokio::spawn(credentials(Arc::downgrade(app)));
    tokio::spawn(log_lines(Arc::downgrade(app)));
}

/// Follows the log for the sockets that asked for it.
async fn log_lines(app: Weak<App>) {
    let by = Operator { role: OperatorRole::Operator, ..Operator::command_line() };
    let Some(lines) = app.upgrade().map(|app| app.ops.follow_logs(&by)) else { return };
    let Ok(mut lines) = lines else { return };
    loop {
        match lines.recv().await {
            Ok(line) => {
                let Some(app) = app.upgrade() else { return };
                logs::tell(&app.told.all(), &line);
            }
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

/// Whoever reads for the sockets. What a socket joined decides what it gets.
fn reader() -> Operator {
    Operator { role: OperatorRole::Viewer, ..Operator::command_line() }
}

/// Ends sockets whose token was revoked, or whose session has ended.
async fn credentials(app: Weak<App>) {
    let mut ticks = interval(CHECK);
    loop {
        ticks.tick().await;
        let Some(app) = app.upgrade() else { return };
        for peer in app.told.all() {
            if matches!(peer.presented.identify(&app).await, Ok(None)) {
                peer.end();
            }
        }
    }
}

/// What is known of Rooms and turns.
#[derive(Default)]
struct Known {
    channels: HashMap<RoomId, Option<Uuid>>,
    /// Words of a turn that were sent, and in how many pieces.
    turns: HashMap<TurnId, (String, usize)>,
}

impl Known {
    /// The channel of a Room.
    async fn channel(&mut self, app: &App, room: RoomId) -> Option<Uuid> {
        if let Some(channel) = self.channels.get(&room) {
            return *channel;
        }
        let (found, _) = app.ops.room(&reader(), room).await.ok()?;
        if self.channels.len() >= KEPT {
            self.channels.clear();
        }
        let channel = channel_of(&found);
        self.channels.insert(room, channel);
        channel
    }

    /// The piece of a draft that is new.
    fn piece(&mut self, draft: &Draft) -> Option<(String, usize)> {
        if self.turns.len() >= KEPT {
            self.turns.clear();
        }
        let (sent, pieces) = self.turns.entry(draft.turn).or_default();
        let new = draft.text.strip_prefix(sent.as_str()).filter(|new| !new.is_empty())?.to_owned();
        sent.push_str(&new);
        *pieces += 1;
        Some((new, *pieces - 1))
    }
}

/// Follows what agents say.
async fn answers(app: Weak<App>) {
    let (mut after, mut known) = (None, Known::default());
    loop {
        let Some(chat) = app.upgrade().map(|app| Arc::clone(&app.chat)) else { return };
        let Ok(mut follower) = chat.follow(None, after).await else {
            sleep(PAUSE).await;
            continue;
        };
        drop(chat);
        loop {
            let event = match follower.next().await {
                Ok(Some(event)) => event,
                Ok(None) => return,
                Err(_) => break,
            };
            let Some(app) = app.upgrade() else { return };
            match event {
                ChatEvent::Message { seq, message } => {
                    after = Some(seq);
                    answered(&app, &message).await;
                }
                ChatEvent::Decided { seq, agent, room, turn, decision, reason, .. } => {
                    after = Some(seq);
                    let sent = known.turns.remove(&turn).map(|(sent, _)| sent);
                    if let Some(channel) = known.channel(&app, room).await
                        && app.told.is_joined(&channel.to_string())
                    {
                        let failed = (decision == Decision::Failed).then_some((sent, reason));
                        ended(&app, channel, agent, turn, failed).await;
                    }
                }
                ChatEvent::Draft(draft) => {
                    if let Some(channel) = known.channel(&app, draft.room).await
                        && app.told.is_joined(&channel.to_string())
                        && let Some((chunk, index)) = known.piece(&draft)
                    {
                        let told = json!({
                            "messageId": draft.turn,
                            "chunk": chunk,
                            "index": index,
                            "agentId": draft.agent,
                            "channelId": channel,
                        });
                        app.told.tell(channel, "messageStreamChunk", told);
                    }
                }
                ChatEvent::Missed(seq) => after = Some(seq),
                ChatEvent::Thinking { .. } | ChatEvent::Model { .. } | ChatEvent::Tool { .. } => {}
            }
        }
        sleep(PAUSE).await;
    }
}

/// The message server of a channel.
async fn server_of(app: &App, channel: Uuid) -> Uuid {
    app.ops.channel(&reader(), channel).await.map_or(super::channel::SERVER, |found| found.server)
}

/// Tells what an agent says.
async fn answered(app: &App, message: &ChatMessage) {
    let Some(channel) = message.channel.parse::<Uuid>().ok() else { return };
    if !app.told.is_joined(&message.channel) {
        return;
    }
    let by = reader();
    let memory = match message.memory {
        Some(id) => app.ops.memory(&by, id).await.ok(),
        None => None,
    };
    let agents = app.ops.agents(&by).unwrap_or_default();
    let name = agents.into_iter().find(|info| info.id == message.agent).map(|info| info.name);
    // The first part has the id that the history has; those after it have their own.
    let id = message.memory.filter(|_| message.part == 0).map_or(message.id.0, |id| id.0);
    let told = ChannelMessage {
        id,
        channel,
        author: message.agent.0,
        text: message.text.clone(),
        raw: json!({
            "thought": memory.and_then(|memory| memory.content.thought),
            "actions": message.actions,
            "attachments": message.attachments,
        }),
        source_type: Some(galatea_host::ops::channel_history::AGENT_RESPONSE.to_owned()),
        source_id: None,
        metadata: json!({ "agentName": name.unwrap_or_else(|| "Agent".to_owned()) }),
        reply_to: message.in_reply_to.map(|id| id.0),
        created_at: message.at,
        updated_at: message.at,
    };
    let server = server_of(app, channel).await;
    app.told.tell(channel, "messageBroadcast", agents_broadcast(&told, "serverId", server));
}

/// Tells that an agent says nothing more, so that a page lets its person write again. elizaOS's own pages
/// wait for both events.
async fn ended(
    app: &App,
    channel: Uuid,
    agent: AgentId,
    turn: TurnId,
    failed: Option<(Option<String>, Option<String>)>,
) {
    if let Some((sent, reason)) = failed {
        let told = json!({
            "messageId": turn,
            "channelId": channel,
            "agentId": agent,
            "error": reason.unwrap_or_else(|| "no answer could be made".to_owned()),
            "partialText": sent.unwrap_or_default(),
        });
        app.told.tell(channel, "messageStreamError", told);
    }
    let server = server_of(app, channel).await;
    let told = json!({ "channelId": channel, "roomId": channel, "serverId": server });
    app.told.tell(channel, "messageComplete", told);
    let told = json!({ "action": "enable_input", "target": "input", "channelId": channel, "roomId": channel });
    app.told.tell(channel, "controlMessage", told);
}

/// Follows what people say to agents, where it did not come through this process's own routes.
async fn messages(app: Weak<App>) {
    let (mut after, mut known) = (None, Known::default());
    loop {
        let Some(live) = app.upgrade().map(|app| Arc::clone(&app.live)) else { return };
        let Ok(mut follower) = live.follow(&reader(), after).await else {
            sleep(PAUSE).await;
            continue;
        };
        drop(live);
        loop {
            let event = match follower.next().await {
                Ok(Some(Followed::Event(event))) => event,
                Ok(Some(Followed::Missed(seq))) => {
                    after = Some(seq);
                    continue;
                }
                Ok(None) => return,
                Err(_) => break,
            };
            after = Some(event.seq);
            if event.kind != RECEIVED {
                continue;
            }
            let Some(app) = app.upgrade() else { return };
            received(&app, &event, &mut known).await;
        }
        sleep(PAUSE).await;
    }
}

/// An id in an event.
fn id(event: &LiveEvent, key: &str) -> Option<Uuid> {
    event.data.get(key).and_then(Value::as_str)?.parse().ok()
}

/// Tells what a person said, unless it was told already.
async fn received(app: &App, event: &LiveEvent, known: &mut Known) {
    let (Some(room), Some(memory)) = (id(event, "room"), id(event, "memory")) else { return };
    let Some(channel) = known.channel(app, RoomId(room)).await else { return };
    if !app.told.is_joined(&channel.to_string()) {
        return;
    }
    let by = reader();
    let Ok((item, _)) = app.ops.turn(&by, MemoryId(memory)).await else { return };
    let said = &item.entry.memory;
    // What another agent of the channel said is told as its answer.
    let Some(message) = message_of(&item) else { return };
    if item.entry.envelope.from_bot || !app.told.is_first(message) {
        return;
    }
    let server = server_of(app, channel).await;
    let told = match app.ops.channel_message(&by, message).await {
        Ok(Some(kept)) => {
            let name = kept.metadata.get("user_display_name").and_then(Value::as_str);
            broadcast(&kept, name, server)
        }
        _ => json!({
            "senderId": said.entity_id,
            "senderName": item.entry.envelope.user_name.as_deref().unwrap_or("User"),
            "text": said.content.text,
            "roomId": channel,
            "messageServerId": server,
            "createdAt": said.created_at.0,
            "source": said.content.source,
            "id": said.id,
        }),
    };
    app.told.tell(channel, "messageBroadcast", told);
}
