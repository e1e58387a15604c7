//! A stranger, and how one is admitted.

use galatea_core::{AgentId, EntityId, Result, Source, Store, Timestamp};
use rand::RngExt;
use serde_json::json;

/// Without letters and digits that look alike.
const ALPHABET: &[u8] = b"23456789ABCDEFGHJKMNPQRSTUVWXYZ";

/// Key of the small value that says that a person is admitted.
pub(super) fn approved_key(entity: EntityId) -> String {
    format!("pairing:approved:{entity}")
}

/// Characters that nobody guesses.
pub(super) fn random_code(length: usize) -> String {
    let mut rng = rand::rng();
    (0..length).map(|_| char::from(ALPHABET[rng.random_range(0..ALPHABET.len())])).collect()
}

/// A stranger at the door.
pub(crate) struct Stranger<'a> {
    pub(crate) entity: EntityId,
    pub(crate) source: &'a Source,
    pub(crate) name: &'a str,
    /// Their words.
    pub(crate) text: &'a str,
}

/// From now on this person is answered.
pub(super) async fn admit(
    store: &dyn Store,
    agent: AgentId,
    entity: EntityId,
    name: &str,
    now: Timestamp,
) -> Result<()> {
    store.cache(agent, &approved_key(entity), &json!({ "at": now, "name": name }), None).await
}
