//! The embedding model that is offered where none is set: `data/embeddings.toml`.

use serde::Deserialize;
use std::{collections::HashMap, sync::LazyLock};

const FILE: &str = include_str!("../data/embeddings.toml");

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Offers {
    /// The day on which the names were checked.
    #[allow(dead_code, reason = "for people who read the file, and the test")]
    date: String,
    other: String,
    provider: HashMap<String, String>,
}

/// A file that cannot be read offers nothing; a test reads it.
static OFFERS: LazyLock<Offers> = LazyLock::new(|| toml::from_str(FILE).unwrap_or_default());

/// The setting to add for search by meaning, with text models of this provider
/// ([`galatea_core::ModelInfo::provider`]).
pub fn embedding_offer(provider: &str) -> String {
    let setting = OFFERS.provider.get(provider).unwrap_or(&OFFERS.other);
    format!("set {setting}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_that_is_offered_exists() {
        let offers: Offers = toml::from_str(FILE).unwrap();
        assert_eq!(offers.date.len(), 10);
        let known: Vec<&str> = crate::config::variables::VARIABLES
            .iter()
            .flat_map(|(_, variables)| variables.iter())
            .map(|variable| variable.name)
            .collect();
        for offer in offers.provider.values().chain([&offers.other]) {
            let names = offer.split(|c: char| !(c.is_ascii_uppercase() || c == '_'));
            let names: Vec<&str> = names.filter(|name| name.contains('_')).collect();
            assert!(!names.is_empty(), "{offer}");
            for name in names {
                assert!(known.contains(&name), "{name}");
            }
        }
        assert_eq!(
            embedding_offer("ollama"),
            "set OLLAMA_EMBEDDING_MODEL=nomic-embed-text, after `ollama pull nomic-embed-text`"
        );
        assert!(embedding_offer("anthropic").contains("text-embedding-3-small"));
    }
}
