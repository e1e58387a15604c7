//! Settings that a plugin declares, with the form of their values, and the plugin's view of them.

use serde_json::{Value, json};
use std::{borrow::Cow, sync::Arc};

use crate::{
    error::{Error, Result},
    secret::SecretString,
    settings::{
        Setting, Settings,
        variable::{Declared, Variable},
    },
};

/// Form of a setting's value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SettingForm {
    /// Any text.
    #[default]
    Text,
    /// True or false.
    Flag,
    /// A whole number between two, both included.
    Number(i64, i64),
    /// One of these words.
    Choice(Vec<String>),
    /// Words separated by commas, or a JSON list.
    List,
}

/// A setting of a plugin. Its texts may be made while the program runs, such as for a tool server.
///
/// ```
/// use galatea_core::{PluginSetting, Settings};
///
/// let setting =
///     PluginSetting::number("POLL_MOST", "Polls that a room may have at once.", 1, 20).or("3");
/// assert!(setting.check(&Settings::from_pairs([("POLL_MOST", "5")])).is_ok());
/// let error = setting.check(&Settings::from_pairs([("POLL_MOST", "many")])).unwrap_err();
/// assert_eq!(error.code(), Some("GAL-CFG-VALUE"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginSetting {
    /// Its name: capital letters, with the plugin's name in front.
    pub name: Cow<'static, str>,
    /// Purpose, in one sentence.
    pub help: Cow<'static, str>,
    /// The value when unset.
    pub default: Option<Cow<'static, str>>,
    /// A secret: masked everywhere, and given as a [`SecretString`] only.
    pub secret: bool,
    /// Without it the plugin is not loaded.
    pub required: bool,
    /// Form of its value.
    pub form: SettingForm,
}

impl PluginSetting {
    fn new(
        name: impl Into<Cow<'static, str>>,
        help: impl Into<Cow<'static, str>>,
        form: SettingForm,
    ) -> Self {
        let (name, help) = (name.into(), help.into());
        Self { name, help, default: None, secret: false, required: false, form }
    }
    /// A setting of any text. `help` is its purpose, in one sentence.
    pub fn text(name: impl Into<Cow<'static, str>>, help: impl Into<Cow<'static, str>>) -> Self {
        Self::new(name, help, SettingForm::Text)
    }
    /// A switch.
    pub fn flag(name: impl Into<Cow<'static, str>>, help: impl Into<Cow<'static, str>>) -> Self {
        Self::new(name, help, SettingForm::Flag)
    }
    /// A whole number from `least` to `most`.
    pub fn number(
        name: impl Into<Cow<'static, str>>,
        help: impl Into<Cow<'static, str>>,
        least: i64,
        most: i64,
    ) -> Self {
        Self::new(name, help, SettingForm::Number(least, most))
    }
    /// One of several words.
    pub fn choice(
        name: impl Into<Cow<'static, str>>,
        help: impl Into<Cow<'static, str>>,
        words: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        Self::new(name, help, SettingForm::Choice(words.into_iter().map(Into::into).collect()))
    }
    /// A list of words.
    pub fn list(name: impl Into<Cow<'static, str>>, help: impl Into<Cow<'static, str>>) -> Self {
        Self::new(name, help, SettingForm::List)
    }
    /// With a default.
    #[must_use]
    pub fn or(mut self, default: impl Into<Cow<'static, str>>) -> Self {
        self.default = Some(default.into());
        self
    }
    /// Marks it as a secret: its value is never shown or logged.
    #[must_use]
    pub fn secret(mut self) -> Self {
        self.secret = true;
        self
    }
    /// Marks it as required: the plugin is not loaded without it.
    #[must_use]
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Checks the value that the settings have.
    ///
    /// # Errors
    /// `Invalid` (`GAL-CFG-VALUE`) with the place of a value of another form;
    /// `GAL-PLUGIN-SETTING` for a required one that is unset.
    pub fn check(&self, settings: &Settings) -> Result<()> {
        let Some(text) = settings.text(self) else {
            if !self.required {
                return Ok(());
            }
            return Err(Error::invalid("a plugin needs a setting that is not set")
                .with_code("GAL-PLUGIN-SETTING")
                .with("setting", &self.name)
                .with_fix(format!("set {}: {}", self.name, self.help)));
        };
        match &self.form {
            SettingForm::Text => Ok(()),
            SettingForm::Flag => settings.flag(self).map(drop),
            SettingForm::Number(least, most) => {
                let expected = format!("a whole number from {least} to {most}");
                let number: Option<i64> = settings.parse(self, &expected)?;
                if number.is_none_or(|number| (least..=most).contains(&&number)) {
                    return Ok(());
                }
                Err(settings.invalid_setting(self, &format!("is not {expected}")))
            }
            SettingForm::Choice(words) => {
                if words.iter().any(|word| word == text.trim()) {
                    return Ok(());
                }
                let words = words.join(", ");
                Err(settings.invalid_setting(self, &format!("is none of: {words}")))
            }
            SettingForm::List => settings.list(self).map(drop),
        }
    }

    /// JSON Schema of the value, for forms and documents.
    pub fn schema(&self) -> Value {
        let mut schema = match &self.form {
            SettingForm::Text => json!({ "type": "string" }),
            SettingForm::Flag => json!({ "type": "boolean" }),
            SettingForm::Number(least, most) => {
                json!({ "type": "integer", "minimum": least, "maximum": most })
            }
            SettingForm::Choice(words) => json!({ "type": "string", "enum": words }),
            SettingForm::List => json!({ "type": "array", "items": { "type": "string" } }),
        };
        if let Some(fields) = schema.as_object_mut() {
            fields.insert("description".to_owned(), json!(self.help));
            if let Some(default) = &self.default {
                fields.insert("default".to_owned(), json!(default));
            }
            if self.secret {
                fields.insert("writeOnly".to_owned(), json!(true));
            }
        }
        schema
    }
}

