//! The toy connector and its harness. A const parameter selects a bug, or none.

mod harness;

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use galatea_core::{
    Account, Address, Addressed, Batch, Capabilities, ChannelType, Connection, Connector,
    ConnectorInfo, Content, Cursor, Delivery, Encoded, EntityRef, Error, ErrorKind, Finding,
    Gateway, Health, Incoming, IncomingEvent, IncomingMessage, Outgoing, Press, ReadBack,
    ReadBackContext, ReadBackResult, Receipt, RemoteId, Result, Retry, RoomRef, SendHandler, Sent,
    Source, TextUnit, Timestamp, WorldRef,
};
use galatea_testkit::connector_suite::{
    ConnectorHarness, PlatformFault, Said, Shown, Spot, SpotKind,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    platform::{Did, Event, Platform, Sent as Outcome},
    split::{MAX, split},
};

const SECRET: &str = "toy-secret-canary";

/// Bugs a toy connector can have.
pub(crate) struct Bug;

impl Bug {
    pub(crate) const NONE: u8 = 0;
    pub(crate) const ACKNOWLEDGES_EARLY: u8 = 1;
    pub(crate) const SKIPS_REFUSED: u8 = 2;
    pub(crate) const WRONG_ROOM: u8 = 3;
    pub(crate) const MENTION_BY_NAME: u8 = 4;
    pub(crate) const NO_REPLY_TARGET: u8 = 5;
    pub(crate) const LATE_HANDLER: u8 = 6;
    pub(crate) const LOSES_TEXT: u8 = 7;
    pub(crate) const BREAKS_FENCES: u8 = 8;
    pub(crate) const RETRIES_INSIDE: u8 = 9;
    pub(crate) const DENIES_UNKNOWN_OUTCOME: u8 = 10;
    pub(crate) const IGNORES_WAIT: u8 = 11;
    pub(crate) const FINDS_EVERYTHING: u8 = 12;
    pub(crate) const TELLS_SECRET: u8 = 13;
    pub(crate) const LOGS_SECRET: u8 = 14;
    pub(crate) const IGNORES_STOP: u8 = 15;
    pub(crate) const UNSTABLE: u8 = 16;
}

/// The harness and, through its platform, the connector.
pub(crate) struct Toy<const BUG: u8>(Platform);

struct ToyConnector<const BUG: u8> {
    platform: Platform,
    info: ConnectorInfo,
}

struct ToyHandler<const BUG: u8>(Platform);

fn decode<const BUG: u8>(event: &Event) -> Incoming {
    let kind = if event.room.as_str() == "ann" { ChannelType::Dm } else { ChannelType::Group };
    let room = if BUG == Bug::WRONG_ROOM { RemoteId::new("elsewhere") } else { event.room.clone() };
    let connection = Connection {
        world: WorldRef::new(event.room.clone(), None),
        room: RoomRef::new(room, None, kind),
        entity: Some(EntityRef::new(RemoteId::new("ann"), Some("Ann".into()), None)),
    };
    let happened = match event.did.clone() {
        Did::Said { id, text, mention, reply_to, to_us } => {
            IncomingEvent::Message(IncomingMessage {
                id,
                legacy_id: None,
                addressed: Addressed {
                    mention: mention || (BUG == Bug::MENTION_BY_NAME && text.contains("Galatea")),
                    reply: to_us,
                },
                content: Content::text(text),
                reply_to: reply_to.filter(|_| BUG != Bug::NO_REPLY_TARGET),
                command: None,
                from_self: false,
            })
        }
        Did::Edited { id, text } => IncomingEvent::Edited {
            id,
            content: Content::text(text),
            addressed: Addressed::default(),
        },
        Did::Deleted { id } => IncomingEvent::Deleted { ids: vec![id] },
        Did::Reacted { id, emoji } => {
            IncomingEvent::Reacted { id, added: vec![emoji], removed: Vec::new() }
        }
        Did::Pressed { number, message, data } => IncomingEvent::Pressed {
            id: RemoteId(format!("p{number}")),
            message: Some(message),
            data,
        },
    };
    Incoming { connection, event: happened, at: Timestamp(1_000 + event.number as i64) }
}

