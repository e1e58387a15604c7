//! The connector and the send handler of a platform that the test controls.

use async_trait::async_trait;
use galatea_core::{
    Address, Connector, ConnectorInfo, Delivery, Encoded, Encoding, Error, ErrorKind, Finding,
    Gateway, Media, Outgoing, Priority, Reach, ReadBackContext, ReadBackResult, Receipt, RemoteId,
    Result, Retry, SendHandler, Sent, Speak,
};
use galatea_runtime::{Encoder, Encoders};
use std::{
    collections::VecDeque,
    sync::{Arc, atomic::Ordering},
};
use tokio_util::sync::CancellationToken;

use super::{Doing, Meanwhile, Platform};

/// The connector for a platform; its send handler shares the platform.
pub(crate) struct Plugged(pub(crate) Arc<Platform>);

#[async_trait]
impl Connector for Plugged {
    fn info(&self) -> &ConnectorInfo {
        &self.0.info
    }

    async fn check(&self) -> Vec<Finding> {
        Vec::new()
    }

    fn send_handler(&self) -> Option<Arc<dyn SendHandler>> {
        self.0.shared.load(Ordering::Relaxed).then(|| Arc::new(Hand(Arc::clone(&self.0))) as _)
    }

    async fn run(&self, gateway: Gateway, stop: CancellationToken) -> Result<()> {
        gateway.register_send_handler(Arc::new(Hand(Arc::clone(&self.0))));
        self.0.gateway.send_replace(Some(gateway));
        stop.cancelled().await;
        Ok(())
    }
}

impl Platform {
    /// Lets a process write for the accounts of this platform without their login.
    pub(crate) fn encoders(self: &Arc<Self>) -> Encoders {
        let platform = Arc::clone(self);
        Encoders::new(move |known| {
            let hand = Hand(Arc::clone(&platform));
            let encode = Box::new(move |outgoing: &Outgoing| hand.encode(outgoing));
            let encoding = Encoding { encode, awaits: |_| false };
            let handler = Arc::new(galatea_core::Encoder::new(known, encoding));
            Ok((known.info.source == platform.info.source)
                .then(|| Encoder { handler, settings: None }))
        })
    }
}

struct Hand(Arc<Platform>);

#[async_trait]
impl SendHandler for Hand {
    fn encode(&self, outgoing: &Outgoing) -> Result<Vec<Encoded>> {
        if let Outgoing::React { emoji, .. } = outgoing {
            return Ok(vec![Encoded(serde_json::json!({ "text": emoji, "reaction": true }))]);
        }
        let Outgoing::Message { content, reply_to } = outgoing else { return Ok(Vec::new()) };
        let due = |(words, _): &mut Meanwhile| content.text.contains(*words);
        let meanwhile = self.0.lock().meanwhile.take_if(due);
        if let Some((_, happens)) = meanwhile {
            happens();
        }
        if content.text.contains("UNENCODABLE") {
            return Err(Error::invalid("this cannot be shown here"));
        }
        let label = content.extra.get("label");
        let files: Vec<&str> = content.attachments.iter().map(|media| media.url.as_str()).collect();
        // "||" marks where a long text is split.
        Ok(content
            .text
            .split("||")
            .map(|text| {
                Encoded(serde_json::json!({
                    "text": text, "replyTo": reply_to, "label": label, "files": files
                }))
            })
            .collect())
    }

    fn barred(&self, at: &Address, _: &RemoteId) -> Option<Error> {
        let known = self.0.lock().barred.as_deref() == Some(at.remote.as_str());
        known.then(|| {
            Error::new(ErrorKind::Forbidden, "Cannot write here")
                .with_code("GAL-TEST-MUTE")
                .with_fix("let it write")
        })
    }

    fn priority(&self, body: &Encoded) -> Priority {
        if body.0.get("reaction").is_some() { Priority::Change } else { Priority::Answer }
    }

