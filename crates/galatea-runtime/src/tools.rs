//! The tools of an agent by their names in grants, as its process knew them last: commands that run
//! beside it refuse a rule that means none of them.

use galatea_core::{
    AgentId, Error, Result, Store, Timestamp,
    rights::{Scope, ToolIdentity},
};
use serde::{Deserialize, Serialize};

use crate::plugins::registry::Registry;

/// Key of the agent's small values.
const KEY: &str = "tools";

/// A tool that an agent has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KnownTool {
    /// Its name in grants.
    #[serde(flatten)]
    pub tool: ToolIdentity,
    /// The name that the model calls.
    pub action: String,
    /// The scope that its author declared: who may use it without a grant.
    pub scope: Scope,
}

/// Stores the tools of an agent, if they are others than before. Called when an agent is made, and
/// when its tools change.
pub(crate) async fn announce(
    store: &dyn Store,
    agent: AgentId,
    registry: &Registry,
    now: Timestamp,
) -> Result<()> {
    let tools: Vec<KnownTool> = registry
        .actions
        .iter()
        .map(|(docs, action)| KnownTool {
            tool: action.identity(&docs.name),
            action: docs.name.clone(),
            scope: action.scope(),
        })
        .collect();
    if known(store, agent, now).await? == tools {
        return Ok(());
    }
    let value = serde_json::to_value(&tools)
        .map_err(|e| Error::unexpected("the list of tools cannot be stored").with_source(e))?;
    store.cache(agent, KEY, &value, None).await
}

/// The tools that an agent had when it ran last; empty if it has not run yet. Called by commands.
///
/// # Errors
/// Those of the store.
pub async fn known(store: &dyn Store, agent: AgentId, now: Timestamp) -> Result<Vec<KnownTool>> {
    let value = store.cached(agent, KEY, now).await?;
    Ok(value.and_then(|value| serde_json::from_value(value).ok()).unwrap_or_default())
}
