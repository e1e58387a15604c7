//! A call to a text model.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{borrow::Cow, sync::Arc};

use super::{Bill, Drafts, Opaque, ToolCall};
use crate::clock::Timestamp;

/// A call to a text model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TextRequest {
    /// Role of the model and manner of its answers; stands before all messages.
    pub system: Option<String>,
    /// The conversation, oldest first, with what the program tells the model between the messages
    /// ([`ChatRole::System`]). Shared, since each layer that asks on may change something else of the
    /// request.
    pub messages: Arc<Vec<ChatMessage>>,
    /// How many of the first messages are instructions for the whole conversation. Instructions behind
    /// them hold for one answer, so a service that keeps what it has read must not find them in front
    /// of what stays.
    #[serde(default)]
    pub opening: usize,
    /// Tools it may call. Shared, too.
    pub tools: Arc<Vec<ToolSpec>>,
    /// Whether it may call them now. Tools that were called stay described even where none may be
    /// called any more: some services refuse results without them.
    #[serde(default)]
    pub tool_choice: ToolChoice,
    /// Sampling; unset values are left to the provider.
    pub params: Sampling,
    /// Ask for a stream.
    pub stream: bool,
    /// The caller does not wait longer: no attempt and no fallback begins or goes on after it.
    #[serde(skip)]
    pub deadline: Option<Timestamp>,
    /// The first piece of a streamed answer has to come within this, where that is less than usual:
    /// another model of the service has just hung.
    #[serde(skip)]
    pub first_within: Option<std::time::Duration>,
    /// Time for which the provider is asked to keep the tools and the instructions. Wire formats
    /// that mark what to cache mark them accordingly.
    #[serde(skip)]
    pub cache_instructions: CacheFor,
    /// Number of the first messages with which the next request of this conversation is expected to
    /// begin with as well, within minutes. Wire formats that mark what to cache mark these for
    /// minutes, together with the instructions; 0 when no such request is expected.
    #[serde(skip)]
    pub stable: usize,
    /// Key that all requests of a conversation share. Services that keep what they have read on
    /// several machines send requests with the same key to the same one.
    #[serde(skip)]
    pub conversation: Option<String>,
    /// Longest answer that the caller has use for, in tokens, thoughts aside; none leaves it to the
    /// models. Sampling parameters have precedence: settings set these.
    #[serde(skip)]
    pub length: Option<u32>,
    /// At the deadline, what has come until then is an answer ([`Finish::Deadline`]) rather than
    /// lost.
    ///
    /// [`Finish::Deadline`]: super::Finish::Deadline
    #[serde(skip)]
    pub partial: bool,
    /// Payer of attempts that fail.
    #[serde(skip)]
    pub bill: Bill,
    /// Reader of the answer while it is written. It changes nothing of the call: attempts and fallbacks go on
    /// as without it.
    #[serde(skip)]
    pub drafts: Drafts,
}

impl TextRequest {
    /// A request with a single prompt from the user's side.
    pub fn prompt(system: Option<String>, prompt: impl Into<String>) -> Self {
        Self { system, messages: Arc::new(vec![ChatMessage::user(prompt)]), ..Self::default() }
    }

    /// Number of first messages that hold for the whole conversation ([`Self::opening`]): services
    /// that have one place for all instructions take them there.
    pub fn leading(&self) -> usize {
        let opening = self.messages.iter().take(self.opening);
        opening.take_while(|message| message.role == ChatRole::System).count()
    }

    /// This request with the program's first messages at the end of [`Self::system`]: nearly all
    /// chat templates take one system message at the beginning.
    pub fn with_leading_in_system(&self) -> Cow<'_, Self> {
        let leading = self.leading();
        if leading == 0 {
            return Cow::Borrowed(self);
        }
        let said = self.messages[..leading].iter().map(ChatMessage::text);
        let system = self.system.iter().cloned().chain(said);
        let system: Vec<String> = system.filter(|text| !text.trim().is_empty()).collect();
        Cow::Owned(Self {
            system: (!system.is_empty()).then(|| system.join("\n\n")),
            messages: self.messages[leading..].to_vec().into(),
            opening: 0,
            stable: self.stable.saturating_sub(leading),
            ..self.clone()
        })
    }

    /// True if the request has instructions for one answer.
    pub fn has_late_system(&self) -> bool {
        self.messages[self.leading()..].iter().any(|message| message.role == ChatRole::System)
    }

    /// This request for a model that takes instructions at the beginning only: what the program
    /// says later stands on the people's side, in parentheses and in a message of its own.
    pub fn with_late_beside_people(&self) -> Cow<'_, Self> {
        if !self.has_late_system() {
            return Cow::Borrowed(self);
        }
        let leading = self.leading();
        let mut asked = self.clone();
        for message in &mut Arc::make_mut(&mut asked.messages)[leading..] {
            if message.role == ChatRole::System {
                // The line break keeps it apart where a service joins it to what follows.
                *message = ChatMessage::user(format!("({})\n", message.text().trim()));
            }
        }
        Cow::Owned(asked)
    }

    /// Both: all that the program says first in [`Self::system`], and the rest beside the people's
    /// words.
    pub fn without_late_system(&self) -> Cow<'_, Self> {
        match self.with_late_beside_people() {
            Cow::Borrowed(same) => same.with_leading_in_system(),
            Cow::Owned(asked) => Cow::Owned(asked.with_leading_in_system().into_owned()),
        }
    }
}

