//! Reads a text as a Character, or reports every reason why it is none.

use std::path::Path;

use super::{
    Character, MAX_PICTURE, MAX_SIZE,
    diagnostic::{CARD, Diagnostic, PLACEHOLDER, Refused, SIZE, SourceText, TEXT, TYPE},
    foreign,
    generation::Generation,
    json,
    node::{Kind, Node},
    notes::Notes,
    placeholders, png, read,
    schema::is_schema,
    toml,
};

/// A character that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The persona, with defaults for what the file leaves out.
    pub character: Character,
    /// The elizaOS generation that the file was written for.
    pub generation: Generation,
    /// Remarks, in the order of the text.
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
    remark_placeholders(&root, generation, &mut notes);
    let (found, refused) = notes.finish();
    remarks.extend(found);
    remarks.sort_by_key(|d| (d.line, d.column));
    if refused {
        Err(Refused { diagnostics: remarks })
    } else {
        Ok(Loaded { character, generation, warnings: remarks })
    }
}

/// Fields with texts that models read. Templates have values of their own.
const SPOKEN: [&str; 8] =
    ["system", "bio", "lore", "messageExamples", "postExamples", "topics", "adjectives", "style"];
/// The generation of a card.
const SPOKEN_IN_CARDS: [&str; 9] = [
    "description",
    "personality",
    "scenario",
    "first_mes",
    "mes_example",
    "system_prompt",
    "post_history_instructions",
    "alternate_greetings",
    "character_book",
];
/// Placeholders remarked of one file; the same one is remarked once.
const MOST_PLACEHOLDERS: usize = 10;

/// Remarks on placeholders that nothing replaces.
fn remark_placeholders(root: &Node, generation: Generation, notes: &mut Notes<'_>) {
    let mut texts = Vec::new();
    let Kind::Object(entries) = &root.kind else { return };
    let data = entries.iter().find(|entry| entry.key == "data").map(|entry| &entry.value.kind);
    let fields = match (generation, data) {
        (Generation::Card, Some(Kind::Object(data))) => data,
        _ => entries,
    };
    let spoken = |key: &str| match generation {
        Generation::Card => SPOKEN_IN_CARDS.contains(&key),
        _ => SPOKEN.contains(&key) || key == "knowledge",
    };
    fields.iter().filter(|entry| spoken(&entry.key)).for_each(|e| texts_of(&e.value, &mut texts));
    let mut seen: Vec<&str> = Vec::new();
    for node in texts {
        // The range may hold escapes, which no placeholder has.
        let written = notes.written(&node.range);
        for range in placeholders::unknown(written) {
            let placeholder = &written[range.clone()];
            if seen.contains(&placeholder) || seen.len() >= MOST_PLACEHOLDERS {
                continue;
            }
            seen.push(placeholder);
            let place = node.range.start + range.start..node.range.start + range.end;
            let help = "known are {{char}} and {{agentName}}, {{user}}, and {{user1}} to {{user9}} in examples";
            notes.warn(
                PLACEHOLDER,
                &place,
                format!("nothing replaces {placeholder}: the model reads it as it is"),
                Some(help.to_owned()),
            );
        }
    }
}

fn texts_of<'a>(node: &'a Node, texts: &mut Vec<&'a Node>) {
    match &node.kind {
        Kind::Text(_) => texts.push(node),
        Kind::List(list) => list.iter().for_each(|node| texts_of(node, texts)),
        Kind::Object(entries) => entries.iter().for_each(|entry| texts_of(&entry.value, texts)),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) => {}
    }
}

impl Character {
    /// Reads a character from JSON text, in any form that elizaOS has had. Remarks about the text are
    /// left out; [`load`] returns them too.
    ///
    /// ```
    /// let nova = galatea_core::Character::from_json(r#"{"name": "Nova", "bio": "A gardener."}"#)?;
    /// assert_eq!(nova.name, "Nova");
    /// # Ok::<(), galatea_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Invalid` with the place of each fault.
    pub fn from_json(text: &str) -> crate::Result<Self> {
        Ok(load("character.json", text)?.character)
    }

    /// Reads a character file: JSON, TOML, or a picture with a character card.
    ///
    /// # Errors
    /// `NotFound` for a missing file, `Unavailable` for one that cannot be read, `Invalid` with the
    /// place of each fault.
    pub fn from_file(path: impl AsRef<Path>) -> crate::Result<Self> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|cause| {
            let kind = match cause.kind() {
                std::io::ErrorKind::NotFound => crate::ErrorKind::NotFound,
                _ => crate::ErrorKind::Unavailable,
            };
            crate::Error::new(kind, "the character file cannot be read")
                .with_code("GAL-CHAR-FILE")
                .with("where", path.display())
                .with("cause", &cause)
                .with_fix("check the path of the character file")
                .with_source(cause)
        })?;
        Ok(load_bytes(&path.display().to_string(), &bytes)?.character)
    }
}

/// [`load`] for bytes as they come from a disk, of a text or of a picture with a character card.
///
/// # Errors
/// As [`load`], for bytes that are not UTF-8, and for pictures without a card.
pub fn load_bytes(name: &str, bytes: &[u8]) -> Result<Loaded, Refused> {
    if png::is_png(bytes) {
        if bytes.len() > MAX_PICTURE {
            let message = format!("the picture is larger than {} MiB", MAX_PICTURE >> 20);
            return Err(refuse(
                Diagnostic::whole(name, SIZE, message).help("export the card as JSON"),
            ));
        }
        let text = png::card(name, bytes).map_err(refuse)?;
        // Places are those in the card's text, whatever the picture is called.
        return load(name, &text);
    }
    if let Some(what) = foreign::picture(bytes) {
        let fault = Diagnostic::whole(name, CARD, format!("this is {what}"));
        return Err(refuse(fault.help("export the character card as PNG or JSON")));
    }
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
