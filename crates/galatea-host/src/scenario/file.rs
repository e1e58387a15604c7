//! Reads scenario files: JSON with comments.

use galatea_core::{Error, Result};
use serde::Deserialize;
use serde_json::Value;
use std::{collections::BTreeMap, path::Path};

/// Largest file in bytes.
const LARGEST: usize = 1 << 20;

/// A conversation and what is expected of it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scenario {
    /// What it shows, in a few words.
    pub name: String,
    /// The character: the path of its file, from the folder of this one, or the character itself.
    pub character: Value,
    /// Settings of the agent.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// What the model answers, by the first rule that fits.
    #[serde(default)]
    pub model: Vec<Rule>,
    /// What is said, in order.
    pub steps: Vec<Step>,
}

/// What the model answers to some prompts.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// It fits where the last message of the prompt contains these words, in any case; everywhere if
    /// absent.
    pub when: Option<String>,
    /// The words of the answer.
    #[serde(default)]
    pub say: String,
    /// Tools that the answer calls.
    #[serde(default)]
    pub call: Vec<Call>,
    /// The model fails with these words.
    pub fail: Option<String>,
    /// It fits more than once.
    #[serde(default)]
    pub repeat: bool,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Name of the tool.
    pub name: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Value,
}

/// Something that a person says.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Step {
    /// The words.
    pub say: String,
    /// Who says it; `ada` if absent.
    #[serde(rename = "as")]
    pub person: Option<String>,
    /// The person owns the agent.
    #[serde(default)]
    pub owner: bool,
    /// The group in which it is said; in private if absent.
    pub room: Option<String>,
    /// In a group: it is not addressed to the agent.
    #[serde(default)]
    pub aside: bool,
    /// What is expected.
    #[serde(default)]
    pub expect: Expect,
}

/// What is expected of the answer to a step.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Expect {
    /// The whole answer.
    pub answer: Option<String>,
    /// Words that it contains.
    #[serde(default)]
    pub contains: Words,
    /// Words that it does not contain.
    #[serde(default)]
    pub lacks: Words,
    /// There is no answer.
    #[serde(default)]
    pub silence: bool,
    /// Words of the reason for the decision, as `galatea explain` shows it.
    pub reason: Option<String>,
    /// Tools that were used, in order.
    pub tools: Option<Vec<String>>,
    /// Words of the prompt that the model was given.
    #[serde(default)]
    pub prompt: Words,
}

/// One text or several.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(untagged)]
pub enum Words {
    /// None.
    #[default]
    None,
    /// One.
    One(String),
    /// Several.
    Many(Vec<String>),
}

impl Words {
    /// The texts.
    pub fn all(&self) -> &[String] {
        match self {
            Self::None => &[],
            Self::One(text) => std::slice::from_ref(text),
            Self::Many(texts) => texts,
        }
    }
}

/// Reads a scenario. `file` stands in messages about faults.
///
/// # Errors
/// `Invalid` (`GAL-TEST-FILE`) with line and column.
pub fn read(file: &Path, text: &str) -> Result<Scenario> {
    let invalid = |what: String| {
        Error::invalid(what)
            .with_code("GAL-TEST-FILE")
            .with_fix("docs/testing-agents.md has the form of scenario files")
    };
    if text.len() > LARGEST {
        return Err(invalid(format!("{} is larger than 1 MiB", file.display())));
    }
    let plain = without_comments(text);
    let scenario: Scenario = serde_json::from_str(&plain).map_err(|fault| {
        let place = format!("{}:{}:{}", file.display(), fault.line(), fault.column());
        invalid(format!("the scenario cannot be read: {fault}")).with("where", place)
    })?;
    if scenario.steps.is_empty() {
        return Err(
            invalid("a scenario has at least one step".to_owned()).with("where", file.display())
        );
    }
    Ok(scenario)
}

/// The text with comments replaced by spaces, so that places stay.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let (mut in_string, mut escaped) = (false, false);
    while let Some(c) = chars.next() {
        if in_string {
            out.push(c);
            (in_string, escaped) = (escaped || c != '"', c == '\\' && !escaped);
            continue;
        }
        match (c, chars.peek()) {
            ('"', _) => {
                in_string = true;
                out.push(c);
            }
            ('/', Some('/')) => {
                out.push(' ');
                while chars.peek().is_some_and(|c| *c != '\n') {
                    chars.next();
                    out.push(' ');
                }
            }
            ('/', Some('*')) => {
                out.push(' ');
                let mut last = ' ';
                for c in chars.by_ref() {
                    out.push(if c == '\n' { '\n' } else { ' ' });
                    if last == '*' && c == '/' {
                        break;
                    }
                    last = c;
                }
            }
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_go_and_places_stay() {
        let text = "{ // one \"x\"\n \"a\": \"b // c /* d */ \\\" e\", /* f\n g */ \"h\": 1 }";
        let plain = without_comments(text);
        assert_eq!(plain.lines().count(), text.lines().count());
        let value: Value = serde_json::from_str(&plain).unwrap();
        assert_eq!(value["a"], "b // c /* d */ \" e");
        assert_eq!(value["h"], 1);
    }

    #[test]
    fn a_fault_has_its_place() {
        let text = "{\n \"name\": \"x\",\n \"character\": {},\n \"stepps\": []\n}";
        let fault = read(Path::new("a.json"), text).unwrap_err();
        assert_eq!(fault.code(), Some("GAL-TEST-FILE"));
        let said = fault.to_string();
        assert!(said.contains("stepps") && said.contains("a.json:4"), "{said}");
        let none = r#"{"name": "x", "character": {}, "steps": []}"#;
        assert!(read(Path::new("a.json"), none).is_err());
    }
}
