//! Model servers on loopback that hold clients strictly to the published API documents, and a
//! scripted model without a wire.
//!
//! Every request is recorded. What a document forbids is recorded as a violation, answered as the
//! real service would, and fails the test when the server is dropped or
//! [`ModelServer::assert_clean`] is called. Nothing waits, so the servers also serve benchmarks.

mod anthropic;
mod google;
mod ollama;
mod openai;
mod reply;
mod scripted;
mod server;
mod shape;

pub use anthropic::Anthropic;
pub use google::Google;
pub use ollama::Ollama;
pub use openai::OpenAi;
pub use reply::{Answer, Fault, Reply};
pub use scripted::ScriptedModel;
pub use server::{Dialect, ModelServer, Recorded, Route};

/// Chat Completions and embeddings as OpenAI documents them.
pub type OpenAiServer = ModelServer<OpenAi>;
/// The Messages API as Anthropic documents it.
pub type AnthropicServer = ModelServer<Anthropic>;
/// `/api/chat`, `/api/embed`, `/api/tags` as Ollama documents them.
pub type OllamaServer = ModelServer<Ollama>;
/// The Gemini API as Google documents it.
pub type GoogleServer = ModelServer<Google>;