#[async_trait]
impl<const BUG: u8> Connector for ToyConnector<BUG> {
    fn info(&self) -> &ConnectorInfo {
        &self.info
    }

    async fn check(&self) -> Vec<Finding> {
        vec![if self.platform.lock().away {
            Finding::failure("connector", &away::<BUG>())
        } else {
            Finding::ok("TOY", "connector", "works")
        }]
    }

    async fn run(&self, gateway: Gateway, stop: CancellationToken) -> Result<()> {
        let handler = Arc::new(ToyHandler::<BUG>(self.platform.clone()));
        if BUG != Bug::LATE_HANDLER {
            gateway.register_send_handler(handler.clone());
        }
        gateway.report(Health::Up { detail: "@toy".into() });
        let mut changes = self.platform.changed.subscribe();
        loop {
            let (gone, events) = {
                let mut state = self.platform.lock();
                let from = if std::mem::take(&mut state.again) { 0 } else { state.acknowledged };
                (state.away, state.events[from..].to_vec())
            };
            if gone {
                return Err(away::<BUG>());
            }
            if let Some(last) = events.last() {
                let next = last.number + 1;
                if BUG == Bug::ACKNOWLEDGES_EARLY || BUG == Bug::SKIPS_REFUSED {
                    self.platform.change(|s| s.acknowledged = next);
                }
                let cursor = Some(Cursor { stream: "events".into(), position: next.to_string() });
                gateway
                    .receive(Batch {
                        events: events.iter().map(decode::<BUG>).collect(),
                        cursor,
                        ..Batch::default()
                    })
                    .await?;
                gateway.register_send_handler(handler.clone());
                self.platform.change(|s| s.acknowledged = next);
                continue;
            }
            tokio::select! {
                () = stop.cancelled(), if BUG != Bug::IGNORES_STOP => return Ok(()),
                _ = changes.changed() => {}
            }
        }
    }
}

fn away<const BUG: u8>() -> Error {
    let error = Error::new(ErrorKind::Unavailable, "the platform is away");
    match BUG {
        Bug::TELLS_SECRET => error.with_source(format!("https://toy/{SECRET}/send refused")),
        Bug::LOGS_SECRET => {
            tracing::debug!(url = format!("https://toy/{SECRET}"), "refused");
            error
        }
        _ => error,
    }
}

#[async_trait]
impl<const BUG: u8> SendHandler for ToyHandler<BUG> {
    fn encode(&self, outgoing: &Outgoing) -> Result<Vec<Encoded>> {
        Ok(match outgoing {
            Outgoing::Message { content, reply_to } => {
                let mut parts = split(&content.text, BUG != Bug::BREAKS_FENCES);
                if BUG == Bug::LOSES_TEXT {
                    parts.truncate(1);
                }
                let last = parts.len().saturating_sub(1);
                let salt = if BUG == Bug::UNSTABLE {
                    galatea_core::TurnId::fresh().to_string()
                } else {
                    String::new()
                };
                let part = |(i, text): (usize, String)| {
                    let buttons = if i == last { json!(content.buttons) } else { Value::Null };
                    let files = if i == last { json!(content.attachments) } else { Value::Null };
                    Encoded(
                        json!({ "text": text, "reply": if i == 0 { reply_to.clone() } else { None }, "buttons": buttons, "files": files, "salt": salt }),
                    )
                };
                parts.into_iter().enumerate().map(part).collect()
            }
            Outgoing::Edit { id, content } => {
                vec![Encoded(json!({ "edit": id, "text": content.text }))]
            }
            Outgoing::React { id, emoji } => vec![Encoded(json!({ "react": id, "emoji": emoji }))],
            Outgoing::Delete { id } => vec![Encoded(json!({ "delete": id }))],
            Outgoing::Typing => Vec::new(),
        })
    }

