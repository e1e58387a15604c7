//! Values of policies that hold on one platform: a policy is declared once, and each platform may
//! have its own value under its name and `_` in front (`TELEGRAM_DM_POLICY`).

use galatea_core::{Error, Result, Settings, Source, Variable};

use super::VARIABLES;

/// The forms of all policies for one platform. Their names live as long as the process: call it
/// once per platform.
pub fn platform_variables(source: &Source, title: &str) -> Vec<Variable> {
    let prefix = source.as_str().to_ascii_uppercase();
    let name = |policy: &str| -> &'static str { format!("{prefix}_{policy}").leak() };
    let form = |policy: &Variable| Variable {
        aliases: policy.aliases.iter().map(|alias| name(alias)).collect::<Vec<_>>().leak(),
        form_of: Some(policy.name),
        ..Variable::new(name(policy.name), format!("{} on {title}.", policy.name).leak())
    };
    VARIABLES.iter().filter(|variable| variable.per_platform).map(form).collect()
}

/// Reads policies as they hold on one platform. Each value comes with the name of the setting that
/// it was read from.
pub(super) struct PlatformSettings<'a> {
    pub(super) settings: &'a Settings,
    prefix: String,
}

impl<'a> PlatformSettings<'a> {
    pub(super) fn new(settings: &'a Settings, source: &Source) -> Self {
        Self { settings, prefix: source.as_str().to_ascii_uppercase() }
    }

    /// The name of a policy's form for this platform.
    pub(super) fn name(&self, policy: &str) -> String {
        format!("{}_{policy}", self.prefix)
    }

    /// The platform's own value.
    pub(super) fn own(&self, policy: &Variable) -> Option<(String, String)> {
        std::iter::once(&policy.name).chain(policy.aliases).find_map(|name| {
            let name = self.name(name);
            self.settings.raw(&name).map(|setting| (name, setting.text().trim().to_owned()))
        })
    }

    /// The platform's own value, else the general one.
    pub(super) fn text(&self, policy: &Variable) -> (String, String) {
        self.own(policy).unwrap_or_else(|| {
            let general = self.settings.text(policy).unwrap_or_default();
            (policy.name.to_owned(), general.trim().to_owned())
        })
    }

    /// The value in lower case, read by `read`; `expected` completes the sentence "NAME is …".
    pub(super) fn parse<T>(
        &self,
        policy: &Variable,
        expected: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<(String, T)> {
        let (name, text) = self.text(policy);
        let value = read(&text.to_ascii_lowercase())
            .ok_or_else(|| self.invalid_setting(&name, expected))?;
        Ok((name, value))
    }

    /// The platform's own list, else the general one.
    pub(super) fn list(&self, policy: &Variable) -> Result<(String, Vec<String>)> {
        match self.own(policy) {
            Some((name, text)) => {
                let list = self.items(&name, text)?;
                Ok((name, list))
            }
            None => Ok((policy.name.to_owned(), self.settings.list(policy)?.unwrap_or_default())),
        }
    }

    /// The general list and the platform's own one.
    pub(super) fn both_lists(&self, policy: &Variable) -> Result<(String, Vec<String>)> {
        let mut all = self.settings.list(policy)?.unwrap_or_default();
        let Some((name, text)) = self.own(policy) else { return Ok((policy.name.to_owned(), all)) };
        all.extend(self.items(&name, text)?);
        Ok((name, all))
    }

    fn items(&self, name: &str, text: String) -> Result<Vec<String>> {
        const LIST: Variable = Variable::new("LIST", "A list.");
        Settings::from_pairs([(LIST.name, text)])
            .list(&LIST)
            .map(Option::unwrap_or_default)
            .map_err(|_| self.invalid_setting(name, "is not a JSON list"))
    }

    /// An `Invalid` error about the setting of this name, with its place.
    pub(super) fn invalid_setting(&self, name: &str, what: &str) -> Error {
        let place =
            self.settings.raw(name).map_or(String::from("default"), |s| s.origin.to_string());
        Error::invalid(format!("{name} {what}")).with_code("GAL-CFG-VALUE").with("where", place)
    }
}

/// Reads a switch: true/false, 1/0, yes/no, on/off.
pub(super) fn switch(text: &str) -> Option<bool> {
    match text {
        "true" | "1" | "yes" | "on" => Some(true),
        "false" | "0" | "no" | "off" => Some(false),
        _ => None,
    }
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
