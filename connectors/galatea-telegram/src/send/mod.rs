//! Sends deliveries with Bot API calls. The error of a failed send says whether the message may
//! have been posted, and the runtime decides about a retry.

pub(crate) mod api;
pub(crate) mod chat_state;
mod closed;
mod files;
mod find;
mod refused_file;
mod sender;
mod speak;

use async_trait::async_trait;
use bytes::Bytes;
use dashmap::DashMap;
use galatea_core::{
    Address, Delivery, DeliveryId, Encoded, Error, ErrorKind, Media, Outgoing, Priority,
    ReadBackContext, ReadBackResult, Receipt, RemoteId, Result, SendHandler, SendPermit, Speak,
};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json};
use std::{path::Path, sync::Arc};

use crate::{
    decode::place::{ChatTarget, GENERAL_TOPIC, message_id, parse_message, room_id},
    encode::{self, BotCall, Method},
    error::{Failure, Refusal, codes},
};
use api::BotApi;
use chat_state::ChatState;
use sender::{PostedMessage, answered};

pub(crate) use self::sender::TelegramSender;

/// Most receipts kept in memory for read-back.
const MAX_RECEIPTS: usize = 4096;

impl TelegramSender {
    /// Builds the send handler. Attachments with `file:` addresses are read from `folder`.
    pub(crate) fn new(api: BotApi, chat_state: Arc<ChatState>, folder: &Path) -> Self {
        Self { api, chat_state, receipts: DashMap::new(), folder: folder.to_owned() }
    }

    /// Downloads an attachment `telegram:<file_id>`.
    pub(crate) async fn download(&self, url: &str) -> Result<Bytes> {
        let id = url.strip_prefix("telegram:").ok_or_else(|| {
            Error::invalid("not an attachment of Telegram").with_code(codes::INVALID)
        })?;
        self.api.download(id).await
    }

    fn remember(&self, target: ChatTarget, ids: &[RemoteId], delivery: DeliveryId) {
        for (chat, message) in ids.iter().filter_map(parse_message) {
            self.chat_state.posted(chat.unwrap_or(target.chat), message);
        }
        if let Some(first) = ids.first() {
            // Only the newest receipts matter, because older deliveries are settled.
            if self.receipts.len() >= MAX_RECEIPTS {
                self.receipts.clear();
            }
            self.receipts.insert(delivery, first.clone());
        }
    }

    async fn attempt(
        &self,
        part: &BotCall,
        target: ChatTarget,
        permit: &SendPermit,
    ) -> Result<Vec<RemoteId>, Failure> {
        let method = part.method.as_str();
        let params = &part.params;
        let ids = |posted: &[PostedMessage]| {
            posted.iter().map(|p| message_id(p.chat.id, p.message_id)).collect()
        };
        let own = || {
            params
                .get("message_id")
                .and_then(Value::as_i64)
                .and_then(|id| i32::try_from(id).ok())
                .map(|id| message_id(target.chat, id))
        };
        if !part.files.is_empty() {
            let form =
                files::form(params, &part.files, &self.folder).await.map_err(Failure::Transport)?;
            return match part.method {
                Method::SendMediaGroup => {
                    self.api.upload::<Vec<PostedMessage>>(method, form).await.map(|p| ids(&p))
                }
                _ => self.api.upload::<PostedMessage>(method, form).await.map(|p| ids(&[p])),
            };
        }
        match part.method {
            Method::SendMediaGroup => {
                self.api.call::<Vec<PostedMessage>>(method, params).await.map(|p| ids(&p))
            }
            m if m.posts() => {
                self.api.call_with::<PostedMessage>(method, params, permit).await.map(|p| ids(&[p]))
            }
            Method::EditMessageText | Method::EditMessageCaption => self
                .api
                .call::<IgnoredAny>(method, params)
                .await
                .map(|_| own().into_iter().collect()),
            _ => self.api.call::<IgnoredAny>(method, params).await.map(|_| Vec::new()),
        }
    }

