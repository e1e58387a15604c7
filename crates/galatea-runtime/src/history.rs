//! Stores messages of the past that an operator imports. They are stored as if they had been
//! received, under the same ids, but get no turn: their writers no longer wait for an answer.

use galatea_core::{
    Account, AgentIdentity, Clock, ConnectorInfo, Incoming, MemoryId, RemoteId, Result, Source,
    Store, kill_point, store::Ingest,
};

use crate::{
    directory::{Directory, fingerprints},
    intake::past,
};

/// Messages of one commit: it takes some milliseconds, and live messages get in between.
pub const STEP: usize = 500;

/// Stores messages of one platform for one agent.
pub struct History<'a> {
    store: &'a dyn Store,
    directory: Directory,
    info: ConnectorInfo,
}

impl<'a> History<'a> {
    /// For the account of the agent that came first on the platform. `own` are platform ids of the
    /// agent itself, besides that account's.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn of(
        store: &'a dyn Store,
        identity: AgentIdentity,
        source: Source,
        own: &[RemoteId],
        clock: &dyn Clock,
    ) -> Result<Self> {
        let (directory, account) =
            Directory::of_past(store, identity, &source, own, clock.now()).await?;
        let account = account.unwrap_or_else(|| Account("default".to_owned()));
        Ok(Self { store, directory, info: past::info(source, account) })
    }

    /// Stores at most [`STEP`] messages in one commit; how many were new. What is stored already is
    /// left as it is, so an import that was interrupted can be repeated.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn store(&self, messages: &[Incoming]) -> Result<usize> {
        let mut ingest = Ingest::default();
        for incoming in messages {
            let (change, memory) = past::convert(&self.directory, &self.info, incoming);
            ingest.connections.extend(change);
            ingest.memories.extend(memory);
        }
        let ids: Vec<MemoryId> = ingest.memories.iter().map(|memory| memory.id).collect();
        let known = self.store.derived(self.directory.identity.id(), &ids).await?.len();
        let rows = fingerprints(&ingest.connections);
        kill_point("import.before");
        self.store.ingest(ingest).await?;
        kill_point("import.after");
        self.directory.committed(rows);
        Ok(ids.len().saturating_sub(known))
    }
}
