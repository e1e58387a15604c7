//! Small values that a plugin keeps.

use serde_json::Value;
use std::sync::Arc;

use super::CacheStore;
use crate::{clock::Timestamp, error::Result, ids::AgentId};

/// Small values that one plugin keeps for one agent, by keys of its own. In the store each key begins
/// with `plugin:`, the plugin's name and a colon, so a plugin reaches neither another plugin's values
/// nor the engine's, such as who was approved.
#[derive(Clone)]
pub struct PluginCache {
    store: Arc<dyn CacheStore>,
    agent: AgentId,
    prefix: Arc<str>,
}

impl PluginCache {
    /// The values of the plugin of this name. The engine makes it for each plugin; plugin code gets
    /// its own as [`crate::Turn::cache`].
    pub fn new(store: Arc<dyn CacheStore>, agent: AgentId, plugin: &str) -> Self {
        // With a colon in its name a plugin could spell another's keys.
        let name = plugin.replace('%', "%25").replace(':', "%3A");
        Self { store, agent, prefix: format!("plugin:{name}:").into() }
    }

    /// A value that has not expired at `now`.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn get(&self, key: &str, now: Timestamp) -> Result<Option<Value>> {
        self.store.cached(self.agent, &self.key(key), now).await
    }

    /// Sets a value, which lasts until `expires`; for ever without it.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn set(&self, key: &str, value: &Value, expires: Option<Timestamp>) -> Result<()> {
        self.store.cache(self.agent, &self.key(key), value, expires).await
    }

    /// Sets a value for ever if it still is what the caller has `seen` ([`Self::get`]). False, with
    /// nothing stored, if another process changed it meanwhile.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn swap(&self, key: &str, seen: Option<&Value>, value: &Value) -> Result<bool> {
        self.store.swap(self.agent, &self.key(key), seen, value).await
    }

    fn key(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_trait::async_trait;
    use serde_json::json;
    use std::{collections::HashMap, sync::Mutex};

    #[derive(Default)]
    struct Values(Mutex<HashMap<(AgentId, String), Value>>);

    #[async_trait]
    impl CacheStore for Values {
        async fn cached(&self, agent: AgentId, key: &str, _: Timestamp) -> Result<Option<Value>> {
            Ok(self.0.lock().unwrap().get(&(agent, key.to_owned())).cloned())
        }
        async fn cached_of(
            &self,
            agents: &[AgentId],
            key: &str,
            _: Timestamp,
        ) -> Result<Vec<(AgentId, Value)>> {
            let values = self.0.lock().unwrap();
            let value = |agent: &AgentId| values.get(&(*agent, key.to_owned())).cloned();
            Ok(agents.iter().filter_map(|agent| Some((*agent, value(agent)?))).collect())
        }
        async fn cache(
            &self,
            agent: AgentId,
            key: &str,
            value: &Value,
            _: Option<Timestamp>,
        ) -> Result<()> {
            self.0.lock().unwrap().insert((agent, key.to_owned()), value.clone());
            Ok(())
        }
        async fn swap(
            &self,
            agent: AgentId,
            key: &str,
            seen: Option<&Value>,
            value: &Value,
        ) -> Result<bool> {
            let mut values = self.0.lock().unwrap();
            let unchanged = values.get(&(agent, key.to_owned())) == seen;
            if unchanged {
                values.insert((agent, key.to_owned()), value.clone());
            }
            Ok(unchanged)
        }
        async fn forget(&self, agent: AgentId, key: &str) -> Result<()> {
            self.0.lock().unwrap().remove(&(agent, key.to_owned()));
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_plugin_reaches_neither_the_engines_values_nor_another_plugins() {
        let (store, agent, now) = (Arc::new(Values::default()), AgentId::fresh(), Timestamp(0));
        let of = |plugin: &str| PluginCache::new(Arc::clone(&store) as _, agent, plugin);
        store.cache(agent, "pairing:approved:1", &json!("engine"), None).await.unwrap();
        let (games, others) = (of("games"), [of("game"), of("games:"), of("games:a"), of("")]);
        games.set("pairing:approved:1", &json!("games"), None).await.unwrap();
        games.set("a:k", &json!(1), None).await.unwrap();
        for other in &others {
            for key in ["pairing:approved:1", "a:k", "k", ":a:k", "s:a:k", "games:a:k"] {
                assert_eq!(other.get(key, now).await.unwrap(), None, "{} {key}", other.prefix);
                other.set(key, &json!("other"), None).await.unwrap();
            }
        }
        assert_eq!(games.get("a:k", now).await.unwrap(), Some(json!(1)));
        let approved = store.cached(agent, "pairing:approved:1", now).await.unwrap();
        assert_eq!(approved, Some(json!("engine")));
        let elsewhere = PluginCache::new(store, AgentId::fresh(), "games");
        assert_eq!(elsewhere.get("a:k", now).await.unwrap(), None, "of another agent");
    }
}
