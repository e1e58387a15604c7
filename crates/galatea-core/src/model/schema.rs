//! Checks whether a value fits a JSON Schema, and lists what does not fit. Pure.
//!
//! It knows the keywords that schemas of Rust types use (JSON Schema 2020-12: types, fields, items,
//! bounds, enumerations, alternatives, local references). A keyword that it does not know allows
//! everything.

use std::cell::Cell;

use serde_json::{Map, Value};

/// Most misfits that are reported; more would not help a model to mend them.
const MOST: usize = 8;
/// Deepest nesting that is checked, references included: a schema may refer to itself.
const DEEPEST: usize = 64;
/// Most rules that are checked: alternatives that refer to their own schema would multiply without
/// end. A value of thousands of fields takes fewer.
const STEPS: usize = 100_000;

/// Lists what does not fit, each with its place (`facts[2].about: is missing`); empty if the whole
/// value fits. The list does not repeat values, which may be private.
pub fn misfits(value: &Value, schema: &Value) -> Vec<String> {
    let steps = Cell::new(STEPS);
    let mut check = Check { root: schema, found: Vec::new(), steps: &steps };
    check.value(value, schema, "", DEEPEST);
    check.found
}

struct Check<'a> {
    root: &'a Value,
    found: Vec<String>,
    /// Rules that may still be checked.
    steps: &'a Cell<usize>,
}

impl<'a> Check<'a> {
    fn fail(&mut self, at: &str, what: impl std::fmt::Display) {
        if self.found.len() < MOST {
            let at = if at.is_empty() { "the answer" } else { at };
            self.found.push(format!("{at}: {what}"));
        }
    }

    fn fits(&self, value: &Value, schema: &'a Value, left: usize) -> bool {
        let mut check = Check { root: self.root, found: Vec::new(), steps: self.steps };
        check.value(value, schema, "", left);
        check.found.is_empty()
    }

    fn value(&mut self, value: &Value, schema: &'a Value, at: &str, left: usize) {
        let Some(left) = left.checked_sub(1) else { return };
        let Some(steps) = self.steps.get().checked_sub(1) else { return };
        self.steps.set(steps);
        let rules = match schema {
            Value::Bool(false) => return self.fail(at, "is not allowed"),
            Value::Object(rules) => rules,
            _ => return,
        };
        if let Some(path) = rules.get("$ref").and_then(Value::as_str)
            && let Some(target) = path.strip_prefix('#').and_then(|path| self.root.pointer(path))
        {
            self.value(value, target, at, left);
        }
        if !has_type(value, rules.get("type")) {
            let wanted = rules.get("type").map(Value::to_string).unwrap_or_default();
            return self.fail(at, format_args!("is not of type {}", wanted.replace('"', "")));
        }
        if let Some(choices) = rules.get("enum").and_then(Value::as_array)
            && !choices.contains(value)
        {
            let choices: Vec<String> = choices.iter().take(20).map(Value::to_string).collect();
            self.fail(at, format_args!("is none of {}", choices.join(", ")));
        }
        if rules.get("const").is_some_and(|only| only != value) {
            self.fail(at, "is another value than the only one allowed");
        }
        for word in ["anyOf", "oneOf"] {
            if let Some(choices) = rules.get(word).and_then(Value::as_array)
                && !choices.iter().any(|choice| self.fits(value, choice, left))
            {
                self.fail(at, "fits none of the alternatives");
            }
        }
        for part in rules.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.value(value, part, at, left);
        }
        match value {
            Value::Object(fields) => self.object(fields, rules, at, left),
            Value::Array(items) => {
                self.count(items.len(), rules, ["minItems", "maxItems"], "items", at);
                if let Some(rule) = rules.get("items") {
                    for (n, item) in items.iter().enumerate() {
                        self.value(item, rule, &format!("{at}[{n}]"), left);
                    }
                }
            }
            Value::String(text) => {
                let characters = text.chars().count();
                self.count(characters, rules, ["minLength", "maxLength"], "characters", at);
            }
            Value::Number(number) => self.number(number.as_f64(), rules, at),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn object(
        &mut self,
        fields: &Map<String, Value>,
        rules: &'a Map<String, Value>,
        at: &str,
        left: usize,
    ) {
        let place =
            |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
        for name in rules.get("required").and_then(Value::as_array).into_iter().flatten() {
            if let Some(name) = name.as_str().filter(|name| !fields.contains_key(*name)) {
                self.fail(&place(name), "is missing");
            }
        }
        let known = rules.get("properties").and_then(Value::as_object);
        for (name, value) in fields {
            let rule = known
                .and_then(|known| known.get(name))
                .or_else(|| rules.get("additionalProperties"));
            if let Some(rule) = rule {
                self.value(value, rule, &place(name), left);
            }
        }
    }

    fn count(
        &mut self,
        count: usize,
        rules: &Map<String, Value>,
        [least, most]: [&str; 2],
        unit: &str,
        at: &str,
    ) {
        let bound = |word: &str| {
            rules.get(word).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok())
        };
        if let Some(least) = bound(least).filter(|least| count < *least) {
            self.fail(at, format_args!("has fewer than {least} {unit}"));
        }
        if let Some(most) = bound(most).filter(|most| count > *most) {
            self.fail(at, format_args!("has more than {most} {unit}"));
        }
    }

