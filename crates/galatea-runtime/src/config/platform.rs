//! Per-platform forms of the policies (`TELEGRAM_DM_POLICY`, …): declared once, for every platform alike.

use galatea_core::{Result, Settings, Source, Variable};

use super::Policy;

/// One form: what follows the platform's name, other endings that are read, and what it is for, with `{}` for the platform's name.
struct Form {
    suffix: &'static str,
    others: &'static [&'static str],
    help: &'static str,
    default: Option<&'static str>,
}

impl Form {
    const fn new(suffix: &'static str, help: &'static str) -> Self {
        Self { suffix, others: &[], help, default: None }
    }
}

pub(super) const DM_POLICY: &[&str] = &["DM_POLICY"];
pub(super) const ALLOW_FROM: &[&str] = &["ALLOW_FROM"];
/// elizaOS 2.x calls it RESPONSE_POLICY.
pub(super) const GROUP_POLICY: &[&str] = &["GROUP_POLICY", "GROUP_RESPONSE_POLICY"];
pub(super) const ALLOW_BOTS: &[&str] = &["ALLOW_BOTS"];
pub(super) const AUTO_REPLY: &str = "AUTO_REPLY";
pub(super) const ALLOWED_CHATS: &[&str] = &["ALLOWED_CHATS", "ALLOWED_ROOMS"];
pub(super) const LISTEN_CHATS: &[&str] = &["LISTEN_CHATS"];
pub(super) const TARGET_USERS: &[&str] = &["TARGET_USERS"];

const FORMS: &[Form] = &[
    Form::new(DM_POLICY[0], "DM_POLICY for {}."),
    Form::new(ALLOW_FROM[0], "ALLOW_FROM for {}."),
    Form { others: &[GROUP_POLICY[1]], ..Form::new(GROUP_POLICY[0], "GROUP_POLICY for {}.") },
    Form::new(ALLOW_BOTS[0], "ALLOW_BOTS for {}."),
    Form { default: Some("true"), ..Form::new(AUTO_REPLY, "Answer on {} at all.") },
    Form {
        others: &[ALLOWED_CHATS[1]],
        ..Form::new(ALLOWED_CHATS[0], "Rooms of {} the agent answers in, by their ids there: a JSON list, or separated by commas; every room when unset.")
    },
    Form::new(LISTEN_CHATS[0], "Rooms of {} where the agent only listens, by their ids there: what is said is remembered, and nothing is answered."),
    Form::new(TARGET_USERS[0], "People on {} who are answered: ids or handles, separated by commas; everybody when unset."),
];

/// The settings of the gate for one platform. Their names live as long as the process: call it once per platform.
pub fn platform_variables(source: &Source, title: &str) -> Vec<Variable> {
    let prefix = source.as_str().to_ascii_uppercase();
    let name = |suffix: &str| -> &'static str { format!("{prefix}_{suffix}").leak() };
    FORMS
        .iter()
        .map(|form| Variable {
            aliases: form.others.iter().map(|other| name(other)).collect::<Vec<_>>().leak(),
            default: form.default,
            ..Variable::new(name(form.suffix), form.help.replace("{}", title).leak())
        })
        .collect()
}

impl Policy {
    /// Reads the settings of a further account; in explanations its settings carry its number, such as `_2`.
    ///
    /// # Errors
    /// As [`Policy::from_settings`].
    pub fn of_account(settings: &Settings, source: &Source, suffix: &str) -> Result<Self> {
        let mut policy = Self::from_settings(settings, source)?;
        let prefix = format!("{}_", source.as_str().to_ascii_uppercase());
        let named = [
            &mut policy.dm_setting,
            &mut policy.group_setting,
            &mut policy.allowed_rooms_setting,
            &mut policy.listen_rooms_setting,
            &mut policy.only_users_setting,
            &mut policy.allow_bots_setting,
        ];
        for name in named {
            *name = format!("{}{name}{suffix}", if name.starts_with(&prefix) { "" } else { &prefix });
        }
        Ok(policy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_change_a_further_accounts_verdict_carries_its_number() {
        let settings = Settings::from_pairs([("DM_POLICY", "disabled"), ("IRC_GROUP_POLICY", "always")]);
        let policy = Policy::of_account(&settings, &Source::new("irc"), "_2").unwrap();
        assert_eq!((policy.dm_setting.as_str(), policy.group_setting.as_str()), ("IRC_DM_POLICY_2", "IRC_GROUP_POLICY_2"));
    }

    #[test]
    fn what_is_declared_is_what_is_read() {
        let irc = Source::new("irc");
        let plain = Policy::from_settings(&Settings::default(), &irc).unwrap();
        for variable in platform_variables(&irc, "IRC") {
            assert!(variable.help.contains("IRC"), "{}", variable.help);
            for name in std::iter::once(&variable.name).chain(variable.aliases) {
                let value = match *name {
                    "IRC_DM_POLICY" | "IRC_GROUP_POLICY" | "IRC_GROUP_RESPONSE_POLICY" => "disabled",
                    "IRC_AUTO_REPLY" => "false",
                    "IRC_ALLOW_BOTS" => "true",
                    _ => "7",
                };
                let policy = Policy::from_settings(&Settings::from_pairs([(*name, value)]), &irc).unwrap();
                assert_ne!(policy, plain, "nobody reads {name}");
            }
        }
    }
}