    async fn send(&self, delivery: &Delivery) -> Result<Receipt> {
        let platform = &self.0;
        let doing = {
            let mut state = platform.lock();
            state.attempts += 1;
            let outage = state.outage.pop_front();
            state.outage.extend(outage.clone());
            outage.or_else(|| {
                state.doings.get_mut(delivery.address.remote.as_str()).and_then(VecDeque::pop_front)
            })
        };
        let lost = || Error::new(ErrorKind::Unavailable, "no answer").with_sent(Sent::Maybe);
        let outcome = match doing {
            None | Some(Doing::Fine) => Ok(platform.show(delivery)),
            Some(Doing::FloodAll(delay)) => Err(Error::new(ErrorKind::RateLimited, "slow down")
                .with_retry(Retry::After(delay))
                .with_reach(Reach::Account)),
            Some(Doing::FloodWorld(delay)) => Err(Error::new(ErrorKind::RateLimited, "slow down")
                .with_retry(Retry::After(delay))
                .with_reach(Reach::World)),
            Some(Doing::Flood(delay)) => {
                Err(Error::new(ErrorKind::RateLimited, "slow down").with_retry(Retry::After(delay)))
            }
            Some(Doing::Unavailable) => {
                Err(Error::new(ErrorKind::Unavailable, "connection refused").with_sent(Sent::No))
            }
            Some(Doing::LostAfter) => {
                platform.show(delivery);
                Err(lost())
            }
            Some(Doing::LostBefore) => Err(lost()),
            Some(Doing::Never) => Err(Error::new(ErrorKind::Forbidden, "blocked by the person")),
            Some(doing @ (Doing::Hang | Doing::ShowThenHang)) => {
                if matches!(doing, Doing::ShowThenHang) {
                    platform.show(delivery);
                }
                platform.changes.send_modify(|n| *n += 1);
                std::future::pending().await
            }
            Some(Doing::Panic) => {
                platform.changes.send_modify(|n| *n += 1);
                panic!("on purpose")
            }
        };
        platform.changes.send_modify(|n| *n += 1);
        outcome
    }

    async fn find(&self, delivery: &Delivery, _: &ReadBackContext) -> Result<ReadBackResult> {
        let mut state = self.0.lock();
        state.finds += 1;
        self.0.changes.send_modify(|n| *n += 1);
        if state.blind {
            return Ok(ReadBackResult::Unknown);
        }
        let there = state.shown.iter().position(|s| s.key == delivery.key);
        Ok(there.map_or(ReadBackResult::NotSent, |at| {
            ReadBackResult::Sent(Receipt {
                id: Some(RemoteId::new(format!("own-{}", at + 1))),
                moved_to: None,
            })
        }))
    }

    async fn may_speak(&self, at: &Address, person: &RemoteId) -> Result<Speak> {
        let may_not = self
            .0
            .lock()
            .restricted
            .iter()
            .any(|(room, who)| room == at.remote.as_str() && who == person.as_str());
        Ok(if may_not { Speak::No } else { Speak::Yes })
    }

    async fn fetch(&self, media: &Media, _: usize) -> Result<Vec<u8>> {
        let missing = || Error::new(ErrorKind::Unavailable, "no such file");
        let mut state = self.0.lock();
        if state.failing > 0 {
            state.failing -= 1;
            return Err(Error::new(ErrorKind::Unavailable, "HTTP 502"));
        }
        state.files.get(&media.url).cloned().ok_or_else(missing)
    }

    async fn typing(&self, at: &Address) -> Result<()> {
        let doing = {
            let mut state = self.0.lock();
            state.typed.push(at.remote.to_string());
            state.typing.clone()
        };
        self.0.changes.send_modify(|n| *n += 1);
        match doing {
            None => Ok(()),
            Some(Doing::Hang) => std::future::pending().await,
            Some(Doing::Panic) => panic!("on purpose"),
            Some(Doing::Unavailable) => Err(Error::new(ErrorKind::Unavailable, "HTTP 502")),
            Some(_) => Err(Error::new(ErrorKind::Forbidden, "typing is not allowed")),
        }
    }
}
