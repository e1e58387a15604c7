//! The gateway: connections with their heartbeats, events in order, and close codes.

mod session;

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;

use super::{
    faults::{Order, Silent},
    sessions::RAW,
    state::{Shared, State},
};
use crate::{load::Load, loopback::Wire};

/// Payloads that a connection may send per minute (Discord, "Rate Limiting": gateway).
const MAX_PAYLOADS: usize = 120;
/// Tolerance for a late heartbeat, added to the interval.
const TOLERANCE: Duration = Duration::from_secs(5);

/// The way the server ends a connection.
enum Over {
    Close(u16),
    Silent,
}

struct Connection {
    shared: Arc<Shared>,
    number: u64,
    session: Option<String>,
    /// True if it asked to resume a session and got no answer. Until then heartbeats acknowledge
    /// the events of that session.
    resuming: bool,
    /// Number of the last event sent on this connection.
    sent: u64,
    acks: bool,
    /// True if events are held back for good.
    silent: bool,
    payloads: Vec<Instant>,
    last_beat: Instant,
}

/// Serves one connection until it ends.
pub(crate) async fn serve(shared: Arc<Shared>, wire: Wire, mut socket: WebSocket) {
    let mut changes = shared.changed.subscribe();
    let (number, mut orders, interval, greets) = {
        let mut state = shared.lock();
        state.connections += 1;
        let greets = !state.falls_silent(Silent::Hello);
        (state.connections, state.orders.subscribe(), state.options.heartbeat, greets)
    };
    let mut connection = Connection {
        shared: shared.clone(),
        number,
        session: None,
        resuming: false,
        sent: 0,
        acks: true,
        silent: false,
        payloads: Vec::new(),
        last_beat: Instant::now(),
    };
    let millis = u64::try_from(interval.as_millis()).unwrap_or(u64::MAX);
    let hello = json!({ "op": 10, "d": { "heartbeat_interval": millis, "_trace": [] }, "s": null, "t": null });
    let mut over =
        if !greets || send(&mut socket, &hello).await { None } else { Some(Over::Silent) };
    while over.is_none() {
        if shared.unreachable.load(Ordering::Acquire) {
            wire.cut_after(0);
            over = Some(Over::Silent);
            break;
        }
        for event in connection.ready() {
            if socket.send(Message::Text(event.into())).await.is_err() {
                over = Some(Over::Silent);
                break;
            }
        }
        if over.is_some() {
            break;
        }
        let due =
            (connection.last_beat + interval + TOLERANCE).saturating_duration_since(Instant::now());
        let load = connection.load();
        tokio::select! {
            // Orders of the test precede traffic.
            biased;
            () = shared.stop.cancelled() => return,
            order = orders.recv() => match order {
                Ok(order) => over = connection.order(&mut socket, &wire, order).await,
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return,
            },
            // Heartbeats precede events: under load there is always another event.
            got = socket.recv() => match got {
                Some(Ok(Message::Text(text))) => match connection.take(text.as_str()) {
                    Ok(answers) => {
                        for answer in answers {
                            if !send(&mut socket, &answer).await {
                                over = Some(Over::Silent);
                            }
                        }
                    }
                    Err(end) => over = Some(end),
                },
                Some(Ok(Message::Close(frame))) => {
                    connection.left(frame.map(|f| f.code));
                    return;
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => over = Some(Over::Silent),
            },
            _ = changes.changed() => {}
            () = load => {}
            () = tokio::time::sleep(due) => {
                shared.lock().violate("gateway", "no heartbeat within its interval");
                over = Some(Over::Close(4009));
            }
        }
    }
    if let Some(Over::Close(code)) = over {
        if matches!(code, 4003 | 4004 | 4007 | 4009 | 4010..=4014) {
            connection.end_session();
        }
        let _ = socket.send(Message::Close(Some(CloseFrame { code, reason: "".into() }))).await;
    }
    connection.left(None);
}

async fn send(socket: &mut WebSocket, payload: &Value) -> bool {
    socket.send(Message::Text(payload.to_string().into())).await.is_ok()
}

impl Connection {
    /// Events that were not yet sent on this connection, as text.
    fn ready(&mut self) -> Vec<String> {
        let mut state = self.shared.lock();
        if self.session.is_some() {
            state.say_due();
        }
        if self.silent {
            return Vec::new();
        }
        let Some(session) = state.sessions.of(self.number) else { return Vec::new() };
        let text =
            |(s, name, data): &(u64, String, Value)| match data.as_str().filter(|_| name == RAW) {
                Some(raw) => raw.replace("{s}", &s.to_string()),
                None => json!({ "op": 0, "s": s, "t": name, "d": data }).to_string(),
            };
        let events: Vec<String> = session.after(self.sent).map(text).collect();
        self.sent = session.sequence;
        events
    }

    /// Completes when the next question of the load is due.
    fn load(&self) -> impl Future<Output = ()> + use<> {
        let due = if self.session.is_some() {
            self.shared.lock().load.as_ref().and_then(Load::next_due)
        } else {
            None
        };
        async move {
            match due {
                Some(due) => tokio::time::sleep_until(due.into()).await,
                None => std::future::pending().await,
            }
        }
    }

    async fn order(&mut self, socket: &mut WebSocket, wire: &Wire, order: Order) -> Option<Over> {
        let payload = match order {
            Order::Reconnect => json!({ "op": 7, "d": null }),
            Order::InvalidSession(resumable) => {
                if !resumable {
                    self.end_session();
                }
                json!({ "op": 9, "d": resumable })
            }
            Order::AskHeartbeat => json!({ "op": 1, "d": null }),
            Order::Close(code) => return Some(Over::Close(code)),
            Order::StopAcks => {
                self.acks = false;
                return None;
            }
            Order::Drop => {
                wire.cut_after(0);
                return Some(Over::Silent);
            }
            Order::CutAfter(bytes) => {
                wire.cut_after(bytes);
                return None;
            }
        };
        (!send(socket, &payload).await).then_some(Over::Silent)
    }

    fn end_session(&self) {
        let mut state = self.shared.lock();
        let number = self.number;
        state.sessions.all.retain(|_, s| s.connection != Some(number));
    }

    /// Detaches the session from the connection. Close codes 1000 and 1001 end the session; after
    /// any other end it can be resumed.
    fn left(&self, code: Option<u16>) {
        let mut state = self.shared.lock();
        if matches!(code, Some(1000 | 1001)) {
            state.violate("gateway", "closed with a code that ends the session");
            let number = self.number;
            state.sessions.all.retain(|_, s| s.connection != Some(number));
        } else if let Some(session) = state.sessions.of(self.number) {
            session.connection = None;
        }
        drop(state);
        self.shared.bump();
    }

    /// Handles a payload of the client and returns the answers.
    fn take(&mut self, text: &str) -> Result<Vec<Value>, Over> {
        let shared = self.shared.clone();
        let mut state = shared.lock();
        let now = Instant::now();
        self.payloads.retain(|at| now - *at < Duration::from_secs(60));
        self.payloads.push(now);
        if self.payloads.len() > MAX_PAYLOADS {
            state.violate("gateway", "more than 120 payloads in a minute");
            return Err(Over::Close(4008));
        }
        let Ok(payload) = serde_json::from_str::<Value>(text) else {
            state.violate("gateway", "a payload that is not JSON");
            return Err(Over::Close(4002));
        };
        if text.len() > 4096 {
            state.violate("gateway", "a payload of more than 4096 bytes");
            return Err(Over::Close(4002));
        }
        let answers = match payload["op"].as_u64() {
            Some(1) => self.heartbeat(&mut state, &payload["d"])?,
            Some(2) => self.identify(&mut state, &payload["d"])?,
            Some(6) => self.resume(&mut state, &payload["d"])?,
            Some(8) if self.session.is_some() => self.members(&mut state, &payload["d"])?,
            Some(3 | 4 | 31) if self.session.is_some() => Vec::new(),
            Some(3 | 4 | 8 | 31) => {
                state.violate("gateway", "a payload before identify");
                return Err(Over::Close(4003));
            }
            _ => {
                state.violate("gateway", "an unknown opcode");
                return Err(Over::Close(4001));
            }
        };
        drop(state);
        shared.bump();
        Ok(answers)
    }

    fn heartbeat(&mut self, state: &mut State, sequence: &Value) -> Result<Vec<Value>, Over> {
        self.last_beat = Instant::now();
        let number = self.number;
        let sent = self.sent;
        match (sequence, state.sessions.of(number)) {
            (Value::Null, _) => {}
            (acknowledged, Some(session)) => match acknowledged.as_u64() {
                Some(acknowledged) if acknowledged <= sent => session.acknowledge(acknowledged),
                _ => {
                    state.violate("gateway", "a heartbeat acknowledges an event that was not sent");
                    return Err(Over::Close(4007));
                }
            },
            // The session has moved to another connection; this client cannot know that yet.
            (_, None) if self.session.is_some() || self.resuming => {}
            (_, None) => state
                .violate("gateway", "a heartbeat acknowledges an event before there is a session"),
        }
        Ok(if self.acks { vec![json!({ "op": 11, "d": null })] } else { Vec::new() })
    }
}
