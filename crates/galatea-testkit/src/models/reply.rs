//! Replies that tests script for a model server.

use galatea_core::model::Finish;

/// An answer of a model server.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The server's default: a short text, vectors, or its list of models.
    Auto,
    /// This answer of the model.
    Answer(Answer),
    /// This JSON body, whatever the request.
    Json(serde_json::Value),
    /// This failure.
    Fault(Fault),
}

impl Reply {
    /// A reply with this text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Answer(Answer { text: text.into(), ..Answer::default() })
    }

    /// A reply with one tool call; `arguments` is JSON text.
    pub fn tool(name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self::Answer(Answer {
            tools: vec![(name.into(), arguments.into())],
            finish: Finish::Tools,
            ..Answer::default()
        })
    }
}

impl From<Fault> for Reply {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// A model's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Text for the user; a stream sends it in pieces of a few characters.
    pub text: String,
    /// Tool calls: name, and arguments as JSON text; a stream sends the arguments in pieces.
    pub tools: Vec<(String, String)>,
    /// Why the model stopped.
    pub finish: Finish,
    /// Input and output tokens.
    pub usage: (u64, u64),
}

impl Default for Answer {
    fn default() -> Self {
        Self { text: String::new(), tools: Vec::new(), finish: Finish::Stop, usage: (11, 7) }
    }
}

/// A failure, with the error body that the services really send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The key is refused. The body repeats the key, as some proxies do.
    BadKey,
    /// The account has no credit left.
    NoMoney,
    /// Too many requests; the value becomes `Retry-After`.
    RateLimited(Option<&'static str>),
    /// The model does not exist or is not installed.
    UnknownModel,
    /// The conversation is longer than the model's context.
    TooLong,
    /// The request has too many bytes (413).
    TooBig,
    /// The model does not support tools.
    NoTools,
    /// The service is overloaded.
    Overloaded,
    /// The service has an internal error (500).
    Internal,
    /// The request took too long on the server's side (408).
    ServerTimeout,
    /// This status and body.
    Status {
        /// HTTP status.
        status: u16,
        /// Value of `Retry-After`.
        retry_after: Option<&'static str>,
        /// Body of the answer.
        body: &'static str,
    },
    /// Success with a stream of this one event, in place of an answer.
    Event(&'static str),
    /// Success with a body that is not JSON.
    Garbage,
    /// Success with an HTML page, as a captive portal sends.
    Html,
    /// Success with JSON of an unexpected shape.
    OtherShape,
    /// Success without an answer in it.
    Empty,
    /// The normal answer with a wrong content type.
    WrongContentType,
    /// An error in the middle of a stream, after some text.
    ErrorInStream,
    /// The connection is cut after this many bytes of the normal body.
    CutAfter(usize),
    /// No more bytes after this many of the normal body; the connection stays open.
    StallAfter(usize),
    /// No answer at all.
    Hang,
    /// A body that never ends.
    Endless,
}