    /// Sends a delivery, with the remedies for refusals.
    async fn send_part(&self, delivery: &Delivery, permit: &SendPermit) -> Result<Receipt> {
        let mut part = BotCall::read(&delivery.body)?;
        let mut target = ChatTarget::parse(&delivery.address.remote)?;
        let named = part.params.get("chat_id").and_then(Value::as_i64);
        if let Some(chat) = named {
            target.chat = chat;
        }
        address(&mut part, target, self.chat_state.forum(target.chat));
        if part.method.posts() {
            self.chat_state.begin(delivery.id, target.chat, answered(&part, target));
        }
        let mut moved_to = None;
        // Each round after the first follows a refusal below 500, so the call before it had no
        // effect. Every remedy applies at most once, and there are six for one message.
        for _ in 0..7 {
            let failure = match self.attempt(&part, target, permit).await {
                Ok(ids) => {
                    if part.method.posts() {
                        self.remember(target, &ids, delivery.id);
                    }
                    return Ok(Receipt { id: ids.into_iter().next(), moved_to });
                }
                Err(failure) => failure,
            };
            let Some(refusal) = failure.refusal().cloned() else {
                return Err(failure.into_error(part.method.as_str()));
            };
            if refusal.wait().is_some() {
                return Err(failure.into_error(part.method.as_str()));
            }
            if let Some(chat) = refusal.migrate_to.filter(|_| moved_to.is_none()) {
                self.chat_state.moved(target.chat);
                target = ChatTarget { chat, thread: None };
                part.params.insert("chat_id".into(), json!(chat));
                for field in ["message_thread_id", "reply_parameters"] {
                    part.params.remove(field);
                }
                moved_to = Some(room_id(chat, None));
                continue;
            }
            match remedy(&part, &refusal) {
                Remedy::Change(changed) => part = *changed,
                Remedy::Done => {
                    let id = part
                        .params
                        .get("message_id")
                        .and_then(Value::as_i64)
                        .and_then(|id| i32::try_from(id).ok());
                    let id = id
                        .filter(|_| part.method != Method::DeleteMessage)
                        .map(|id| message_id(target.chat, id));
                    return Ok(Receipt { id, moved_to });
                }
                Remedy::None => return Err(failure.into_error(part.method.as_str())),
            }
        }
        Err(Error::unexpected("Telegram keeps refusing this message in new ways")
            .with_code(codes::INVALID)
            .with("method", part.method.as_str()))
    }
}

#[async_trait]
impl SendHandler for TelegramSender {
    fn handle(&self) -> Option<String> {
        self.chat_state.handle()
    }

    fn encode(&self, outgoing: &Outgoing) -> Result<Vec<Encoded>> {
        encode::encode(outgoing)
    }

    fn priority(&self, body: &Encoded) -> Priority {
        priority(body)
    }

    fn barred(&self, at: &Address, _: &RemoteId) -> Option<Error> {
        let target = ChatTarget::parse(&at.remote).ok()?;
        self.chat_state.closed.holds(target, self.api.clock().now())
    }

    async fn send_with(&self, delivery: &Delivery, permit: &SendPermit) -> Result<Receipt> {
        let outcome = self.send_part(delivery, permit).await;
        if let Ok(target) = ChatTarget::parse(&delivery.address.remote)
            && priority(&delivery.body) == Priority::Answer
        {
            match &outcome {
                Ok(_) => self.chat_state.closed.opened(target),
                Err(error) => self.chat_state.closed.refused(target, error, self.api.clock().now()),
            }
        }
        outcome
    }

    async fn find(&self, delivery: &Delivery, context: &ReadBackContext) -> Result<ReadBackResult> {
        find::find(self, delivery, context).await
    }

    async fn may_speak(&self, at: &Address, person: &RemoteId) -> Result<Speak> {
        let target = ChatTarget::parse(&at.remote)?;
        // An anonymous administrator writes as the group, so there is no person to look up.
        let Some(person) = person.as_str().parse().ok().filter(|person: &i64| *person > 0) else {
            return Ok(Speak::Unknown);
        };
        speak::may_speak(&self.api, target, person).await
    }

    async fn fetch(&self, media: &Media, limit: usize) -> Result<Vec<u8>> {
        let bytes = self.download(&media.url).await?;
        if bytes.len() > limit {
            return Err(Error::new(ErrorKind::TooLong, "the file is larger than allowed")
                .with_code(codes::INVALID)
                .with("limit", limit));
        }
        Ok(bytes.into())
    }

