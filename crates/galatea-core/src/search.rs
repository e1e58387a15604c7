//! Search: embeddings, and the order of mixed results.

pub mod embedding;
#[doc(hidden)]
pub mod fusion;
