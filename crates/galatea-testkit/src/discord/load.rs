//! Load over many direct message channels, and the short path for its calls: no history, no checks,
//! no stored messages, no limits.

use std::{collections::BTreeMap, time::Instant};

use axum::http::{Method, Uri};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

use super::{
    sessions::intent,
    state::{Shared, State},
    world::{Channel, Message, Person, may},
};
use crate::load::{Load, LoadPlan};

/// Id of the load's first room. The person and the channel of a room share one id.
const FIRST_ROOM: u64 = 6_000_000_000 << 22;
/// Most messages sent at once, as many as the largest page of any platform.
const AT_ONCE: usize = 100;

/// Starts a load. Rooms are created now, messages when the gateway connection is ready to send.
pub(crate) fn start(state: &mut State, plan: LoadPlan) {
    for (n, id) in (0..plan.rooms).zip(FIRST_ROOM..) {
        state.world.people.entry(id).or_insert_with(|| Person {
            name: format!("Load {n}"),
            username: format!("load_{n}"),
            bot: false,
            takes_direct: true,
        });
        state.world.channels.entry(id).or_insert_with(|| Channel {
            guild: None,
            kind: 1,
            name: String::new(),
            parent: None,
            recipient: Some(id),
            may: may::INVITED,
            archived: false,
            silenced: Vec::new(),
            messages: BTreeMap::new(),
        });
    }
    state.load = Some(Load::new(plan));
}

impl State {
    /// Sends the questions that are due, at most [`AT_ONCE`] of them, and records the time.
    pub(crate) fn say_due(&mut self) {
        let now = Instant::now();
        for _ in 0..AT_ONCE {
            let Some(question) = self.load.as_mut().and_then(|load| load.ask(now)) else { return };
            let room = FIRST_ROOM + question.room as u64;
            let at = self.now();
            let message = Message {
                id: self.world.id(at),
                channel: room,
                author: room,
                content: question.text,
                ..Message::default()
            };
            self.dispatch_message("MESSAGE_CREATE", &message);
            if let Some(load) = &mut self.load {
                load.handed_out(question.number, now);
            }
        }
    }
}

#[derive(Deserialize)]
struct Create {
    content: String,
    #[serde(default)]
    nonce: Option<Value>,
}

/// Body of the answer to a call that is part of a load, empty for 204. `None` for other calls and
/// when checks are on.
pub(crate) fn answer(
    shared: &std::sync::Arc<Shared>,
    method: &Method,
    uri: &Uri,
    body: &Bytes,
) -> Option<Bytes> {
    let mut state = shared.lock();
    if state.options.checks || method != Method::POST {
        return None;
    }
    let (channel, what) = uri.path().strip_prefix("/api/v10/channels/")?.split_once('/')?;
    let channel: u64 = channel.parse().ok()?;
    match what {
        "typing" => Some(Bytes::new()),
        "messages" => {
            let Create { content, nonce } = serde_json::from_slice(body).ok()?;
            let at = state.now();
            let message = Message {
                id: state.world.id(at),
                channel,
                author: state.world.bot,
                content,
                nonce,
                ..Message::default()
            };
            if let (Some(load), Some(room)) = (&mut state.load, channel.checked_sub(FIRST_ROOM)) {
                load.answered(usize::try_from(room).unwrap_or(usize::MAX), &message.content);
            }
            // Discord sends a bot its own messages, too.
            let event = state.world.message_event(&message, &state.base);
            let bot = state.world.bot;
            state.sessions.dispatch(None, intent::DIRECT_MESSAGES, "MESSAGE_CREATE", &event, bot);
            drop(state);
            shared.bump();
            Some(Bytes::from(event.to_string()))
        }
        _ => None,
    }
}
