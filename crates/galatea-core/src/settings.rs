//! Settings of one agent: layered, each value with its origin, secrets wrapped.
//!
//! Order, first wins: flags, `character.secrets`, `character.settings`,
//! `character.settings.secrets` (elizaOS `getSetting`), per-character environment, environment,
//! `.env`, `galatea.toml`, defaults. A stored `false` or `0` counts. The environment is never
//! copied into a character or a database.

pub mod secret;
pub(crate) mod variable;

use serde_json::Value;
use std::{collections::BTreeMap, fmt, path::PathBuf, str::FromStr, sync::Arc};

use crate::{
    error::{Error, Result},
    secret::SecretString,
    settings::variable::Declared,
};

/// Origin of a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Origin {
    /// A command line flag.
    Flag(String),
    /// A character file's field.
    Character {
        /// The file, if it came from one.
        file: Option<PathBuf>,
        /// Field, such as `settings.secrets`.
        field: &'static str,
    },
    /// An environment variable of the process.
    Environment,
    /// A file, with the line.
    File {
        /// The file that sets it.
        path: PathBuf,
        /// Line in the file, counted from 1.
        line: usize,
    },
    /// An operator set it: it stands in the database.
    Stored,
    /// The default of its [`Variable`].
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Character { file: Some(file), field } => {
                write!(f, "{field} in {}", file.display())
            }
            Self::Character { file: None, field } => write!(f, "character {field}"),
            Self::Environment => f.write_str("environment"),
            Self::File { path, line } => write!(f, "{} line {line}", path.display()),
            Self::Stored => f.write_str("console"),
            Self::Default => f.write_str("default"),
        }
    }
}

/// A value with its origin.
#[derive(Clone, PartialEq)]
pub struct Setting {
    /// A scalar, or a JSON list or object from a character file.
    pub value: Value,
    /// Origin.
    pub origin: Origin,
}

impl fmt::Debug for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setting").field("value", &"…").field("origin", &self.origin).finish()
    }
}

impl Setting {
    /// The value as text: strings as they are, other scalars and JSON in their JSON form.
    pub fn text(&self) -> String {
        match &self.value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }

    /// The value as a secret, without the spaces and quotes around it that people paste along.
    pub fn secret(&self) -> SecretString {
        SecretString::from(self.text().trim().trim_matches(['"', '\'']).trim().to_owned())
    }
}

/// A layer: names to values.
pub type Layer = BTreeMap<String, Setting>;

/// All settings one agent sees. Cheap to clone.
///
/// ```
/// use galatea_core::{Settings, Variable};
///
/// const COPIES: Variable = Variable::new("PAPER_COPIES", "Copies of each answer.").or("1");
///
/// let settings = Settings::from_pairs([("PAPER_COPIES", "3")]);
/// assert_eq!(settings.parse::<u32>(&COPIES, "a whole number")?, Some(3));
///
/// let wrong = Settings::from_pairs([("PAPER_COPIES", "many")]);
/// let error = wrong.parse::<u32>(&COPIES, "a whole number").unwrap_err();
/// assert!(error.to_string().contains("PAPER_COPIES"));
/// # Ok::<(), galatea_core::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Settings {
    layers: Arc<Vec<Layer>>,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Settings({} layers)", self.layers.len())
    }
}

impl Settings {
    /// From layers, the strongest first.
    pub fn new(layers: Vec<Layer>) -> Self {
        Self { layers: Arc::new(layers) }
    }

    /// From plain pairs, for tests and embedding.
    pub fn from_pairs<K: Into<String>, V: Into<Value>>(
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        Self::new(vec![
            pairs
                .into_iter()
                .map(|(k, v)| (k.into(), Setting { value: v.into(), origin: Origin::Environment }))
                .collect(),
        ])
    }

    /// A new value in front of all others.
    #[must_use]
    pub fn with_layer(&self, layer: Layer) -> Self {
        let mut layers = Vec::with_capacity(self.layers.len() + 1);
        layers.push(layer);
        layers.extend(self.layers.iter().cloned());
        Self::new(layers)
    }

    /// The same without the settings of other names.
    #[must_use]
    pub fn only(&self, keep: impl Fn(&str) -> bool) -> Self {
        let kept = |layer: &Layer| {
            let kept = layer.iter().filter(|(name, _)| keep(name));
            kept.map(|(name, setting)| (name.clone(), setting.clone())).collect::<Layer>()
        };
        Self::new(self.layers.iter().map(kept).filter(|layer| !layer.is_empty()).collect())
    }

    /// The layers, strongest first.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The strongest value under exactly this name. An empty string counts as unset (as `KEY=` in a
    /// `.env` template means).
    pub fn raw(&self, name: &str) -> Option<&Setting> {
        self.layers
            .iter()
            .filter_map(|layer| layer.get(name))
            .find(|s| s.value != Value::String(String::new()) && !s.value.is_null())
    }

