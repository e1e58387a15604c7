//! Every setting of the program in groups, collected from the crates that read them.

use galatea_core::Variable;
use std::sync::LazyLock;

use super::{own, sign_in};
use crate::platforms::{PLATFORMS, accounts, gate_variables, names_of};

/// Settings of one part of the program.
#[derive(Debug, Clone)]
pub struct Group {
    /// Heading in the reference.
    pub title: &'static str,
    /// The settings of the part.
    pub variables: Vec<&'static Variable>,
}

/// Heading of settings that belong to one process and may differ between machines.
pub const PROCESS: &str = "Process";

static GROUPS: LazyLock<Vec<Group>> = LazyLock::new(|| {
    let platforms =
        PLATFORMS.iter().flat_map(|p| [(p.title, p.variables), (p.title, gate_variables(p))]);
    let process = [(PROCESS, own::VARIABLES), (PROCESS, sign_in::VARIABLES)];
    let answering = [galatea_runtime::config::VARIABLES, galatea_bootstrap::VARIABLES];
    let answering = answering.into_iter().map(|list| ("Answering", list));
    let groups_of_people = [("Answering", galatea_community::VARIABLES)];
    let knowledge =
        [("Documents", galatea_knowledge::VARIABLES), ("Tools", galatea_mcp::config::VARIABLES)];
    let mut groups: Vec<Group> = Vec::new();
    for (title, variables) in process
        .into_iter()
        .chain(platforms)
        .chain(galatea_models::config::variables::VARIABLES.iter().copied())
        .chain(answering)
        .chain(groups_of_people)
        .chain(knowledge)
    {
        let new: Vec<_> = variables
            .iter()
            .filter(|v| {
                !groups.iter().any(|g| {
                    g.variables.iter().any(|known| names_of(known).any(|name| name == v.name))
                })
            })
            .collect();
        match groups.iter_mut().find(|g| g.title == title) {
            Some(group) => group.variables.extend(new),
            None => groups.push(Group { title, variables: new }),
        }
    }
    groups.retain(|g| !g.variables.is_empty());
    groups
});

/// The settings in their groups, in the order of the reference.
pub fn groups() -> &'static [Group] {
    &GROUPS
}

/// Every setting, in the order of its group.
pub(crate) fn all_variables() -> impl Iterator<Item = &'static Variable> {
    GROUPS.iter().flat_map(|g| g.variables.iter().copied())
}

/// The setting with this name or alias. The name of another account (`DISCORD_API_TOKEN_2`) is
/// found as the platform's setting, and a further key as the provider's.
pub fn find(name: &str) -> Option<&'static Variable> {
    let plain = |name: &str| all_variables().find(|v| names_of(v).any(|known| known == name));
    plain(name).or_else(|| plain(accounts::split(name)?.0).filter(|v| is_of_account(v)))
}

/// Whether the setting may be repeated with a number: per account of a platform, or per key of a
/// provider.
fn is_of_account(variable: &Variable) -> bool {
    let logins = PLATFORMS.iter().filter(|p| p.has_login());
    let keys = galatea_models::config::variables::provider_keys();
    logins
        .flat_map(|p| p.variables.iter().chain(gate_variables(p)))
        .chain(keys)
        .any(|v| v.name == variable.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_means_one_thing() {
        let mut seen = std::collections::BTreeMap::new();
        for variable in all_variables() {
            for name in std::iter::once(&variable.name).chain(variable.aliases) {
                assert_eq!(seen.insert(*name, variable.name), None, "{name}");
            }
        }
    }

    #[test]
    fn every_platform_has_the_gates_settings() {
        for name in ["TELEGRAM", "DISCORD", "X"].iter().flat_map(|p| {
            ["DM_POLICY", "GROUP_POLICY", "ALLOWED_CHATS", "AUTO_REPLY"].map(|s| format!("{p}_{s}"))
        }) {
            assert!(find(&name).is_some(), "{name}");
        }
        assert!(find("TERMINAL_DM_POLICY").is_none());
    }

    #[test]
    fn settings_of_other_accounts_are_known() {
        assert_eq!(find("DISCORD_API_TOKEN_2").map(|v| v.name), Some("DISCORD_API_TOKEN"));
        assert_eq!(find("X_DM_POLICY_3").map(|v| v.name), Some("X_DM_POLICY"));
        assert_eq!(find("OPENAI_API_KEY_2").map(|v| v.name), Some("OPENAI_API_KEY"));
        assert!(find("OPENAI_BASE_URL_2").is_none() && find("TERMINAL_SOCKET_2").is_none());
    }

    #[test]
    fn settings_of_plugins_are_known_too() {
        assert!(galatea_bootstrap::VARIABLES.iter().all(|v| find(v.name).is_some()));
    }

    #[test]
    fn every_setting_says_what_it_is_for() {
        for variable in all_variables() {
            assert!(variable.help.len() > 10, "{}: {}", variable.name, variable.help);
            assert_eq!(variable.name, variable.name.to_uppercase());
        }
    }

    /// Each connector's README names every setting of its platform with its default, every code of
    /// its pages, and nothing that does not exist.
    #[test]
    fn the_readmes_of_connectors_agree_with_the_code() {
        let ticked = |text: &str| -> Vec<String> {
            text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
        };
        for platform in PLATFORMS {
            let path = format!(
                "{}/../../connectors/galatea-{}/README.md",
                env!("CARGO_MANIFEST_DIR"),
                // Two platforms of one crate.
                if platform.source == galatea_web::VISITORS {
                    "web"
                } else {
                    platform.source.as_str()
                }
            );
            let readme = std::fs::read_to_string(&path).unwrap();
            for variable in platform.variables {
                let short = variable.name.rsplit_once('_').map(|(_, end)| format!("`_{end}`"));
                let row = readme.lines().find(|line| {
                    line.starts_with('|') && ticked(line).iter().any(|name| name == variable.name)
                });
                assert!(
                    row.is_some() || short.is_some_and(|short| readme.contains(&short)),
                    "{path} does not name {}",
                    variable.name
                );
                if let (Some(row), Some(default)) = (row, variable.default) {
                    assert!(row.contains(default), "{} is {default}: {row}", variable.name);
                }
            }
            // A page about success says nothing that a reader of the page has to look up.
            for page in platform.pages.iter().filter(|page| !page.code.ends_with("-OK")) {
                let end = page.code.rsplit('-').next().unwrap();
                assert!(
                    readme.contains(page.code) || readme.contains(&format!("`-{end}`")),
                    "{path} does not name {}",
                    page.code
                );
            }
            for name in ticked(&readme) {
                let is_setting = name.starts_with(&format!("{}_", platform.title.to_uppercase()))
                    && name.chars().all(|c| c.is_ascii_uppercase() || c == '_');
                let known = find(&name).or_else(|| find(name.trim_end_matches("_FILE")));
                assert!(!is_setting || known.is_some(), "{path} names {name}");
                if name.starts_with("GAL-") && !name.ends_with('-') && !name.contains('…') {
                    assert!(crate::catalogue::find(&name).is_some(), "{path} names {name}");
                }
            }
        }
    }
}