    async fn send(&self, delivery: &Delivery) -> Result<Receipt> {
        let body = &delivery.body.0;
        let id = |key: &str| body[key].as_str().map(RemoteId::new);
        if let Some(target) = id("edit") {
            self.0.change(|s| {
                s.shown
                    .iter_mut()
                    .filter(|(_, m)| m.id == target)
                    .for_each(|(_, m)| m.text = body["text"].as_str().unwrap().to_owned())
            });
        } else if let Some(target) = id("delete") {
            self.0.change(|s| s.shown.retain(|(_, m)| m.id != target));
        } else if let Some(target) = id("react") {
            self.0.change(|s| {
                s.reactions.retain(|(m, _)| *m != target);
                s.reactions.extend(body["emoji"].as_str().map(|e| (target, e.to_owned())));
            });
        } else {
            return self.say(delivery, body);
        }
        Ok(Receipt::default())
    }

    async fn find(&self, delivery: &Delivery, _: &ReadBackContext) -> Result<ReadBackResult> {
        let state = self.0.lock();
        let text = delivery.body.0["text"].as_str().unwrap();
        let found = state.shown.iter().find(|(room, m)| {
            *room == delivery.address.remote && (m.text == text || BUG == Bug::FINDS_EVERYTHING)
        });
        Ok(found.map_or(ReadBackResult::NotSent, |(_, m)| {
            ReadBackResult::Sent(Receipt { id: Some(m.id.clone()), moved_to: None })
        }))
    }

    async fn typing(&self, _: &Address) -> Result<()> {
        if self.0.lock().away {
            return Err(away::<BUG>());
        }
        self.0.change(|s| s.typing = true);
        Ok(())
    }
}

impl<const BUG: u8> ToyHandler<BUG> {
    fn say(&self, delivery: &Delivery, body: &Value) -> Result<Receipt> {
        let room = &delivery.address.remote;
        let press = |b: &galatea_core::Button| match &b.press {
            Press::Url(u) | Press::Data(u) => (b.text.clone(), u.clone()),
        };
        let rows: Vec<Vec<galatea_core::Button>> =
            serde_json::from_value(body["buttons"].clone()).unwrap_or_default();
        let buttons: Vec<Vec<_>> = rows.iter().map(|r| r.iter().map(press).collect()).collect();
        let media: Vec<galatea_core::Media> =
            serde_json::from_value(body["files"].clone()).unwrap_or_default();
        // The only file that the suite sends.
        let files: Vec<_> =
            media.iter().map(|m| (m.title.clone(), Bytes::from_static(b"hello world"))).collect();
        let once = || {
            self.0.send(
                room,
                body["text"].as_str().unwrap().trim_end(),
                body["reply"].as_str().map(RemoteId::new),
                buttons.clone(),
                files.clone(),
            )
        };
        let mut outcome = once();
        if BUG == Bug::RETRIES_INSIDE && matches!(outcome, Outcome::Lost) {
            outcome = once();
        }
        let failed = |kind, sent| Err(Error::new(kind, "the toy failed").with_sent(sent));
        match outcome {
            Outcome::Shown(id) => Ok(Receipt { id: Some(id), moved_to: None }),
            Outcome::SlowDown(_) if BUG == Bug::IGNORES_WAIT => {
                failed(ErrorKind::RateLimited, Sent::No)
            }
            Outcome::SlowDown(wait) => {
                Err(Error::new(ErrorKind::RateLimited, "slow down").with_retry(Retry::After(wait)))
            }
            Outcome::Broken => failed(ErrorKind::Unavailable, Sent::Maybe),
            Outcome::Lost => failed(
                ErrorKind::Timeout,
                if BUG == Bug::DENIES_UNKNOWN_OUTCOME { Sent::No } else { Sent::Maybe },
            ),
            Outcome::Forbidden => failed(ErrorKind::Forbidden, Sent::No),
            Outcome::Away => Err(away::<BUG>()),
        }
    }
}