/// Use of a request's tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// The model answers in words.
    None,
}

/// Time for which a provider is asked to keep a part of a request in its cache. To keep it longer
/// costs more when it is stored, so it pays only where a request that begins alike follows in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum CacheFor {
    /// No further request is expected soon.
    #[default]
    Nothing,
    /// The time that the provider keeps it without being asked for more: minutes.
    Minutes,
    /// An hour after the last use.
    Hour,
}

/// A message of a model conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChatMessage {
    /// The speaking side.
    pub role: ChatRole,
    /// Text and pictures, in the order in which they are read.
    pub parts: Vec<ChatPart>,
    /// Speaker of the user's side, where several speak: 1 to 64 of `a-zA-Z0-9_-`. Written by wire
    /// formats that have a field for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl ChatMessage {
    /// A text of the people who talk to the model.
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: ChatRole::User, parts: vec![ChatPart::Text { text: text.into() }], name: None }
    }
    /// A text of the program, for this request only.
    pub fn system(text: impl Into<String>) -> Self {
        Self { role: ChatRole::System, ..Self::user(text) }
    }
    /// A text that the model said earlier.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self {
            role: ChatRole::Assistant,
            parts: vec![ChatPart::Text { text: text.into() }],
            name: None,
        }
    }
    /// A step of the model: its words, the tools it called, and what the service needs again of it.
    pub fn called(text: &str, calls: &[ToolCall], opaque: Option<Opaque>) -> Self {
        let text = (!text.trim().is_empty()).then(|| ChatPart::Text { text: text.to_owned() });
        let calls = calls.iter().cloned().map(|call| ChatPart::ToolCall { call });
        let opaque = opaque.map(|opaque| ChatPart::Opaque { opaque });
        let parts = opaque.into_iter().chain(text).chain(calls).collect();
        Self { role: ChatRole::Assistant, parts, name: None }
    }
    /// Results of the tools that the message before called.
    pub fn results(parts: Vec<ChatPart>) -> Self {
        Self { role: ChatRole::Tool, parts, name: None }
    }
    /// True if it calls tools or has results of them.
    pub fn uses_tools(&self) -> bool {
        let of_tools =
            |part: &ChatPart| !matches!(part, ChatPart::Text { .. } | ChatPart::Image { .. });
        self.parts.iter().any(of_tools)
    }
    /// What the service of this format and model needs again of an answer.
    pub fn opaque(&self, format: &str, model: &str) -> Option<&Value> {
        self.parts.iter().find_map(|part| match part {
            ChatPart::Opaque { opaque } if opaque.format == format && opaque.model == model => {
                Some(&opaque.data)
            }
            _ => None,
        })
    }
    /// The tools it calls.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            ChatPart::ToolCall { call } => Some(call),
            _ => None,
        })
    }
    /// With the speaker's name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }
    /// Its text parts joined.
    pub fn text(&self) -> String {
        self.parts
            .iter()
            .filter_map(
                |p| if let ChatPart::Text { text } = p { Some(text.as_str()) } else { None },
            )
            .collect::<Vec<_>>()
            .join("\n")
    }
}

/// The speaking side of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChatRole {
    /// The people who talk to the model.
    User,
    /// The model itself.
    Assistant,
    /// The tools that the model called in the message before: [`ChatPart::ToolResult`] only.
    Tool,
    /// The program: what holds for this request beside the instructions, such as the time of day.
    /// Nothing of it is part of the conversation. A model that takes instructions at the beginning
    /// only is asked with [`TextRequest::without_late_system`].
    System,
}

