//! Recognises files whose content is of another kind than their name says.

use std::path::Path;

use super::diagnostic::{Diagnostic, SYNTAX};

const PROGRAM: &str = "this is a program (TypeScript or JavaScript), not a character file";
const FROM_PROGRAM: &str = "copy the object that it exports into a file that ends in .json: keys and texts in double quotes, no `as const`, no functions, no process.env";
const YAML: &str = "this looks like YAML; character files are JSON or TOML";
const FROM_YAML: &str = "write it as JSON; `galatea character new NAME` shows the form";

/// Fault of a file as a whole, by the end of its name; none when that says JSON, TOML or
/// nothing.
pub(super) fn by_name(name: &str) -> Option<Diagnostic> {
    let extension = Path::new(name).extension()?.to_str()?.to_ascii_lowercase();
    match extension.as_str() {
        "ts" | "mts" | "cts" | "tsx" | "js" | "mjs" | "cjs" | "jsx" => {
            Some(Diagnostic::whole(name, SYNTAX, PROGRAM).help(FROM_PROGRAM))
        }
        "yaml" | "yml" => Some(Diagnostic::whole(name, SYNTAX, YAML).help(FROM_YAML)),
        _ => None,
    }
}

/// Kind of a picture or archive that can hold no character card here; none for other bytes.
pub(super) fn picture(bytes: &[u8]) -> Option<&'static str> {
    Some(match bytes {
        [0xff, 0xd8, 0xff, ..] => "a JPEG picture, which holds no character card",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => {
            "a WebP picture, of which the character card is not read"
        }
        [b'G', b'I', b'F', b'8', ..] => "a GIF picture, which holds no character card",
        [b'P', b'K', 3, 4, ..] => {
            "an archive (CHARX or ZIP), of which the character card is not read"
        }
        _ => return None,
    })
}

/// True form of a text that is not valid JSON, by its first words.
pub(super) fn not_json(name: &str, text: &str) -> Option<Diagnostic> {
    let begins = without_comments(text);
    let word: String =
        begins.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '$')).collect();
    let after = begins[word.len()..].trim_start_matches([' ', '\t']);
    let problem =
        |message: &str, help: &str| Some(Diagnostic::whole(name, SYNTAX, message).help(help));
    match word.as_str() {
        "import" | "export" | "const" | "let" | "var" | "module" | "type"
            if !after.starts_with([':', '=']) =>
        {
            problem(PROGRAM, FROM_PROGRAM)
        }
        _ if begins.starts_with("---") || (!word.is_empty() && after.starts_with(':')) => {
            problem(YAML, FROM_YAML)
        }
        _ if !word.is_empty() && after.starts_with('=') => problem(
            "this looks like TOML, and its name does not end in .toml",
            "name the file so that it ends in .toml",
        ),
        _ => None,
    }
}

/// True form of a text that is not valid TOML.
pub(super) fn not_toml(name: &str, text: &str) -> Option<Diagnostic> {
    let problem = || {
        Diagnostic::whole(name, SYNTAX, "this looks like JSON, and its name ends in .toml")
            .help("name the file so that it ends in .json")
    };
    text.trim_start().starts_with('{').then(problem)
}

/// A text from its first line that is not a comment of JavaScript, YAML or TOML.
fn without_comments(text: &str) -> &str {
    let mut rest = text.trim_start();
    loop {
        let end = if rest.starts_with("//") || rest.starts_with('#') {
            rest.find('\n')
        } else if rest.starts_with("/*") {
            rest.find("*/").map(|at| at + 1)
        } else {
            return rest;
        };
        rest = end.map_or("", |at| &rest[at + 1..]).trim_start();
    }
}
