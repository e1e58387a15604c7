//! Model servers on the loopback that hold clients strictly to the published API documents, and a
//! scripted model without a network.
//!
//! Each server records every request. It answers a request that the documents forbid as the real
//! service would, and records it as a violation; dropping the server or calling
//! [`ModelServer::assert_clean`] then fails the test. Normal answers are immediate, so benchmarks
//! can use the servers too.

mod anthropic;
mod google;
mod ollama;
mod openai;
mod reply;
mod scripted;
mod scripted_media;
mod server;
mod shape;

pub use anthropic::Anthropic;
pub use google::Google;
pub use ollama::Ollama;
pub use openai::OpenAi;
pub use reply::{Answer, Fault, Reply};
pub use scripted::ScriptedModel;
pub use scripted_media::ScriptedMedia;
pub use server::{Dialect, ModelServer, Recorded, Route};

/// Chat Completions and embeddings as OpenAI documents them.
pub type OpenAiServer = ModelServer<OpenAi>;
/// The Messages API as Anthropic documents it.
pub type AnthropicServer = ModelServer<Anthropic>;
/// `/api/chat`, `/api/embed`, `/api/tags` as Ollama documents them.
pub type OllamaServer = ModelServer<Ollama>;
/// The Gemini API as Google documents it.
pub type GoogleServer = ModelServer<Google>;
