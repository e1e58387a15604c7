//! Digests of what a process runs, so that processes that share a store notice when they do not run
//! the same.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::Partition;
use crate::ids::{AgentId, Source, uuid_of};

/// Most names of settings that are listed; the rest is counted.
const TOLD: usize = 8;

/// Work of a process.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct About {
    /// Version of the program; empty for one that did not say it yet.
    pub version: String,
    /// Lead of the store's clock over its machine's, in milliseconds; negative when it is
    /// behind.
    pub skew_millis: i64,
    /// Work for each agent.
    pub agents: BTreeMap<AgentId, AboutAgent>,
}

/// Work of a process for one agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AboutAgent {
    /// The agent's name, for people.
    pub name: String,
    /// Digest of its character.
    pub character: String,
    /// Digest of each setting that has a value and is not a secret, by name.
    pub settings: BTreeMap<String, String>,
    /// The logins it is configured with, by the names of their leases.
    pub accounts: Vec<Partition>,
    /// Accounts of other processes that it cannot write for.
    pub unserved: Vec<Partition>,
    /// Platforms that it is configured for, and where a person has still to log in on its machine.
    pub logins_needed: Vec<Source>,
}

/// Eight hexadecimal digits that differ when the text does. No protection of the text: only for
/// what is stored beside it anyway.
pub fn digest(text: &str) -> String {
    let mut digits = uuid_of(text).simple().to_string();
    digits.truncate(8);
    digits
}

impl About {
    /// Differences between this process and another one, a phrase each: nothing when both run the
    /// same. An agent that only one of them runs does not count as a difference.
    pub fn unlike(&self, other: &Self) -> Vec<String> {
        if other.version.is_empty() {
            return vec!["a version that does not say what it runs".to_owned()];
        }
        let mut unlike = Vec::new();
        if self.version != other.version {
            unlike.push(format!("version {} instead of {}", other.version, self.version));
        }
        for (id, mine) in &self.agents {
            let Some(theirs) = other.agents.get(id) else { continue };
            if mine.character != theirs.character {
                unlike.push(format!("another character of {}", mine.name));
            }
            let names = mine
                .settings
                .keys()
                .chain(theirs.settings.keys().filter(|name| !mine.settings.contains_key(*name)));
            let mut names: Vec<&str> = names
                .filter(|name| mine.settings.get(*name) != theirs.settings.get(*name))
                .map(String::as_str)
                .collect();
            names.sort_unstable();
            if !names.is_empty() {
                let more = names.len().saturating_sub(TOLD);
                names.truncate(TOLD);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                unlike.push(format!(
                    "other settings for {}: {}{more}",
                    mine.name,
                    names.join(", ")
                ));
            }
        }
        unlike
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(version: &str, character: &str, settings: &[(&str, &str)]) -> About {
        let settings =
            settings.iter().map(|(name, value)| ((*name).to_owned(), digest(value))).collect();
        let agent = AboutAgent {
            name: "Ada".into(),
            character: digest(character),
            settings,
            ..AboutAgent::default()
        };
        About {
            version: version.into(),
            skew_millis: 0,
            agents: [(AgentId(uuid_of("ada")), agent)].into(),
        }
    }

    #[test]
    fn what_differs_is_named() {
        let here = about("1.0.0", "kind", &[("BUSY_POLICY", "each"), ("MODEL_NOTICE", "later")]);
        assert_eq!(here.unlike(&here.clone()), [""; 0]);
        let there = about(
            "1.1.0",
            "rude",
            &[("BUSY_POLICY", "latest"), ("LARGE_MODEL", "x"), ("MODEL_NOTICE", "later")],
        );
        assert_eq!(
            here.unlike(&there),
            [
                "version 1.1.0 instead of 1.0.0",
                "another character of Ada",
                "other settings for Ada: BUSY_POLICY, LARGE_MODEL"
            ]
        );
        assert_eq!(here.unlike(&About::default()), ["a version that does not say what it runs"]);
    }

    #[test]
    fn an_agent_of_one_process_alone_is_no_fault() {
        let here = about("1.0.0", "kind", &[]);
        assert_eq!(here.unlike(&About { version: "1.0.0".into(), ..About::default() }), [""; 0]);
    }

    #[test]
    fn many_settings_are_counted() {
        let names: Vec<String> = (0..11).map(|n| format!("S{n:02}")).collect();
        let there: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x")).collect();
        let differences = about("1", "k", &[]).unlike(&about("1", "k", &there));
        assert_eq!(
            differences,
            ["other settings for Ada: S00, S01, S02, S03, S04, S05, S06, S07 and 3 more"]
        );
    }
}
