//! The rights of an action: by role and place, and by whether the prompt has untrusted words.
//! Structural, from the World as the platform described it; never from text.

mod grant;
mod table;

pub use grant::{
    Grant, GrantAsk, GrantKind, Judged, ToolIdentity, ToolPattern, ToolUse, judge, least_as_str,
    parse_least,
};
pub use table::{Authorship, Row, Ruling, Scope, Site, Standing, rows, rule};

use crate::{
    error::Result,
    ids::EntityId,
    people::{People, PersonEntry},
    settings::{Settings, variable::Variable},
    world::{Role, World},
};

/// People whose agent it is: platforms know owners of their places only, and no person is the same
/// on two of them.
pub const OWNERS: Variable = Variable::new(
    "AGENT_OWNERS",
    "Whose agent it is, by platform and id, such as telegram:5000000001,discord:80351110224678912: they may have it speak in any room of any platform. Ids only: a handle may change its owner.",
);

/// Key of a memory's metadata: the agent said it while other people's words were before it, so they
/// may speak out of it.
pub const TAINTED: &str = "othersWords";

/// The owners of the agent on one platform.
///
/// # Errors
/// `Invalid` for a list that cannot be read.
pub fn owners(settings: &Settings, source: &str) -> Result<People> {
    let listed = settings.list(&OWNERS)?.unwrap_or_default();
    let here = listed
        .iter()
        .filter_map(|owner| owner.split_once(':'))
        .filter(|(platform, _)| platform.trim().eq_ignore_ascii_case(source));
    Ok(People::parse(here.map(|(_, id)| id))
        .iter()
        .filter(|listed| matches!(listed, PersonEntry::Id(_)))
        .cloned()
        .collect())
}

/// Remarks about `AGENT_OWNERS`, a sentence each. `ids` says for a platform which ids people
/// have there; none for an unknown platform.
///
/// # Errors
/// `Invalid` for a list that cannot be read.
pub fn owner_remarks(
    settings: &Settings,
    ids: impl Fn(&str) -> Option<fn(&str) -> bool>,
) -> Result<Vec<String>> {
    let name = OWNERS.name;
    let listed = settings.list(&OWNERS)?.unwrap_or_default();
    let remark = |entry: &String| {
        let Some((platform, person)) = entry.split_once(':') else {
            return Some(format!(
                "{name} lists {entry}, which matches no one: write it as platform:id, such as telegram:5000000001"
            ));
        };
        let Some(is_id) = ids(&platform.trim().to_ascii_lowercase()) else {
            return Some(format!(
                "{name} lists {entry}, which matches no one: there is no platform {}",
                platform.trim()
            ));
        };
        (!is_id(person.trim())).then(|| format!("{name} lists {entry}, which matches no one: owners are listed by id, since a handle may change its owner"))
    };
    Ok(listed.iter().filter_map(remark).collect())
}

/// An entity's role in a World.
pub fn role(world: Option<&World>, entity: EntityId) -> Role {
    let Some(world) = world else { return Role::None };
    if world.metadata.ownership.is_some_and(|o| o.owner_id == entity) {
        return Role::Owner;
    }
    world.metadata.roles.get(&entity).copied().unwrap_or(Role::None)
}

/// True if anyone has a role in a World, as [`role`] gives it.
pub fn has_roles(world: Option<&World>) -> bool {
    world
        .is_some_and(|world| world.metadata.ownership.is_some() || !world.metadata.roles.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::people::is_number;

    #[test]
    fn owners_are_listed_by_platform_and_id() {
        let settings = Settings::from_pairs([(
            "AGENT_OWNERS",
            "telegram:7, Telegram: 8 ,discord:9,telegram:@maria,10,irc:1",
        )]);
        assert_eq!(owners(&settings, "telegram").unwrap().to_string(), "7,8");
        let known = |platform: &str| {
            ["telegram", "discord"].contains(&platform).then_some(is_number as fn(&str) -> bool)
        };
        let remarks = owner_remarks(&settings, known).unwrap();
        let named = ["telegram:@maria", "10", "irc:1"];
        assert_eq!(remarks.len(), named.len(), "{remarks:?}");
        assert!(
            named
                .iter()
                .zip(&remarks)
                .all(|(entry, remark)| remark.contains(&format!("lists {entry},"))),
            "{remarks:?}"
        );
    }
}