    /// The strongest value under a variable's name or aliases; within one layer the name beats its
    /// aliases.
    pub fn find(&self, variable: &impl Declared) -> Option<&Setting> {
        self.layers.iter().find_map(|layer| {
            std::iter::once(variable.name())
                .chain(variable.aliases().iter().copied())
                .filter_map(|name| layer.get(name))
                .find(|s| s.value != Value::String(String::new()) && !s.value.is_null())
        })
    }

    /// Origin of a variable's value.
    pub fn origin(&self, variable: &impl Declared) -> Origin {
        self.find(variable).map_or(Origin::Default, |s| s.origin.clone())
    }

    /// Text, or the variable's default.
    pub fn text(&self, variable: &impl Declared) -> Option<String> {
        self.find(variable).map(Setting::text).or_else(|| variable.default().map(str::to_owned))
    }

    /// A secret. Surrounding spaces and quotes are removed, as people paste them.
    pub fn secret(&self, variable: &impl Declared) -> Option<SecretString> {
        self.find(variable).map(Setting::secret)
    }

    /// A switch: true/false, 1/0, yes/no, on/off.
    ///
    /// # Errors
    /// `Invalid` with the origin for anything else.
    pub fn flag(&self, variable: &impl Declared) -> Result<bool> {
        let Some(text) = self.text(variable) else { return Ok(false) };
        match text.trim().to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => Ok(true),
            "false" | "0" | "no" | "off" => Ok(false),
            _ => Err(self.invalid_setting(variable, "is neither true nor false")),
        }
    }

    /// A number or anything else that parses.
    ///
    /// # Errors
    /// `Invalid` with the origin when it does not parse.
    pub fn parse<T: FromStr>(&self, variable: &impl Declared, expected: &str) -> Result<Option<T>> {
        self.text(variable)
            .map(|text| {
                text.trim()
                    .parse()
                    .map_err(|_| self.invalid_setting(variable, &format!("is not {expected}")))
            })
            .transpose()
    }

    /// A list: JSON array, or separated by commas. Numbers and strings mean the same.
    ///
    /// # Errors
    /// `Invalid` with the origin for a broken JSON array.
    pub fn list(&self, variable: &impl Declared) -> Result<Option<Vec<String>>> {
        let Some(text) = self.text(variable) else { return Ok(None) };
        let text = text.trim();
        if text.starts_with('[') {
            let items: Vec<Value> = serde_json::from_str(text)
                .map_err(|_| self.invalid_setting(variable, "is not a JSON list"))?;
            return Ok(Some(
                items
                    .iter()
                    .map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned))
                    .collect(),
            ));
        }
        Ok(Some(text.split(',').map(|s| s.trim().to_owned()).filter(|s| !s.is_empty()).collect()))
    }

    /// An `Invalid` error about this variable with its place; the value itself is not repeated.
    pub fn invalid_setting(&self, variable: &impl Declared, what: &str) -> Error {
        Error::invalid(format!("{} {what}", variable.name()))
            .with_code("GAL-CFG-VALUE")
            .with("where", self.origin(variable))
            .with_fix(format!("{}: {}", variable.name(), variable.help()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Variable;

    const FLAG: Variable = Variable::new("A_FLAG", "switches").or("true");
    const LIST: Variable = Variable::new("A_LIST", "lists").alias(&["OLD_LIST"]);

    fn layer(pairs: &[(&str, Value)]) -> Layer {
        pairs
            .iter()
            .map(|(k, v)| {
                ((*k).to_owned(), Setting { value: v.clone(), origin: Origin::Environment })
            })
            .collect()
    }

    #[test]
    fn a_stored_false_or_zero_counts() {
        let settings = Settings::new(vec![
            layer(&[("A_FLAG", Value::Bool(false)), ("N", 0.into())]),
            layer(&[("A_FLAG", "true".into()), ("N", 5.into())]),
        ]);
        assert!(!settings.flag(&FLAG).unwrap());
        assert_eq!(settings.parse::<i32>(&Variable::new("N", ""), "a number").unwrap(), Some(0));
    }

    #[test]
    fn empty_means_unset_and_defaults_apply() {
        let settings = Settings::new(vec![layer(&[("A_FLAG", "".into())])]);
        assert!(settings.flag(&FLAG).unwrap());
    }

    #[test]
    fn lists_take_json_commas_numbers_and_aliases() {
        for value in ["[-100, \"-200\"]", "-100, -200"] {
            let settings = Settings::new(vec![layer(&[("OLD_LIST", value.into())])]);
            assert_eq!(settings.list(&LIST).unwrap().unwrap(), ["-100", "-200"]);
        }
        let broken = Settings::new(vec![layer(&[("A_LIST", "[1".into())])]);
        assert!(broken.list(&LIST).unwrap_err().to_string().contains("environment"));
    }
}
