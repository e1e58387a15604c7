//! Settings, characters and agents that operators made.

use galatea_core::{
    AgentId, Store, Timestamp,
    store::{CharacterVersion, StoredSetting},
};
use serde_json::json;
use std::sync::Arc;

/// A setting is replaced by a later one of the same agent and name only.
pub async fn settings_are_stored_and_removed(store: Arc<dyn Store>) {
    let agent = AgentId::fresh();
    let setting = |agent, name: &str, value: &str| StoredSetting {
        agent,
        name: name.to_owned(),
        value: value.to_owned(),
        sealed: name.ends_with("KEY"),
        at: Timestamp(7),
        by: "ada".to_owned(),
    };
    let all = setting(None, "DM_POLICY", "open");
    let own = setting(Some(agent), "DM_POLICY", "disabled");
    let key = setting(Some(agent), "API_KEY", "v1:sealed");
    for one in [&setting(None, "DM_POLICY", "pairing"), &all, &own, &key] {
        store.save_setting(one).await.unwrap();
    }
    assert_eq!(store.stored_settings().await.unwrap(), [all.clone(), key.clone(), own.clone()]);
    assert!(store.remove_setting(Some(agent), "DM_POLICY").await.unwrap());
    assert!(!store.remove_setting(Some(agent), "DM_POLICY").await.unwrap());
    assert_eq!(store.stored_settings().await.unwrap(), [all, key]);
}

/// Of two that store one number, one does; created agents are known until they go.
pub async fn characters_have_versions(store: Arc<dyn Store>) {
    let agent = AgentId::fresh();
    let version = |version, by: &str| CharacterVersion {
        agent,
        version,
        at: Timestamp(version),
        by: by.to_owned(),
        from_file: version == 1,
        file: (version == 1).then(|| "abc".to_owned()),
        body: json!({ "name": "Ada", "bio": [format!("{version}")], "nul": "\u{0}" }),
    };
    let other = CharacterVersion { agent: AgentId::fresh(), ..version(1, "x") };
    for one in [&version(1, "file"), &other] {
        assert!(store.add_character_version(one).await.unwrap());
    }
    let (second, late) = (version(2, "jo"), version(2, "kim"));
    let (a, b) =
        tokio::join!(store.add_character_version(&second), store.add_character_version(&late));
    assert_ne!(a.unwrap(), b.unwrap());
    let versions = store.character_versions(agent, None, 10).await.unwrap();
    assert_eq!(versions.len(), 2);
    assert_eq!((versions[0].version, &versions[1]), (2, &version(1, "file")));
    let older = store.character_versions(agent, Some(2), 10).await.unwrap();
    assert_eq!(older, [version(1, "file")]);
    assert_eq!(store.character_versions(agent, None, 1).await.unwrap().len(), 1);
    store.set_created(agent, true).await.unwrap();
    store.set_created(agent, true).await.unwrap();
    assert_eq!(store.created_agents().await.unwrap(), [agent]);
    store.set_created(agent, false).await.unwrap();
    assert_eq!(store.created_agents().await.unwrap(), []);
}
