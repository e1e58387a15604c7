//! What a connector keeps of an account, by key.

use galatea_core::{Result, store::ConnectorState};

use crate::{
    convert::to_json,
    dialect::{Dialects, Statement, values},
};

pub(crate) const STATE: Dialects = Dialects::same(
    "SELECT value FROM connector_state WHERE agent_id = $1 AND source = $2 AND account = $3 AND key = $4",
);
pub(crate) const SAVE: Dialects = Dialects::same(
    "INSERT INTO connector_state (agent_id, source, account, key, value) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (agent_id, source, account, key) DO UPDATE SET value = excluded.value",
);
pub(crate) const REMOVE: Dialects = Dialects::same(
    "DELETE FROM connector_state WHERE agent_id = $1 AND source = $2 AND account = $3 AND key = $4",
);

/// The statement that stores a value, or removes it where it is null.
pub(crate) fn save(state: ConnectorState) -> Result<Statement> {
    let ConnectorState { agent, source, account, key, value } = state;
    Ok(if value.is_null() {
        REMOVE.with(values![agent.0, source.as_str(), account.0, key])
    } else {
        SAVE.with(values![agent.0, source.as_str(), account.0, key, to_json(&value)?])
    })
}
