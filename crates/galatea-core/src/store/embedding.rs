//! Meaning of memories: one embedding each.

use async_trait::async_trait;

use super::{MemoryQuery, UsageRow};
use crate::{
    clock::Timestamp,
    embedding::Embedding,
    error::Result,
    ids::{AgentId, MemoryId},
    memory::{Memory, MemoryKind},
};

/// Embeddings of memories. A memory has one at most, of the model that was used last, and it goes
/// with its memory: when that is deleted, its person forgotten, or its text replaced. The embedding
/// of a message has words of the message before it: when those go or change, the store removes it
/// in the same commit and offers its message again.
#[async_trait]
pub trait EmbeddingStore: Send + Sync {
    /// Keeps embeddings of this model for memories of this agent, in place of those they had; how
    /// many. A memory that is gone, or says something else by now, is skipped. Called after a call
    /// that costs nothing.
    async fn save_embeddings(
        &self,
        agent: AgentId,
        model: &str,
        embeddings: &[(&Memory, Embedding)],
    ) -> Result<u64> {
        self.save_embeddings_with_usage(agent, model, embeddings, &[]).await
    }
    /// The same, and adds what the calls used to the ledger: both in one change, so that a crash
    /// loses neither the embeddings nor their cost alone. Called for documents.
    async fn save_embeddings_with_usage(
        &self,
        agent: AgentId,
        model: &str,
        embeddings: &[(&Memory, Embedding)],
        usage: &[UsageRow],
    ) -> Result<u64> {
        let alone = embeddings.iter().map(|(memory, embedding)| NewEmbedding {
            memory,
            before: None,
            embedding: embedding.clone(),
        });
        self.save_new_embeddings(agent, model, &alone.collect::<Vec<_>>(), usage).await
    }
    /// Saves embeddings with words of another message. One whose `before` is gone, or says
    /// something else by now, is passed over, too. Called after each batch of messages.
    async fn save_new_embeddings(
        &self,
        agent: AgentId,
        model: &str,
        embeddings: &[NewEmbedding<'_>],
        usage: &[UsageRow],
    ) -> Result<u64>;
    /// Memories that match and have no embedding of this model (and this width, where one is
    /// given), in the order in which memories are found without it. Those that were given up are
    /// skipped. Called to embed what an evaluator or an import has stored.
    async fn without_embedding(
        &self,
        query: &MemoryQuery,
        model: &str,
        width: Option<usize>,
    ) -> Result<Vec<Memory>>;
    /// Claims memories with text that have no embedding of this model, the newest first, until
    /// `until`: a process that ends before it stores the embeddings loses its claim then, and one
    /// that failed gets the memory again. Cheap however many memories there are: the store keeps a
    /// mark up to where it has looked for each model, and a short queue. Called when messages were
    /// stored, and now and then.
    async fn claim_unembedded(&self, claim: &EmbeddingClaim) -> Result<Vec<Unembedded>>;
    /// Models whose embeddings wait to be replaced by those of `model`, the one with the most rows
    /// first, and at most two. Of memories of these kinds of this agent, without what was given up.
    /// Pieces of documents (`Fragments`) are in no queue: theirs are models that embedded some of
    /// them, which may be the present model of another agent that shares its documents. It reads
    /// some thousand rows at most, so a sparse rest of a large store may be missed for a while; it
    /// is empty once nothing of another model waits. Called now and then by a search by meaning.
    async fn older_embeddings(
        &self,
        agent: AgentId,
        kinds: &[MemoryKind],
        model: &str,
    ) -> Result<Vec<OlderEmbeddings>>;
    /// Marks memories that the model refuses, whether the queue has come to them or not. They are
    /// offered again when their text changes, and to another model. Called when the model refused a
    /// text by itself.
    async fn give_up_embedding(&self, agent: AgentId, ids: &[MemoryId]) -> Result<()>;
}

/// Embeddings of a model that was used before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OlderEmbeddings {
    /// The model, [`crate::model::ModelInfo::full_name`].
    pub model: String,
    /// The numbers of each.
    pub width: usize,
}

/// An embedding to store.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEmbedding<'a> {
    /// The memory that the text was taken from.
    pub memory: &'a Memory,
    /// The message before it, if its words were embedded, too: [`Unembedded::before`].
    pub before: Option<&'a Memory>,
    /// The meaning of its text.
    pub embedding: Embedding,
}

/// Claims work for an embedding model.
#[derive(Debug, Clone, PartialEq)]
pub struct EmbeddingClaim {
    /// The agent whose memories are embedded.
    pub agent: AgentId,
    /// Name of the model; embeddings of different models cannot be compared.
    pub model: String,
    /// Sorts, such as facts before messages; all when empty.
    pub kinds: Vec<MemoryKind>,
    /// At most so many.
    pub limit: u32,
    /// The current time; rows that failed are tried again after a pause.
    pub now: Timestamp,
    /// End of the claim.
    pub until: Timestamp,
}

/// A memory that waits for its embedding.
#[derive(Debug, Clone, PartialEq)]
pub struct Unembedded {
    /// The memory whose text is to be embedded.
    pub memory: Memory,
    /// The message before it in its room, for [`crate::fusion::embedded_text`].
    pub before: Option<Memory>,
}