impl From<&Variable> for PluginSetting {
    fn from(variable: &Variable) -> Self {
        Self {
            default: variable.default.map(Cow::Borrowed),
            secret: variable.secret,
            required: variable.required,
            ..Self::text(variable.name, variable.help)
        }
    }
}

impl Declared for PluginSetting {
    fn name(&self) -> &str {
        &self.name
    }
    fn aliases(&self) -> &[&str] {
        &[]
    }
    fn help(&self) -> &str {
        &self.help
    }
    fn default(&self) -> Option<&str> {
        self.default.as_deref()
    }
}

/// The settings that a plugin declares, and no others: a plugin cannot read the token of a platform
/// or the key of a model.
#[derive(Clone, Default)]
pub struct PluginSettings {
    all: Settings,
    declared: Arc<[PluginSetting]>,
}

impl PluginSettings {
    /// The view of a plugin that declares these. The engine makes it.
    pub fn new(all: Settings, declared: impl Into<Arc<[PluginSetting]>>) -> Self {
        Self { all, declared: declared.into() }
    }

    /// The value of a declared setting, or its default. None for a secret, which [`Self::secret`]
    /// gives, and for a name that the plugin does not declare.
    pub fn text(&self, name: &str) -> Option<String> {
        let declared = self.declared(name).filter(|declared| !declared.secret)?;
        self.all.text(declared)
    }

    /// A declared switch; false if it is unset and has no default.
    ///
    /// # Errors
    /// `Invalid` with the place of a value that is neither true nor false.
    pub fn flag(&self, name: &str) -> Result<bool> {
        self.declared(name).map_or(Ok(false), |declared| self.all.flag(declared))
    }

    /// A declared whole number.
    ///
    /// # Errors
    /// `Invalid` with the place of a value that is not a number.
    pub fn number(&self, name: &str) -> Result<Option<i64>> {
        let Some(declared) = self.declared(name) else { return Ok(None) };
        self.all.parse(declared, "a whole number")
    }

    /// A declared list; empty if it is unset.
    ///
    /// # Errors
    /// `Invalid` with the place of a broken JSON list.
    pub fn list(&self, name: &str) -> Result<Vec<String>> {
        let Some(declared) = self.declared(name) else { return Ok(Vec::new()) };
        Ok(self.all.list(declared)?.unwrap_or_default())
    }

    /// A declared secret.
    pub fn secret(&self, name: &str) -> Option<SecretString> {
        let declared = self.declared(name).filter(|declared| declared.secret)?;
        self.all.secret(declared)
    }

    /// Checks all declared settings.
    ///
    /// # Errors
    /// Those of [`PluginSetting::check`], for the first that does not fit.
    pub fn check(&self) -> Result<()> {
        self.declared.iter().try_for_each(|declared| declared.check(&self.all))
    }

    /// True if every declared setting has the same value as in `other`.
    #[doc(hidden)]
    pub fn same_as(&self, other: &Self) -> bool {
        let value = |settings: &Settings, declared| settings.find(declared).map(Setting::text);
        self.declared == other.declared
            && self.declared.iter().all(|own| value(&self.all, own) == value(&other.all, own))
    }

    fn declared(&self, name: &str) -> Option<&PluginSetting> {
        self.declared.iter().find(|declared| declared.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::ExposeSecret;

    #[test]
    fn a_plugin_reads_what_it_declares_and_nothing_else() {
        let all = Settings::from_pairs([
            ("POLL_KEY", "k"),
            ("POLL_MOST", "7"),
            ("TELEGRAM_BOT_TOKEN", "1:secret"),
            ("OPENAI_API_KEY", "sk"),
        ]);
        let own = PluginSettings::new(
            all,
            [
                PluginSetting::text("POLL_KEY", "Key.").secret(),
                PluginSetting::number("POLL_MOST", "Most.", 1, 9).or("3"),
            ],
        );
        assert_eq!(own.number("POLL_MOST").unwrap(), Some(7));
        assert_eq!(own.secret("POLL_KEY").unwrap().expose_secret(), "k");
        assert_eq!(own.text("POLL_KEY"), None, "a secret is given as one only");
        for foreign in ["TELEGRAM_BOT_TOKEN", "OPENAI_API_KEY", "poll_key", ""] {
            assert!(own.secret(foreign).is_none() && own.text(foreign).is_none(), "{foreign}");
        }
        own.check().unwrap();
    }

    #[test]
    fn values_of_another_form_are_refused_with_their_place() {
        let of = |value: &str| Settings::from_pairs([("X", value)]);
        let cases = [
            (PluginSetting::flag("X", "x"), "yes", "perhaps"),
            (PluginSetting::number("X", "x", 1, 9), "9", "10"),
            (PluginSetting::choice("X", "x", ["a", "b"]), "b", "c"),
            (PluginSetting::list("X", "x"), "a, b", "[a"),
        ];
        for (setting, good, bad) in cases {
            assert!(setting.check(&of(good)).is_ok(), "{good}");
            let error = setting.check(&of(bad)).unwrap_err();
            assert_eq!(error.code(), Some("GAL-CFG-VALUE"), "{bad}");
            assert!(setting.schema().is_object());
        }
        let needed = PluginSetting::text("X", "x").required();
        let error = needed.check(&Settings::default()).unwrap_err();
        assert_eq!(error.code(), Some("GAL-PLUGIN-SETTING"));
    }
}
