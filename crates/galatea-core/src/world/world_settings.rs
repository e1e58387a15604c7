//! Settings that a character wants to know of each World it is in, such as where it may greet
//! newcomers. Its owner or an admin is asked for what is missing, in the conversation.

use serde::Deserialize;
use serde_json::{Map, Value};

/// The key of a character's `settings` that declares them, and of a World's metadata that holds the
/// answers.
pub const WORLD_SETTINGS: &str = "worldSettings";
/// Most settings a character may declare: all of them stand in prompts.
pub const MOST_WORLD_SETTINGS: usize = 20;
/// Longest value, in graphemes.
pub const LONGEST_WORLD_SETTING: usize = 500;
/// Longest key, in characters.
const LONGEST_KEY: usize = 60;
/// Values that `UPDATE_SETTINGS` takes by itself.
const RESERVED: &str = "retention_days";
/// Settings of a World that have an effect of their own, whatever the character declares: hours in which
/// the agent starts no conversation, and features of plugins for groups.
pub const OWN_WORLD_SETTINGS: &[(&str, &str)] = &[
    (
        "quiet_hours",
        "hours in which I say nothing by myself, such as 22:00-07:00 Europe/Berlin, or off",
    ),
    ("missed", "on or off: I sum up what a person missed"),
    ("welcome", "on, off, or the words for people who join, with {name}"),
    ("goodbye", "on, off, or the words for people who leave, with {name}"),
    ("hand_over", "on or off: I pass questions that I cannot answer on to the moderators"),
    ("flag", "on or off: I show messages that may break the rules to the moderators"),
    ("moderators_room", "the name of the room of the moderators"),
];

/// True for a setting with an effect of its own.
pub fn is_own(key: &str) -> bool {
    OWN_WORLD_SETTINGS.iter().any(|(own, _)| *own == key)
}

/// A setting that a character declares. The names of its fields are elizaOS's, apart from `options`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorldSetting {
    /// Under what it is stored: lower case, with `_` between words.
    pub key: String,
    /// Name for people.
    pub name: String,
    /// Question to its owner or an admin.
    pub question: String,
    /// True if it is asked for.
    pub required: bool,
    /// The only values it takes; empty: any.
    pub options: Vec<String>,
    /// Keys of settings that have to be set before this one is asked for.
    pub depends_on: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Declared {
    name: Option<String>,
    description: Option<String>,
    usage_description: Option<String>,
    #[serde(default = "yes")]
    required: bool,
    #[serde(default)]
    options: Vec<String>,
    #[serde(default)]
    depends_on: Vec<String>,
}

fn yes() -> bool {
    true
}

impl WorldSetting {
    /// A declared setting.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub fn read(key: &str, declared: &Value) -> Result<Self, String> {
        let found: Declared =
            serde_json::from_value(declared.clone()).map_err(|error| error.to_string())?;
        let key = normal(key);
        if key.is_empty() {
            return Err("it has no name".to_owned());
        }
        if key == RESERVED {
            return Err(format!("{RESERVED} is how long messages are kept"));
        }
        if is_own(&key) {
            return Err(format!("{key} has an effect of its own"));
        }
        if key.chars().count() > LONGEST_KEY {
            return Err(format!("its key is longer than {LONGEST_KEY} characters"));
        }
        let name = found.name.unwrap_or_else(|| key.replace('_', " "));
        let question = found
            .usage_description
            .or(found.description)
            .unwrap_or_else(|| format!("What should \"{name}\" be here?"));
        let depends_on = found.depends_on.iter().map(|key| normal(key)).collect();
        Ok(Self {
            key,
            name,
            question,
            required: found.required,
            options: found.options,
            depends_on,
        })
    }

    /// Checks a person's answer and returns the value to store. `None` if the setting has options and
    /// the answer is not one of them.
    pub fn accept(&self, value: &str) -> Option<String> {
        let value = value.trim();
        if self.options.is_empty() {
            return Some(value.to_owned());
        }
        self.options.iter().find(|option| normal(option) == normal(value)).cloned()
    }
}

/// The settings that a character declares; those that cannot be read are left out.
pub fn declared(settings: &Map<String, Value>) -> Vec<WorldSetting> {
    let declared = settings.get(WORLD_SETTINGS).and_then(Value::as_object);
    declared
        .into_iter()
        .flatten()
        .take(MOST_WORLD_SETTINGS)
        .filter_map(|(key, value)| WorldSetting::read(key, value).ok())
        .collect()
}

/// The first required setting without a value whose conditions are met.
pub fn missing(declared: &[WorldSetting], is_set: impl Fn(&str) -> bool) -> Option<&WorldSetting> {
    declared.iter().find(|setting| {
        setting.required
            && !is_set(&setting.key)
            && setting.depends_on.iter().all(|needed| is_set(needed))
    })
}

/// A key or option, however a person writes it.
pub fn normal(text: &str) -> String {
    let words: Vec<String> = text
        .split(|c: char| c.is_whitespace() || c == '_' || c == '-')
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.join("_")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn settings() -> Vec<WorldSetting> {
        let Value::Object(settings) = json!({ "worldSettings": {
            "Welcome Channel": { "name": "Welcome channel", "description": "Where do I greet?" },
            "tone": { "options": ["Casual", "Very formal"], "dependsOn": ["welcome-channel"] },
            "motto": { "required": false },
            "broken": { "required": "yes" },
        } }) else {
            unreachable!()
        };
        declared(&settings)
    }

    #[test]
    fn settings_are_read_and_asked_for_in_order() {
        let settings = settings();
        let keys: Vec<&str> = settings.iter().map(|setting| setting.key.as_str()).collect();
        assert_eq!(keys, ["welcome_channel", "tone", "motto"]);
        assert_eq!(settings[0].question, "Where do I greet?");
        assert_eq!(settings[2].question, "What should \"motto\" be here?");
        let first = |set: &[&str]| missing(&settings, |key| set.contains(&key)).map(|s| &*s.key);
        assert_eq!(first(&[]), Some("welcome_channel"));
        assert_eq!(first(&["welcome_channel"]), Some("tone"));
        assert_eq!(first(&["tone"]), Some("welcome_channel"));
        assert_eq!(first(&["welcome_channel", "tone"]), None, "the motto is not required");
    }

    #[test]
    fn an_option_is_taken_however_it_is_written() {
        let tone = &settings()[1];
        assert_eq!(tone.accept(" very FORMAL "), Some("Very formal".to_owned()));
        assert_eq!(tone.accept("rude"), None);
        assert_eq!(settings()[0].accept(" #hello "), Some("#hello".to_owned()));
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let fault = |declared| WorldSetting::read("tone", &declared).unwrap_err();
        assert!(fault(json!({ "required": "yes" })).contains("boolean"));
        assert!(fault(json!({ "secret": true })).contains("unknown field `secret`"));
        for key in [" - ", "Retention days", &"k".repeat(61)] {
            assert!(WorldSetting::read(key, &json!({})).is_err(), "{key}");
        }
    }
}
