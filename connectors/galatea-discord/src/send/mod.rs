//! Sends deliveries with REST calls. Each send is one attempt; the error says whether the message
//! may have been posted, and the runtime decides about a retry.

pub(crate) mod api;
mod find;
pub(crate) mod guard;
pub(crate) mod interaction;
pub(crate) mod limits;
pub(crate) mod muted;
mod post;
mod react;
pub(crate) mod send_state;
mod sender;
mod speak;

use async_trait::async_trait;
use galatea_core::{
    Address, Delivery, Encoded, Error, Media, Outgoing, Priority, ReadBackContext, ReadBackResult,
    Receipt, RemoteId, Result, SendHandler, Speak,
};
use serde_json::{Map, Value, json};
use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use crate::{
    decode::{
        directory::{Directory, is_thread},
        is_interaction, is_private,
    },
    encode::{self, FileUpload, Part, snowflake},
    error::{Failure, Refusal, Room, cannot_write},
};
use api::{Call, DiscordApi};
use interaction::expired;
use send_state::SendState;
use sender::message_id;

pub(crate) use self::sender::{DiscordSender, escape};

impl DiscordSender {
    pub(crate) fn new(
        api: DiscordApi,
        send_state: Arc<SendState>,
        directory: Arc<Directory>,
        me: Arc<OnceLock<u64>>,
        folder: PathBuf,
    ) -> Self {
        Self { api, send_state, directory, folder, me }
    }

    /// Converts a failure to an error that names the room and the missing permission. Records
    /// channels in which the bot cannot write.
    fn error(&self, failure: Failure, channel: u64, part: &Part, call: &'static str) -> Error {
        let known = self.directory.channel(channel);
        let thread = known.as_ref().is_some_and(|c| is_thread(c.kind));
        let (does, needs) = match part {
            Part::React { .. } => ("react", "Add Reactions"),
            Part::Post { files, .. } if !files.is_empty() => {
                ("write", "Send Messages or Attach Files")
            }
            _ if thread => ("write", "Send Messages in Threads"),
            _ => ("write", "Send Messages"),
        };
        let link = known
            .as_ref()
            .and_then(|c| c.guild)
            .map(|guild| format!("https://discord.com/channels/{guild}/{channel}"));
        let refused = matches!((part, failure.code()), (Part::Post { .. }, Some(50001 | 50013)));
        let error = self.api.error_in(
            &Room { name: known.and_then(|c| c.name), link, does, needs },
            failure,
            call,
        );
        if refused {
            self.send_state.muted.refused(channel, &error, self.api.clock().now());
        }
        error
    }

    /// Why the bot cannot write in a channel, by its known permissions or by a recent refusal.
    /// `None` if neither forbids it.
    fn cannot_write(&self, channel: u64) -> Option<Error> {
        let now = self.api.clock().now();
        let me = self.me.get();
        let missing = match me.and_then(|me| self.directory.missing(channel, *me, now)) {
            Some(missing) => missing,
            None => return self.send_state.muted.holds(channel, now),
        };
        let known = self.directory.channel(channel)?;
        let needs =
            if is_thread(known.kind) { "Send Messages in Threads" } else { "Send Messages" };
        let link =
            known.guild.map(|guild| format!("https://discord.com/channels/{guild}/{channel}"));
        let error = self
            .api
            .placed(cannot_write(&Room { name: known.name, link, does: "write", needs }, missing));
        self.send_state.muted.note(channel, &error, now);
        Some(error)
    }

    /// Posts a message, or answers an interaction. A private answer that can no longer be given to
    /// the caller alone is refused.
    async fn say(
        &self,
        delivery: &Delivery,
        channel: u64,
        mut body: Map<String, Value>,
        files: &[FileUpload],
        reply_to: Option<&RemoteId>,
        follow_up: bool,
    ) -> Result<Receipt, Failure> {
        let now = self.api.clock().now();
        let interaction = reply_to.filter(|r| is_interaction(r));
        let private = interaction.is_some_and(is_private);
        if let Some(asked) = interaction
            && let Some((pending, token)) = self.send_state.pending(asked, now)
        {
            let answered = if follow_up {
                self.follow_up(&pending, &token, body.clone(), files).await
            } else {
                self.answer(&pending, &token, body.clone(), files).await
            };
            match answered {
                Ok(receipt) => {
                    // The token is still needed for the further parts of a private answer.
                    if !private {
                        self.send_state.answered(asked);
                    }
                    if let Some(id) = &receipt.id {
                        self.send_state.echo(delivery.key.clone(), id.clone());
                    }
                    return Ok(receipt);
                }
                // The interaction expired, or its acknowledgement never arrived: post in the
                // channel instead.
                Err(failure) if failure.code() == Some(10008) || expired(&failure) => {
                    self.send_state.ran_out(asked)
                }
                Err(failure) => return Err(failure),
            }
        }
        if private {
            return Err(Failure::Refused(Refusal {
                status: 404,
                code: 10062,
                ..Refusal::default()
            }));
        }
        if let Some(known) = interaction.and_then(|asked| self.send_state.known(asked, now)) {
            // There is no message to reply to, so begin with a mention of the caller.
            known.who.into_iter().for_each(|who| name(&mut body, who));
        }
        let message =
            reply_to.filter(|_| interaction.is_none()).and_then(|r| r.as_str().parse().ok());
        self.post(delivery, channel, body, files, message).await
    }
}