/// A piece of a model message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ChatPart {
    /// A text, sent as it is.
    Text {
        /// UTF-8, without escaping.
        text: String,
    },
    /// A picture, bytes in base64.
    Image {
        /// MIME type of the picture, such as `image/png`.
        mime: String,
        /// The picture in base64, standard alphabet with padding.
        data: String,
    },
    /// A call by the model.
    ToolCall {
        /// The call. Each one has a result in the next message.
        call: ToolCall,
    },
    /// The result of a call.
    ToolResult {
        /// Id of the call.
        id: String,
        /// Name of the tool, which some services want again.
        name: String,
        /// What came of it: other people's words, as the services know.
        text: String,
        /// The call failed.
        failed: bool,
    },
    /// What the service needs again of an answer, unread: signed thoughts and the like. A service of
    /// another format or model gets the other parts instead.
    Opaque {
        /// The answer as the service wrote it.
        opaque: Opaque,
    },
}

/// A tool the model may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Letters, digits, `_`, `-`; at most 64 (OpenAI function names).
    pub name: String,
    /// Advice on its use.
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Arc<Value>,
}

/// Sampling parameters; elizaOS names in capitals (`MAX_TOKENS`, `TEMPERATURE`, …).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Sampling {
    /// Upper bound of the answer, in tokens.
    pub max_tokens: Option<u32>,
    /// Randomness, usually from 0 to 2.
    pub temperature: Option<f32>,
    /// Nucleus sampling: share of probability to choose from, 0 to 1.
    pub top_p: Option<f32>,
    /// Number of most probable tokens to choose from.
    pub top_k: Option<u32>,
    /// Least probability of a token, relative to the best one, 0 to 1.
    pub min_p: Option<f32>,
    /// Makes answers repeatable, where the provider can.
    pub seed: Option<i64>,
    /// Factor against tokens that were used before; 1 is neutral.
    pub repetition_penalty: Option<f32>,
    /// Penalty for each use of a token, -2 to 2.
    pub frequency_penalty: Option<f32>,
    /// Penalty for tokens that were used at all, -2 to 2.
    pub presence_penalty: Option<f32>,
    /// The answer ends before any of these texts.
    pub stop: Vec<String>,
    /// Effort of a reasoning model; others have no such parameter.
    pub effort: Option<Effort>,
}

/// Effort of a reasoning model. Not every model takes every one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// No reasoning, where the model lets it be switched off.
    None,
    /// The least it can.
    Minimal,
    /// Short reasoning.
    Low,
    /// The default of most models.
    Medium,
    /// Long reasoning.
    High,
    /// The longest reasoning that the provider offers.
    Xhigh,
    /// No bound.
    Max,
}

impl Effort {
    /// The word that providers take.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Max => "max",
        }
    }
}

impl std::str::FromStr for Effort {
    type Err = ();

    fn from_str(text: &str) -> std::result::Result<Self, ()> {
        let all = [
            Self::None,
            Self::Minimal,
            Self::Low,
            Self::Medium,
            Self::High,
            Self::Xhigh,
            Self::Max,
        ];
        all.into_iter().find(|effort| effort.as_str().eq_ignore_ascii_case(text.trim())).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_without_late_instructions_reads_them_apart_from_what_people_say() {
        let messages = vec![
            ChatMessage::system("Ann is new here."),
            ChatMessage::user("hi"),
            ChatMessage::assistant("hello"),
            ChatMessage::system("It is 19:05."),
            ChatMessage::user("what time is it?"),
        ];
        let request = TextRequest {
            system: Some("Be kind.".into()),
            messages: messages.clone().into(),
            opening: 1,
            stable: 3,
            ..TextRequest::default()
        };
        let folded = request.with_leading_in_system();
        assert_eq!(folded.system.as_deref(), Some("Be kind.\n\nAnn is new here."));
        assert_eq!((&folded.messages[..], folded.stable), (&messages[1..], 2));
        let plain = request.without_late_system();
        assert!(plain.messages.iter().all(|message| message.role != ChatRole::System));
        assert_eq!(plain.messages[2].text(), "(It is 19:05.)\n");
        assert_eq!(plain.messages[3], messages[4], "what a person said stays as it is");
        let first = TextRequest { messages: messages[3..].to_vec().into(), opening: 0, ..request };
        assert!(first.has_late_system(), "the time is no part of what the next request repeats");
        assert_eq!(first.with_leading_in_system().system.as_deref(), Some("Be kind."));
        let without = TextRequest::prompt(None, "hi");
        assert!(matches!(without.without_late_system(), Cow::Borrowed(_)));
    }
}
