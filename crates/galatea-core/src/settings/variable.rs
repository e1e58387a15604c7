//! A setting, declared once by the crate that reads it.

use serde::Serialize;

/// An environment variable or setting, declared once by the crate that reads it. `.env.example`,
/// the reference, `galatea init` and the suggestions for misspelt names are made from the
/// declarations.
///
/// ```
/// use galatea_core::Variable;
///
/// const TOKEN: Variable =
///     Variable::new("PAPER_TOKEN", "Token of the printer, from its settings page.").secret().required();
/// const COPIES: Variable = Variable::new("PAPER_COPIES", "Copies of each answer.").or("1");
///
/// assert!(TOKEN.secret && TOKEN.required);
/// assert_eq!(COPIES.default, Some("1"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Variable {
    /// Its name, elizaOS's where elizaOS has one.
    pub name: &'static str,
    /// Other names that are accepted.
    pub aliases: &'static [&'static str],
    /// Purpose, in one sentence.
    pub help: &'static str,
    /// Shown as the value when unset.
    pub default: Option<&'static str>,
    /// A secret: masked everywhere, `<NAME>_FILE` is read too.
    pub secret: bool,
    /// Without it the feature stays off.
    pub required: bool,
    /// Each platform may have its own value, under the platform's name and `_` in front
    /// (`TELEGRAM_DM_POLICY`).
    pub per_platform: bool,
    /// The setting that this one is a form of: for one platform, or for one part of its value. The
    /// reference lists it there.
    pub form_of: Option<&'static str>,
}

impl Variable {
    /// An optional, public variable.
    pub const fn new(name: &'static str, help: &'static str) -> Self {
        Self {
            name,
            aliases: &[],
            help,
            default: None,
            secret: false,
            required: false,
            per_platform: false,
            form_of: None,
        }
    }
    /// Adds a default, which `galatea config` shows.
    #[must_use]
    pub const fn or(mut self, default: &'static str) -> Self {
        self.default = Some(default);
        self
    }
    /// Marks it as a secret: its value is never shown or logged.
    #[must_use]
    pub const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }
    /// Marks it as required: the connector is off without it.
    #[must_use]
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }
    /// With other accepted names.
    #[must_use]
    pub const fn alias(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }
    /// Allows each platform its own value.
    #[must_use]
    pub const fn per_platform(mut self) -> Self {
        self.per_platform = true;
        self
    }
    /// Marks it as a form of another setting.
    #[must_use]
    pub const fn form_of(mut self, whole: &'static str) -> Self {
        self.form_of = Some(whole);
        self
    }
}

/// A declaration of a setting, by which its value is looked up.
pub trait Declared {
    /// Its name.
    fn name(&self) -> &str;
    /// Other names that are accepted.
    fn aliases(&self) -> &[&str];
    /// Purpose, in one sentence.
    fn help(&self) -> &str;
    /// The value when unset.
    fn default(&self) -> Option<&str>;
}

impl Declared for Variable {
    fn name(&self) -> &str {
        self.name
    }
    fn aliases(&self) -> &[&str] {
        self.aliases
    }
    fn help(&self) -> &str {
        self.help
    }
    fn default(&self) -> Option<&str> {
        self.default
    }
}

impl<T: Declared + ?Sized> Declared for &T {
    fn name(&self) -> &str {
        (**self).name()
    }
    fn aliases(&self) -> &[&str] {
        (**self).aliases()
    }
    fn help(&self) -> &str {
        (**self).help()
    }
    fn default(&self) -> Option<&str> {
        (**self).default()
    }
}
