//! The character file that `galatea character new` writes.

use serde_json::json;

use super::SCHEMA_FILE;

/// A complete character file for this name, ready to be edited. Its `$schema` line points to
/// [`SCHEMA_FILE`] beside it.
pub fn template(name: &str) -> String {
    let character = json!({
        "$schema": format!("./{SCHEMA_FILE}"),
        "name": name,
        "system": format!("You are {name}. Answer in character. Say plainly when you do not know something."),
        "bio": [
            format!("{name} answers questions in this community and remembers who asked what."),
            "Would rather ask one good question than guess."
        ],
        "messageExamples": [[
            { "name": "{{user1}}", "content": { "text": "Can you help me with something?" } },
            { "name": name, "content": { "text": "Yes. What have you tried so far, and what happened?" } }
        ]],
        "postExamples": ["Small habit of the week: write down the question before you look for the answer."],
        "topics": ["the projects people here work on", "finding things out"],
        "adjectives": ["attentive", "plain-spoken"],
        "knowledge": [],
        "plugins": [],
        "settings": {},
        "style": {
            "all": ["Short sentences, everyday words.", "No exclamation marks, no emoji."],
            "chat": ["Answer first, explain after."],
            "post": ["One thought per post."]
        }
    });
    format!("{character:#}\n")
}
