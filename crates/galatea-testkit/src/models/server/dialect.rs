//! The wire format of a provider, as the server needs it.

use parking_lot::Mutex;
use serde_json::Value;
use std::{collections::VecDeque, sync::atomic::AtomicUsize};
use tokio_util::sync::CancellationToken;

use super::{
    recorded::{Kept, Recorded},
    thinking::Thinking,
};
use crate::models::reply::{Answer, Fault, Reply};

/// A wire format: the requests it accepts and the answers it gives.
pub trait Dialect: Send + Sync + Sized + 'static {
    /// Name of the header that carries the key, and the text before the key.
    const KEY: Option<(&'static str, &'static str)>;
    /// Path that belongs to the configured base URL, such as `/v1`.
    const BASE: &'static str;

    /// Checks a request against the document, adds violations to `shape`, and returns what is
    /// requested.
    fn inspect(&self, request: &Recorded, shape: &mut Vec<String>) -> Route;
    /// A complete answer: body and content type.
    fn answer(&self, route: &Route, answer: &Answer) -> (Vec<u8>, &'static str);
    /// Default answer of a route that is not a chat.
    fn other(&self, route: &Route) -> Value;
    /// Status and body of a failure; `key` is the key the client sent.
    fn failure(&self, fault: &Fault, route: &Route, key: &str) -> (u16, Value);
    /// A success without an answer in it: body and content type.
    fn empty(&self, route: &Route) -> (Vec<u8>, &'static str);
    /// Event that reports an error within a stream.
    fn stream_error(&self, route: &Route) -> Vec<u8>;
    /// Answer of a route for sound, pictures or speech: body and content type. None for every other
    /// route.
    fn media(&self, _: &Route, _: &Answer) -> Option<(Vec<u8>, &'static str)> {
        None
    }
    /// Number of cached tokens that an answer reports for this number of input tokens.
    fn cached(&self, input: u64) -> u64 {
        input.min(2)
    }
    /// Numbers of tokens that an answer reports as stored in the cache, for minutes and for an hour.
    fn stored(&self, _input: u64) -> [u64; 2] {
        [0, 0]
    }
}

/// Kind of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// An answer of a text model.
    Chat {
        /// Name of the model.
        model: String,
        /// Whether the answer is streamed.
        stream: bool,
        /// Whether the stream ends with token counts.
        usage: bool,
    },
    /// An answer of a text model in OpenAI's Responses format.
    Respond {
        /// Name of the model.
        model: String,
        /// Whether the answer is streamed.
        stream: bool,
    },
    /// Embeddings of texts.
    Embed {
        /// Name of the model.
        model: String,
        /// The texts.
        texts: Vec<String>,
        /// Requested width of the vectors.
        width: usize,
    },
    /// The words of a sound file.
    Transcribe {
        /// Name of the model.
        model: String,
    },
    /// A picture.
    Draw {
        /// Name of the model.
        model: String,
    },
    /// Speech.
    Speak {
        /// Name of the model.
        model: String,
    },
    /// The list of models, or one of them by name.
    Models(Option<String>),
    /// Details of one model (Ollama).
    Details(String),
    /// Details of the key (OpenRouter).
    Key,
    /// A route that the service does not have.
    Unknown,
}

pub(super) struct Shared<D> {
    pub(super) dialect: D,
    pub(super) key: Option<String>,
    pub(super) queue: Mutex<VecDeque<Reply>>,
    pub(super) script: Mutex<Option<Box<Script>>>,
    pub(super) requests: Mutex<VecDeque<Kept>>,
    pub(super) violations: Mutex<Vec<String>>,
    pub(super) count: AtomicUsize,
    pub(super) chunk: AtomicUsize,
    pub(super) thinking: Thinking,
    pub(super) stop: CancellationToken,
}

pub(super) type Script = dyn FnMut(&Recorded) -> Reply + Send;
