//! Reads a text as a Character, or reports every reason why it is none.

use std::path::Path;

use super::{
    Character, MAX_SIZE,
    diagnostic::{Diagnostic, Refused, SIZE, SourceText, TEXT, TYPE},
    foreign,
    generation::Generation,
    json,
    node::Kind,
    notes::Notes,
    read,
    schema::is_schema,
    toml,
};

/// A character that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The persona, with defaults for what the file leaves out.
    pub character: Character,
    /// Which elizaOS generation the file was written for.
    pub generation: Generation,
    /// What could be better, in the order of the text.
    pub warnings: Vec<Diagnostic>,
}

/// Reads a character file. TOML if the name ends in `.toml`, else JSON.
///
/// # Errors
/// Every fault found, each with its place: broken syntax, wrong types, a missing name or bio, more
/// than 1 MiB, half surrogate pairs.
pub fn load(name: &str, text: &str) -> Result<Loaded, Refused> {
    if text.len() > MAX_SIZE {
        let message = format!(
            "the file is larger than {} MiB ({MAX_SIZE} bytes), the most a character file may have",
            MAX_SIZE >> 20
        );
        return Err(refuse(
            Diagnostic::whole(name, SIZE, message)
                .help("keep what the persona needs in every answer; all of it goes into prompts"),
        ));
    }
    if let Some(fault) = foreign::by_name(name) {
        return Err(refuse(fault));
    }
    if is_schema(text.as_bytes()) {
        let fault =
            Diagnostic::whole(name, TYPE, "this is the schema of character files, not a character");
        return Err(refuse(fault.help("name a character; the schema only helps editors")));
    }
    let source = SourceText { file: name, text: text.strip_prefix('\u{FEFF}').unwrap_or(text) };
    let mut remarks = Vec::new();
    let is_toml = Path::new(name).extension().is_some_and(|e| e.eq_ignore_ascii_case("toml"));
    let parsed = if is_toml { toml::parse(source) } else { json::parse(source, &mut remarks) };
    let root = match parsed {
        Ok(root) => root,
        Err(fault) => {
            let foreign = if is_toml {
                foreign::not_toml(name, source.text)
            } else {
                foreign::not_json(name, source.text)
            };
            if let Some(foreign) = foreign {
                return Err(refuse(foreign));
            }
            remarks.push(*fault);
            return Err(Refused { diagnostics: remarks });
        }
    };
    let mut notes = Notes::new(source);
    let Kind::Object(entries) = &root.kind else {
        let what = root.sort();
        notes.error(
            TYPE,
            &root.range,
            format!("a character file holds an object, this is {what}"),
            Some("it starts with { and ends with }".to_owned()),
        );
        return Err(Refused { diagnostics: notes.finish().0 });
    };
    let (character, generation) = read::character(entries, &root.range, &mut notes);
    let (found, refused) = notes.finish();
    remarks.extend(found);
    remarks.sort_by_key(|d| (d.line, d.column));
    if refused {
        Err(Refused { diagnostics: remarks })
    } else {
        Ok(Loaded { character, generation, warnings: remarks })
    }
}

/// [`load`] for bytes as they come from a disk.
///
/// # Errors
/// As [`load`], and for bytes that are not UTF-8.
pub fn load_bytes(name: &str, bytes: &[u8]) -> Result<Loaded, Refused> {
    match std::str::from_utf8(bytes) {
        Ok(text) => load(name, text),
        Err(_) if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) => Err(
            refuse(Diagnostic::whole(name, TEXT, "the file is UTF-16").help("save it as UTF-8")),
        ),
        Err(error) => {
            let line = bytes[..error.valid_up_to()].iter().filter(|b| **b == b'\n').count() + 1;
            Err(refuse(
                Diagnostic::whole(name, TEXT, format!("line {line} is not UTF-8 text"))
                    .help("save the file as UTF-8"),
            ))
        }
    }
}

fn refuse(diagnostic: Diagnostic) -> Refused {
    Refused { diagnostics: vec![diagnostic] }
}