    async fn typing(&self, at: &Address) -> Result<()> {
        let target = ChatTarget::parse(&at.remote)?;
        let mut part = BotCall::read(
            &encode::encode(&Outgoing::Typing)?
                .pop()
                .ok_or_else(|| Error::unexpected("typing has no form"))?,
        )?;
        address(&mut part, target, self.chat_state.forum(target.chat));
        let shown = self.attempt(&part, target, &SendPermit::always()).await;
        shown.map(|_| ()).map_err(|failure| failure.into_error(part.method.as_str()))
    }
}

/// The priority of a part. Reads the method only, because this is called at every attempt; the
/// whole body is parsed to send it.
fn priority(body: &Encoded) -> Priority {
    match Method::deserialize(&body.0["method"]) {
        Ok(method) if !method.posts() => Priority::Change,
        _ => Priority::Answer,
    }
}

/// Adds chat, topic and reply to the parameters. Pure.
fn address(part: &mut BotCall, target: ChatTarget, forum: bool) {
    part.params.insert("chat_id".into(), json!(target.chat));
    let thread = match part.method {
        Method::SendChatAction => target.thread.or(forum.then_some(GENERAL_TOPIC)),
        method if method.posts() => target.thread,
        _ => None,
    };
    if let Some(thread) = thread {
        part.params.insert("message_thread_id".into(), json!(thread));
    }
    if let Some(message) = answered(part, target).filter(|_| part.method.posts()) {
        part.params.insert(
            "reply_parameters".into(),
            json!({ "message_id": message, "allow_sending_without_reply": true }),
        );
    }
}

/// Remedy for a refusal.
#[derive(Debug, PartialEq)]
enum Remedy {
    /// Repeat the call with this change.
    Change(Box<BotCall>),
    /// The wanted state exists already.
    Done,
    /// No remedy; report the refusal.
    None,
}

/// The remedy for a refusal that a client can handle itself. Each remedy removes its own cause, so
/// none applies twice.
fn remedy(part: &BotCall, refusal: &Refusal) -> Remedy {
    let without = |field: &str| {
        let mut changed = part.clone();
        changed.params.remove(field);
        Remedy::Change(Box::new(changed))
    };
    let has = |field: &str| part.params.contains_key(field);
    match part.method {
        _ if refusal.code != 400 => Remedy::None,
        Method::EditMessageText | Method::EditMessageCaption
            if refusal.says("message is not modified") =>
        {
            Remedy::Done
        }
        Method::DeleteMessage if refusal.says("message to delete not found") => Remedy::Done,
        Method::EditMessageText if refusal.says("there is no text in the message to edit") => {
            let mut changed = part.clone();
            changed.method = Method::EditMessageCaption;
            for (from, to) in [
                ("text", Some("caption")),
                ("entities", Some("caption_entities")),
                ("link_preview_options", None),
            ] {
                if let (Some(value), Some(to)) = (changed.params.remove(from), to) {
                    changed.params.insert(to.into(), value);
                }
            }
            Remedy::Change(Box::new(changed))
        }
        _ if has("message_thread_id")
            && (refusal.says("message thread not found") || refusal.says("TOPIC_DELETED")) =>
        {
            without("message_thread_id")
        }
        _ if has("reply_parameters")
            && (refusal.says("message to be replied not found")
                || refusal.says("replied message not found")) =>
        {
            without("reply_parameters")
        }
        _ if has("entities") && broken_entities(refusal) => without("entities"),
        _ if has("caption_entities") && broken_entities(refusal) => without("caption_entities"),
        _ => refused_file::replacement(part, refusal)
            .map_or(Remedy::None, |changed| Remedy::Change(Box::new(changed))),
    }
}

fn broken_entities(refusal: &Refusal) -> bool {
    refusal.says("can't parse entities")
        || refusal.says("can't parse MessageEntity")
        || refusal.says("ENTITY_")
        || refusal.says("ENTITIES_")
}

#[cfg(test)]
mod tests;