/// Puts a mention in front of an answer, if it fits. It sends no notification, because
/// `allowed_mentions` is empty.
fn name(body: &mut Map<String, Value>, who: u64) {
    let named =
        format!("<@{who}> {}", body.get("content").and_then(Value::as_str).unwrap_or_default());
    if named.encode_utf16().count() <= encode::MAX_TEXT {
        body.insert("content".into(), json!(named.trim_end()));
    }
}

#[async_trait]
impl SendHandler for DiscordSender {
    fn handle(&self) -> Option<String> {
        self.send_state.handle()
    }

    fn encode(&self, outgoing: &Outgoing) -> Result<Vec<Encoded>> {
        encode::encode(outgoing)
    }

    fn priority(&self, body: &Encoded) -> Priority {
        // Read the tag only, because this is called at every attempt; the whole body is parsed to
        // send it.
        match body.0["call"].as_str() {
            Some("edit" | "delete" | "react") => Priority::Change,
            _ => Priority::Answer,
        }
    }

    async fn send(&self, delivery: &Delivery) -> Result<Receipt> {
        let channel = snowflake(&delivery.address.remote, "room")?;
        let receipt = |id: &RemoteId| Receipt { id: Some(id.clone()), moved_to: None };
        let part = Part::read(&delivery.body)?;
        let failed = |failure, call| self.error(failure, channel, &part, call);
        match &part {
            Part::Post { body, files, reply_to, follow_up } => {
                // Discord forgets nonces after a few minutes, so look for an old attempt before
                // posting again.
                let age = self.api.clock().now().since(delivery.created_at);
                if delivery.attempt > 0
                    && age > find::NONCE_HOLDS
                    && let ReadBackResult::Sent(found) =
                        find::find(self, delivery, &ReadBackContext::default()).await?
                {
                    return Ok(found);
                }
                self.say(delivery, channel, body.clone(), files, reply_to.as_ref(), *follow_up)
                    .await
                    .map_err(|f| failed(f, "create message"))
            }
            Part::Edit { id, body } => {
                let message = snowflake(id, "message")?;
                let call = Call::new(
                    "PATCH /channels/{}/messages/{}",
                    channel,
                    format!("/channels/{channel}/messages/{message}"),
                );
                self.api
                    .call(call.json(Value::Object(body.clone())))
                    .await
                    .map_err(|f| failed(f, "edit message"))?;
                Ok(receipt(id))
            }
            Part::Delete { id } => {
                let message = snowflake(id, "message")?;
                let call = Call::new(
                    "DELETE /channels/{}/messages/{}",
                    channel,
                    format!("/channels/{channel}/messages/{message}"),
                );
                match self.api.call(call).await {
                    Ok(_) => Ok(Receipt::default()),
                    Err(failure) if failure.code() == Some(10008) => Ok(Receipt::default()),
                    Err(failure) => Err(failed(failure, "delete message")),
                }
            }
            Part::React { id, emoji } => {
                let message = snowflake(id, "message")?;
                self.react(channel, message, emoji.as_deref())
                    .await
                    .map_err(|f| failed(f, "react"))?;
                Ok(Receipt::default())
            }
        }
    }

    async fn find(&self, delivery: &Delivery, context: &ReadBackContext) -> Result<ReadBackResult> {
        find::find(self, delivery, context).await
    }

    async fn typing(&self, at: &Address) -> Result<()> {
        let channel = snowflake(&at.remote, "room")?;
        match self
            .api
            .call(Call::new(
                "POST /channels/{}/typing",
                channel,
                format!("/channels/{channel}/typing"),
            ))
            .await
        {
            // Not worth a wait, because the next call shows it.
            Ok(_) | Err(Failure::Deferred { guard: false, .. }) => Ok(()),
            Err(failure) => Err(self.api.error(failure, "typing")),
        }
    }

    async fn may_speak(&self, at: &Address, person: &RemoteId) -> Result<Speak> {
        let (channel, person) = (snowflake(&at.remote, "room")?, snowflake(person, "person")?);
        speak::may_speak(&self.api, channel, person, self.api.clock().now()).await
    }

    fn barred(&self, at: &Address, asked: &RemoteId) -> Option<Error> {
        // A command is answered through its interaction, which needs no permission.
        if is_interaction(asked) {
            return None;
        }
        self.cannot_write(at.remote.as_str().parse().ok()?)
    }

    fn awaits(&self, message: &RemoteId) -> bool {
        is_interaction(message)
    }

    async fn unanswered(&self, _: &Address, message: &RemoteId, why: &str) -> Result<()> {
        // Discord has ended an expired interaction itself.
        let Some((pending, token)) = self.send_state.pending(message, self.api.clock().now())
        else {
            return Ok(());
        };
        self.send_state.answered(message);
        if pending.used.is_some() {
            let told = self.whisper(&pending, &token, why).await;
            return told.map_err(|f| f.into_error("answer a press"));
        }
        self.withdraw(&pending, &token, why).await.map_err(|f| f.into_error("withdraw the answer"))
    }

    async fn used(&self, _: &Address, press: &RemoteId) -> Result<()> {
        let pending = self.send_state.pending(press, self.api.clock().now());
        let Some((pending, token)) = pending else { return Ok(()) };
        self.send_state.answered(press);
        let Some(components) = &pending.used else { return Ok(()) };
        let done = self.use_up(&pending, &token, components).await;
        done.map_err(|f| f.into_error("switch off buttons"))
    }

    async fn fetch(&self, media: &Media, limit: usize) -> Result<Vec<u8>> {
        self.api.download(&media.url, limit).await.map(|bytes| bytes.to_vec())
    }
}
