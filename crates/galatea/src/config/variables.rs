//! Every setting there is, in groups: from the crates that read them.

use galatea_core::Variable;
use std::sync::LazyLock;

use super::own;

/// Settings of one part of the program.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    /// Heading.
    pub(crate) title: &'static str,
    /// Its settings; none occurs in two groups.
    pub(crate) variables: Vec<&'static Variable>,
}

static GROUPS: LazyLock<Vec<Group>> = LazyLock::new(|| {
    let platforms = crate::connectors::PLATFORMS.iter().map(|p| (p.title, p.variables));
    let process = [crate::personas::VARIABLES, crate::data_dir::VARIABLES, crate::health::VARIABLES, own::VARIABLES].into_iter().map(|list| ("Process", list));
    let answering = [galatea_runtime::config::VARIABLES, galatea_runtime::config::PLATFORM_VARIABLES, galatea_bootstrap::VARIABLES];
    let answering = answering.into_iter().map(|list| ("Answering", list));
    let mut groups: Vec<Group> = Vec::new();
    for (title, variables) in process.chain(platforms).chain(galatea_models::config::variables::VARIABLES.iter().copied()).chain(answering) {
        let new: Vec<_> = variables.iter().filter(|v| !groups.iter().any(|g| g.variables.iter().any(|known| known.name == v.name))).collect();
        match groups.iter_mut().find(|g| g.title == title) {
            Some(group) => group.variables.extend(new),
            None => groups.push(Group { title, variables: new }),
        }
    }
    groups.retain(|g| !g.variables.is_empty());
    groups
});

/// Every setting, by group.
pub(crate) fn groups() -> &'static [Group] {
    &GROUPS
}

/// Every setting.
pub(crate) fn all_variables() -> impl Iterator<Item = &'static Variable> {
    GROUPS.iter().flat_map(|g| g.variables.iter().copied())
}

/// The setting of this name or alias.
pub(crate) fn find(name: &str) -> Option<&'static Variable> {
    all_variables().find(|v| v.name == name || v.aliases.contains(&name))
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
}
