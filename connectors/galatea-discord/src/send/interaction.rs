//! Answers an interaction, or takes back the sign that an answer is coming.

use galatea_core::{ExposeSecret, Receipt, Result, SecretString};
use serde_json::{Map, Value, json};

use super::{DiscordSender, api::Call, escape, message_id, send_state::PendingAnswer};
use crate::{
    encode::{self, FileUpload},
    error::Failure,
};

/// Message flag: only the caller sees the message (Discord, "Message Flags").
pub(crate) const EPHEMERAL: u64 = 1 << 6;

impl DiscordSender {
    /// Answers an interaction by editing the message that the acknowledgement created. Idempotent.
    pub(super) async fn answer(
        &self,
        pending: &PendingAnswer,
        token: &SecretString,
        body: Map<String, Value>,
        files: &[FileUpload],
    ) -> Result<Receipt, Failure> {
        let path = format!(
            "/webhooks/{}/{}/messages/@original",
            pending.application,
            escape(token.expose_secret())
        );
        let call = Call::new("PATCH /webhooks/{}/{}/messages/@original", pending.application, path)
            .interaction();
        let answered = self.api.call(self.with_body(call, body, files).await?).await?;
        Ok(Receipt { id: Some(message_id(&answered)?), moved_to: None })
    }

    /// Adds a message to the answer of an interaction that only the caller sees.
    pub(super) async fn follow_up(
        &self,
        pending: &PendingAnswer,
        token: &SecretString,
        mut body: Map<String, Value>,
        files: &[FileUpload],
    ) -> Result<Receipt, Failure> {
        let path = format!("/webhooks/{}/{}", pending.application, escape(token.expose_secret()));
        let call = Call::new("POST /webhooks/{}/{}", pending.application, path).interaction();
        body.insert("flags".into(), json!(EPHEMERAL));
        let posted = self.api.call(self.with_body(call, body, files).await?).await?;
        Ok(Receipt { id: Some(message_id(&posted)?), moved_to: None })
    }

    /// Switches off the buttons of the message that was pressed.
    pub(super) async fn use_up(
        &self,
        pending: &PendingAnswer,
        token: &SecretString,
        components: &Value,
    ) -> Result<(), Failure> {
        let path = format!(
            "/webhooks/{}/{}/messages/@original",
            pending.application,
            escape(token.expose_secret())
        );
        let call = Call::new("PATCH /webhooks/{}/{}/messages/@original", pending.application, path)
            .json(json!({ "components": components, "allowed_mentions": { "parse": [] } }))
            .interaction();
        match self.api.call(call).await {
            Ok(_) => Ok(()),
            // The message is gone, or Discord does not wait any more.
            Err(failure) if failure.code() == Some(10008) || expired(&failure) => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    /// Tells the person who pressed a button, and nobody else, why nothing came of it.
    pub(super) async fn whisper(
        &self,
        pending: &PendingAnswer,
        token: &SecretString,
        why: &str,
    ) -> Result<(), Failure> {
        let text: String = why.chars().take(encode::MAX_TEXT).collect();
        let body = json!({ "content": text, "allowed_mentions": { "parse": [] } });
        let body = body.as_object().cloned().unwrap_or_default();
        match self.follow_up(pending, token, body, &[]).await {
            Err(failure) if expired(&failure) => Ok(()),
            outcome => outcome.map(drop),
        }
    }

    /// Deletes the public message that the acknowledgement created, then sends the reason to the
    /// caller only. In this order, because the first follow-up would replace that message and be as
    /// public as it is (Discord, "Create Followup Message").
    pub(super) async fn withdraw(
        &self,
        pending: &PendingAnswer,
        token: &SecretString,
        why: &str,
    ) -> Result<(), Failure> {
        let path = format!("/webhooks/{}/{}", pending.application, escape(token.expose_secret()));
        let original = format!("{path}/messages/@original");
        let call =
            Call::new("DELETE /webhooks/{}/{}/messages/@original", pending.application, original)
                .interaction();
        match self.api.call(call).await {
            Ok(_) => {}
            // The message is deleted already.
            Err(failure) if failure.code() == Some(10008) => {}
            // Discord does not wait for an answer.
            Err(failure) if expired(&failure) => return Ok(()),
            Err(failure) => return Err(failure),
        }
        self.whisper(pending, token, why).await
    }
}

/// True if Discord does not wait for the answer to an interaction: it expired, or its
/// acknowledgement never arrived.
pub(super) fn expired(failure: &Failure) -> bool {
    matches!(failure.code(), Some(10015 | 10062 | 50027))
}
