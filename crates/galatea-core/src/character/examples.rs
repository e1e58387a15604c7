//! Example conversations: nodes → examples, in the forms of every generation.

use serde_json::{Map, Value};

use super::{
    MessageExample,
    diagnostic::{MISSING, OLD, TYPE},
    fields::{index, keep, list, object, wrong},
    node::{Kind, Node, to_map},
    notes::Notes,
};
use crate::content::Content;

pub(super) fn conversations(
    node: &Node,
    extra: &mut Map<String, Value>,
    old: &mut bool,
    notes: &mut Notes<'_>,
) -> Vec<Vec<MessageExample>> {
    let mut out = Vec::new();
    for (i, conversation) in list(node, "messageExamples", notes).iter().enumerate() {
        let path = format!("messageExamples[{i}]");
        // elizaOS 2 wraps each conversation: {"examples": [...]}; TOML files are more readable that
        // way too.
        let lines = match &conversation.kind {
            Kind::Object(entries) if entries.len() == 1 && entries[0].key == "examples" => {
                &entries[0].value
            }
            _ => conversation,
        };
        let mut examples = Vec::new();
        for (j, line) in list(lines, &path, notes).iter().enumerate() {
            examples.extend(example(line, [i, j], extra, old, notes));
        }
        out.push(examples);
    }
    out
}

fn example(
    node: &Node,
    [i, j]: [usize; 2],
    extra: &mut Map<String, Value>,
    old: &mut bool,
    notes: &mut Notes<'_>,
) -> Option<MessageExample> {
    let path = format!("messageExamples[{i}][{j}]");
    let fields = index(object(node, &path, notes)?, notes);
    let mut name = None;
    let mut content = None;
    for (key, entry) in &fields {
        match (*key, &entry.value.kind) {
            ("name", Kind::Text(text)) => name = Some(text.clone()),
            ("user", Kind::Text(text)) => {
                if !std::mem::replace(old, true) {
                    notes.warn(
                        OLD,
                        &entry.key_range,
                        "`user` in examples is the old name of `name`",
                        Some("read as `name`".to_owned()),
                    );
                }
                name = name.or_else(|| Some(text.clone()));
            }
            ("name" | "user", _) => {
                wrong(&entry.value, &format!("{path}.{key}"), "text", None, notes);
                return None;
            }
            ("content", _) => content = Some(&entry.value),
            (other, _) => keep(
                entry,
                &format!("messageExamples.{i}.{j}.{other}"),
                &["name", "content"],
                extra,
                notes,
            ),
        }
    }
    let Some(name) = name else {
        notes.error(
            MISSING,
            &node.range,
            format!("`{path}` does not say who speaks"),
            Some("add \"name\"".to_owned()),
        );
        return None;
    };
    let Some(content) = content else {
        notes.error(
            MISSING,
            &node.range,
            format!("`{path}` does not say what is said"),
            Some("add \"content\": { \"text\": \"…\" }".to_owned()),
        );
        return None;
    };
    Some(MessageExample { name, content: spoken(content, &path, old, notes)? })
}

fn spoken(node: &Node, path: &str, old: &mut bool, notes: &mut Notes<'_>) -> Option<Content> {
    let Kind::Object(entries) = &node.kind else {
        wrong(
            node,
            &format!("{path}.content"),
            "an object",
            Some("write { \"text\": \"…\" }"),
            notes,
        );
        return None;
    };
    let mut map = to_map(entries);
    // 0.x wrote one `action`, often null.
    if !map.contains_key("actions")
        && let Some(action) = map.remove("action")
        && action.is_string()
    {
        *old = true;
        map.insert("actions".to_owned(), Value::Array(vec![action]));
    }
    match serde_json::from_value(Value::Object(map)) {
        Ok(content) => Some(content),
        Err(error) => {
            // serde repeats the value it met; only what it expected is reported.
            let reason = error.to_string();
            let reason = reason
                .rsplit_once("expected ")
                .map_or("a field has the wrong type", |(_, expected)| expected);
            notes.error(
                TYPE,
                &node.range,
                format!("`{path}.content` cannot be used: {reason} is expected"),
                None,
            );
            None
        }
    }
}
