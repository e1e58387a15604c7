//! Per-platform forms of the policies (`TELEGRAM_DM_POLICY`, …): declared once, for every platform
//! alike.

use galatea_core::{Source, Variable};

use super::{
    forms::{
        ALLOW_BOTS, ALLOW_FROM, ALLOWED_CHATS, ANSWER_PARTS, ANSWER_TOKENS, AUTO_REPLY, DM_POLICY,
        GROUP_POLICY, LISTEN_CHATS, MESSAGE_TTL, NAME_RULE, TARGET_USERS,
    },
    spending,
};

/// A form: the ending that follows the platform's name, other endings that are read, and what it is
/// for, with `{}` for the platform's name.
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

const FORMS: &[Form] = &[
    Form::new(DM_POLICY[0], "DM_POLICY for {}."),
    Form::new(ALLOW_FROM[0], "ALLOW_FROM for {}."),
    Form { others: &[GROUP_POLICY[1]], ..Form::new(GROUP_POLICY[0], "GROUP_POLICY for {}.") },
    Form::new(NAME_RULE[0], "NAME_RULE for {}."),
    Form::new(ANSWER_PARTS[0], "ANSWER_PARTS for {}."),
    Form::new(ANSWER_TOKENS[0], "ANSWER_TOKENS for {}."),
    Form::new(ALLOW_BOTS[0], "ALLOW_BOTS for {}."),
    Form::new(MESSAGE_TTL[0], "MESSAGE_TTL_MINUTES for {}."),
    Form { default: Some("true"), ..Form::new(AUTO_REPLY, "Answer on {} at all.") },
    Form {
        others: &[ALLOWED_CHATS[1]],
        ..Form::new(
            ALLOWED_CHATS[0],
            "Rooms of {} the agent answers in, by their ids there: a JSON list, or separated by commas; every room when unset.",
        )
    },
    Form::new(
        LISTEN_CHATS[0],
        "Rooms of {} where the agent only listens, by their ids there: what is said is remembered, and nothing is answered.",
    ),
    Form::new(
        TARGET_USERS[0],
        "People on {} who are answered: ids, or handles with @, separated by commas; everyone when unset.",
    ),
];

/// The settings of the gate for one platform. Their names live as long as the process: call it once
/// per platform.
pub fn platform_variables(source: &Source, title: &str) -> Vec<Variable> {
    let prefix = source.as_str().to_ascii_uppercase();
    let name = |suffix: &str| -> &'static str { format!("{prefix}_{suffix}").leak() };
    let forms = FORMS.iter().map(|form| Variable {
        aliases: form.others.iter().map(|other| name(other)).collect::<Vec<_>>().leak(),
        default: form.default,
        ..Variable::new(name(form.suffix), form.help.replace("{}", title).leak())
    });
    let limits = spending::EACH
        .iter()
        .map(|(general, help)| Variable::new(name(general.name), help.replace("{}", title).leak()));
    forms.chain(limits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Policy;
    use galatea_core::Settings;

    #[test]
    fn what_would_change_a_further_accounts_verdict_carries_its_number() {
        let settings =
            Settings::from_pairs([("DM_POLICY", "disabled"), ("IRC_GROUP_POLICY", "always")]);
        let policy = Policy::of_account(&settings, &Source::new("irc"), "_2").unwrap();
        assert_eq!(
            (policy.dm_setting.as_str(), policy.group_setting.as_str()),
            ("IRC_DM_POLICY_2", "IRC_GROUP_POLICY_2")
        );
    }

    #[test]
    fn what_is_declared_is_what_is_read() {
        let irc = Source::new("irc");
        let plain = Policy::from_settings(&Settings::default(), &irc).unwrap();
        for variable in platform_variables(&irc, "IRC") {
            assert!(variable.help.contains("IRC"), "{}", variable.help);
            for name in std::iter::once(&variable.name).chain(variable.aliases) {
                let value = match *name {
                    "IRC_DM_POLICY" | "IRC_GROUP_POLICY" | "IRC_GROUP_RESPONSE_POLICY" => {
                        "disabled"
                    }
                    "IRC_AUTO_REPLY" => "false",
                    "IRC_ALLOW_BOTS" => "true",
                    "IRC_LIMITS" => "on",
                    "IRC_NAME_RULE" => "anywhere",
                    name if name.starts_with("IRC_LIMIT_")
                        && !name.ends_with("_WAITING")
                        && !name.ends_with("_NOTICE") =>
                    {
                        "7/min"
                    }
                    _ => "7",
                };
                let policy =
                    Policy::from_settings(&Settings::from_pairs([(*name, value)]), &irc).unwrap();
                assert_ne!(policy, plain, "{name} has no effect");
            }
        }
    }
}
