//! Posts a message with its nonce and its files.

use galatea_core::{Delivery, Error, Receipt, Result};
use galatea_http::{Form, Part as FormPart, read_attachment};
use serde_json::{Map, Value, json};

use super::{DiscordSender, api::Call, message_id};
use crate::{
    encode::{FileUpload, MAX_UPLOAD},
    error::{Failure, codes},
};

/// Longest nonce (Discord, "Create Message").
const MAX_NONCE: usize = 25;

impl DiscordSender {
    /// Adds the body to a call: JSON alone, or a form with the files.
    pub(super) async fn with_body(
        &self,
        call: Call,
        mut body: Map<String, Value>,
        files: &[FileUpload],
    ) -> Result<Call, Failure> {
        if files.is_empty() {
            return Ok(call.json(Value::Object(body)));
        }
        let invalid = |error: Error, name: &str| {
            Failure::Transport(error.with_code(codes::INVALID).with("attachment", name))
        };
        let mut form = Form::new();
        let mut described = Vec::new();
        for (n, file) in files.iter().enumerate() {
            let bytes = read_attachment(&file.url, &self.folder, MAX_UPLOAD)
                .await
                .map_err(|e| invalid(e, &file.name))?;
            let length = bytes.len() as u64;
            let mut part = FormPart::stream_with_length(bytes, length).file_name(file.name.clone());
            if let Some(mime) = &file.mime {
                let wrong = |_| {
                    invalid(Error::invalid("an attachment has an invalid media type"), &file.name)
                };
                part = part.mime_str(mime).map_err(wrong)?;
            }
            form = form.part(format!("files[{n}]"), part);
            let mut about = json!({ "id": n, "filename": file.name });
            if !file.description.is_empty() {
                about["description"] = json!(file.description);
            }
            described.push(about);
        }
        body.insert("attachments".into(), Value::Array(described));
        let payload = FormPart::text(Value::Object(body).to_string());
        let payload = payload
            .mime_str("application/json")
            .map_err(|e| Failure::Transport(Error::unexpected("no form").with_source(e)))?;
        Ok(call.form(form.part("payload_json", payload)))
    }

    pub(super) async fn post(
        &self,
        delivery: &Delivery,
        channel: u64,
        mut body: Map<String, Value>,
        files: &[FileUpload],
        reply_to: Option<u64>,
    ) -> Result<Receipt, Failure> {
        let nonce: String = delivery.key.chars().take(MAX_NONCE).collect();
        body.insert("nonce".into(), json!(nonce));
        body.insert("enforce_nonce".into(), json!(true));
        if let Some(message) = reply_to {
            body.insert(
                "message_reference".into(),
                json!({ "type": 0, "message_id": message.to_string(), "channel_id": channel.to_string(), "fail_if_not_exists": false }),
            );
        }
        let call = || {
            Call::new(
                "POST /channels/{}/messages",
                channel,
                format!("/channels/{channel}/messages"),
            )
        };
        let posted = self.api.call(self.with_body(call(), body.clone(), files).await?).await;
        let posted = match posted {
            // The bot may not read the message it replies to: post without the reference. The
            // refusal proves that nothing was posted yet.
            Err(failure)
                if failure.code() == Some(160_002)
                    && body.remove("message_reference").is_some() =>
            {
                self.api.call(self.with_body(call(), body, files).await?).await?
            }
            other => other?,
        };
        let id = message_id(&posted)?;
        self.send_state.echo(nonce, id.clone());
        Ok(Receipt { id: Some(id), moved_to: None })
    }
}
