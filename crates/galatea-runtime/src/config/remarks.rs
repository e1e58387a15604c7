//! Entries of lists of people that match no one, for `doctor` and the banner.

use galatea_core::{People, Result, Settings, Source};

use super::Policy;

/// Code of a remark about an entry that matches no one.
pub const GAL_LISTED: &str = "GAL-CFG-LISTED";

/// Oddities in the lists of people of one platform, a sentence each. `is_id` says whether a
/// person there can have an id.
///
/// # Errors
/// As [`Policy::from_settings`].
pub fn remarks(
    settings: &Settings,
    source: &Source,
    is_id: fn(&str) -> bool,
) -> Result<Vec<String>> {
    let policy = Policy::from_settings(settings, source)?;
    // The general list holds ids of all platforms. Only an entry that is an id on none of them is a
    // mistake.
    let lists = [
        (policy.allow_from_setting, Some(policy.allow_from)),
        (policy.only_users_setting, policy.only_users),
    ];
    Ok(lists
        .into_iter()
        .flat_map(|(name, people)| of_list(&name, &people.unwrap_or_default(), is_id))
        .collect())
}

fn of_list(name: &str, people: &People, is_id: fn(&str) -> bool) -> Vec<String> {
    people
        .unmatchable(is_id)
        .into_iter()
        .map(|entry| format!("{name} lists {entry}, which matches no one: it is not an id, and a handle is written @{entry}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::people::is_number;

    #[test]
    fn a_handle_without_its_sign_is_remarked() {
        let settings = Settings::from_pairs([
            ("ALLOW_FROM", "42, maria, @ann"),
            ("TELEGRAM_TARGET_USERS", "bob"),
        ]);
        let found = remarks(&settings, &Source::new("telegram"), is_number).unwrap();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].contains("ALLOW_FROM lists maria") && found[0].contains("@maria"),
            "{found:?}"
        );
        assert!(found[1].contains("TELEGRAM_TARGET_USERS lists bob"), "{found:?}");
        assert!(remarks(&settings, &Source::new("irc"), |_| true).unwrap().is_empty());
    }
}