    fn number(&mut self, number: Option<f64>, rules: &Map<String, Value>, at: &str) {
        let Some(number) = number else { return };
        let bound = |word: &str| rules.get(word).and_then(Value::as_f64);
        if let Some(least) = bound("minimum").filter(|least| number < *least) {
            self.fail(at, format_args!("is less than {least}"));
        }
        if let Some(most) = bound("maximum").filter(|most| number > *most) {
            self.fail(at, format_args!("is more than {most}"));
        }
    }
}

fn has_type(value: &Value, wanted: Option<&Value>) -> bool {
    let is = |name: &str| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0)
        }
        _ => true,
    };
    match wanted {
        Some(Value::String(name)) => is(name),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).any(is),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use schemars::JsonSchema;
    use serde_json::json;

    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "only its schema is looked at")]
    struct Lesson {
        facts: Vec<Fact>,
        mood: Option<Mood>,
        count: u8,
    }

    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "only its schema is looked at")]
    struct Fact {
        about: String,
        #[schemars(length(min = 1, max = 5))]
        tags: Vec<String>,
    }

    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "only its schema is looked at")]
    #[schemars(rename_all = "lowercase")]
    enum Mood {
        Good,
        Bad,
    }

    #[test]
    fn each_misfit_is_named_with_its_place() {
        let schema = schemars::schema_for!(Lesson).to_value();
        let of = |value: Value| misfits(&value, &schema);
        let good =
            json!({ "facts": [{ "about": "Ann", "tags": ["a"] }], "mood": "good", "count": 3 });
        assert_eq!(of(good), Vec::<String>::new());
        assert_eq!(
            of(json!({ "facts": [], "mood": null, "count": 3, "more": 1 })),
            Vec::<String>::new()
        );
        assert_eq!(
            of(json!({ "facts": [{ "about": 7, "tags": [] }, "x"], "count": 300 })),
            [
                "facts[0].about: is not of type string",
                "facts[0].tags: has fewer than 1 items",
                "facts[1]: is not of type object",
                "count: is more than 255"
            ]
        );
        assert_eq!(of(json!({ "facts": [], "count": 1.5 })), ["count: is not of type integer"]);
        assert_eq!(of(json!({ "count": 1, "facts": [], "mood": "odd" })).len(), 1);
        assert_eq!(of(json!([])), ["the answer: is not of type object"]);
        assert_eq!(of(json!({})), ["facts: is missing", "count: is missing"]);
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let schema = json!({ "$ref": "#", "anyOf": [{ "$ref": "#" }] });
        assert!(misfits(&json!({ "a": 1 }), &schema).is_empty());
        let tree = json!({ "properties": { "kids": { "items": { "$ref": "#" } }, "n": { "type": "integer" } } });
        let value = json!({ "n": 1, "kids": [{ "kids": [{ "n": "x" }] }] });
        assert_eq!(misfits(&value, &tree), ["kids[0].kids[0].n: is not of type integer"]);
    }

    proptest! {
        #[test]
        fn no_schema_and_no_value_panics(schema in ".{0,60}", value in ".{0,60}") {
            let read = |text: &str| crate::mended_json::value_at(text).value;
            let _ = misfits(&read(&value), &read(&schema));
        }
    }
}
