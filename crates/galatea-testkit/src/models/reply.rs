//! What a scripted server answers.

use galatea_core::model::Finish;

/// One answer of a model server.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// What the service would answer by itself: a short text, vectors, or its list of models.
    Auto,
    /// This answer.
    Answer(Answer),
    /// This body, whatever was asked for.
    Json(serde_json::Value),
    /// This failure.
    Fault(Fault),
}

impl Reply {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Answer(Answer { text: text.into(), ..Answer::default() })
    }

    /// One tool call with arguments as text.
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
    /// Visible text; in a stream it comes in pieces of a few characters.
    pub text: String,
    /// Tool calls: name and arguments as text; in a stream the arguments come in pieces.
    pub tools: Vec<(String, String)>,
    /// Why it ended.
    pub finish: Finish,
    /// Tokens read and written.
    pub usage: (u64, u64),
}

impl Default for Answer {
    fn default() -> Self {
        Self { text: String::new(), tools: Vec::new(), finish: Finish::Stop, usage: (11, 7) }
    }
}

/// A failure, with the error bodies that the services really send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The key is refused; the body repeats it, as some proxies do.
    BadKey,
    /// The money is gone.
    NoMoney,
    /// Too many requests; the value is sent as `Retry-After`.
    RateLimited(Option<&'static str>),
    /// The model does not exist, or is not pulled.
    UnknownModel,
    /// The conversation is longer than the model's context.
    TooLong,
    /// The request has too many bytes (413).
    TooBig,
    /// The model has no tools.
    NoTools,
    /// The service is overloaded.
    Overloaded,
    /// The service has a fault (500).
    Internal,
    /// The request took too long on the server's side (408).
    ServerTimeout,
    /// Any status and body.
    Status {
        /// Status.
        status: u16,
        /// `Retry-After`, if any.
        retry_after: Option<&'static str>,
        /// Body.
        body: &'static str,
    },
    /// Success with a body that is no JSON.
    Garbage,
    /// Success with a page of HTML, as a captive portal sends.
    Html,
    /// Success with JSON of another shape.
    OtherShape,
    /// Success without any answer in it.
    Empty,
    /// The normal answer under a wrong content type.
    WrongContentType,
    /// An error in the middle of a stream, after some text.
    ErrorInStream,
    /// The connection is cut after this many bytes of the normal body.
    CutAfter(usize),
    /// Silence after this many bytes of the normal body.
    StallAfter(usize),
    /// No answer at all.
    Hang,
    /// A body without end.
    Endless,
}
