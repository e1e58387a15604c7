//! A Bot API call of a delivery.

use galatea_core::{Encoded, Error, RemoteId, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A Bot API call without its chat, which the delivery's address adds when it is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct BotCall {
    /// The Bot API method.
    pub(crate) method: Method,
    /// Its parameters. `chat_id` is present only if a message id named the chat.
    pub(crate) params: Map<String, Value>,
    /// Files to upload with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) files: Vec<Upload>,
    /// The message it answers. It becomes `reply_parameters` if it is in the chat to which the part
    /// is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reply_to: Option<RemoteId>,
}

/// The calls this connector makes for a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub(crate) enum Method {
    SendMessage,
    SendPhoto,
    SendVideo,
    SendAnimation,
    SendAudio,
    SendVoice,
    SendDocument,
    SendMediaGroup,
    SendChatAction,
    EditMessageText,
    EditMessageCaption,
    DeleteMessage,
    SetMessageReaction,
}

impl Method {
    /// The method's name in the Bot API.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::SendMessage => "sendMessage",
            Self::SendPhoto => "sendPhoto",
            Self::SendVideo => "sendVideo",
            Self::SendAnimation => "sendAnimation",
            Self::SendAudio => "sendAudio",
            Self::SendVoice => "sendVoice",
            Self::SendDocument => "sendDocument",
            Self::SendMediaGroup => "sendMediaGroup",
            Self::SendChatAction => "sendChatAction",
            Self::EditMessageText => "editMessageText",
            Self::EditMessageCaption => "editMessageCaption",
            Self::DeleteMessage => "deleteMessage",
            Self::SetMessageReaction => "setMessageReaction",
        }
    }

    /// True if the method posts a new message. It then takes a topic, and a repeated call would
    /// post a duplicate.
    pub(crate) fn posts(self) -> bool {
        !matches!(
            self,
            Self::SendChatAction
                | Self::EditMessageText
                | Self::EditMessageCaption
                | Self::DeleteMessage
                | Self::SetMessageReaction
        )
    }
}

impl BotCall {
    pub(super) fn new(method: Method) -> Self {
        Self { method, params: Map::new(), files: Vec::new(), reply_to: None }
    }

    pub(super) fn with(mut self, name: &str, value: Value) -> Self {
        self.params.insert(name.to_owned(), value);
        self
    }

    /// Parses what [`super::encode`] wrote.
    ///
    /// # Errors
    /// `Invalid` for a body of another connector or version.
    pub(crate) fn read(body: &Encoded) -> Result<Self> {
        Self::deserialize(&body.0).map_err(|e| {
            Error::invalid("this delivery is not in Telegram's form")
                .with_code("GAL-TG-400")
                .with("cause", e)
        })
    }
}

/// A file that is uploaded with the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Upload {
    /// Name of the form field.
    pub(crate) field: String,
    /// `data:` or `file:` address of the file.
    pub(crate) url: String,
    /// File name shown in the chat.
    pub(crate) name: String,
    /// MIME type, where known.
    pub(crate) mime: Option<String>,
    /// Description, for a chat that does not take the file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) description: String,
}
