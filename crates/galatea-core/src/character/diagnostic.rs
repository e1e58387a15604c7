//! A fault of a file with its place, in the form people know from rustc and uv.

use serde::Serialize;
use std::{fmt, ops::Range};

use super::snippet;
use crate::error::{Error, finding::Severity};

/// A fault or remark about a character file, with its place. `Display` prints the whole of it,
/// several lines.
///
/// Values that may be secrets never occur: messages do not repeat values, and the source line is
/// masked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic {
    /// `Error` refuses the file, `Warning` and `Info` do not.
    pub severity: Severity,
    /// Stable code that `galatea explain` knows; one of [`CODES`].
    pub code: &'static str,
    /// The fault, in one sentence.
    pub message: String,
    /// The file as the person named it.
    pub file: String,
    /// Line, from 1. 0 when the fault has no place in the text.
    pub line: usize,
    /// Column in characters, from 1. 0 when the fault has no place in the text.
    pub column: usize,
    /// The source line, cut to a window around the fault, with what looks like a secret masked.
    pub snippet: String,
    /// Characters before the caret within `snippet`.
    pub caret: usize,
    /// Width of the caret in characters, at least 1.
    pub width: usize,
    /// Next step of the reader.
    pub help: Option<String>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info | Severity::Ok => "note",
        };
        writeln!(f, "{severity}[{}]: {}", self.code, self.message)?;
        if self.line == 0 {
            write!(f, "  where: {}", self.file)?;
        } else {
            writeln!(f, "  where: {}:{}:{}", self.file, self.line, self.column)?;
            let number = self.line.to_string();
            writeln!(f, "  {number} | {}", self.snippet)?;
            let pad: String = self
                .snippet
                .chars()
                .take(self.caret)
                .map(|c| if c == '\t' { '\t' } else { ' ' })
                .collect();
            write!(f, "  {} | {pad}{}", " ".repeat(number.len()), "^".repeat(self.width))?;
        }
        if let Some(help) = &self.help {
            write!(f, "\n  fix:   {help}")?;
        }
        if self.severity == Severity::Error {
            write!(f, "\n  more:  galatea explain {}", self.code)?;
        }
        Ok(())
    }
}

/// Why a character file was refused: every fault and remark found, in the order of the text, at
/// least one of them an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// Faults and remarks, in the order of the file.
    pub diagnostics: Vec<Diagnostic>,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, diagnostic) in self.diagnostics.iter().enumerate() {
            write!(f, "{}{diagnostic}", if i == 0 { "" } else { "\n\n" })?;
        }
        Ok(())
    }
}

impl std::error::Error for Refused {}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        let Some(first) = refused.diagnostics.iter().find(|d| d.severity == Severity::Error) else {
            return Self::invalid("the character file was refused");
        };
        let mut error = Self::invalid(first.message.clone()).with_code(first.code);
        error = if first.line == 0 {
            error.with("where", &first.file)
        } else {
            error.with("where", format!("{}:{}:{}", first.file, first.line, first.column))
        };
        if let Some(help) = &first.help {
            error = error.with_fix(help.clone());
        }
        error.with_source(refused)
    }
}

/// A text with its name: turns byte ranges into places.
#[derive(Clone, Copy)]
pub(super) struct SourceText<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
}

impl SourceText<'_> {
    /// A diagnostic at a byte range of the text. Ranges that end outside it or inside a character
    /// are moved to the nearest place before.
    pub(super) fn at(
        &self,
        severity: Severity,
        code: &'static str,
        range: &Range<usize>,
        message: impl Into<String>,
    ) -> Diagnostic {
        let place = snippet::place(self.text, range);
        Diagnostic {
            severity,
            code,
            message: snippet::printable(&message.into()),
            file: snippet::printable(self.file),
            line: place.line,
            column: place.column,
            snippet: place.snippet,
            caret: place.caret,
            width: place.width,
            help: None,
        }
    }
}

impl Diagnostic {
    /// An error about a file as a whole.
    pub(super) fn whole(file: &str, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            code,
            message: snippet::printable(&message.into()),
            file: snippet::printable(file),
            line: 0,
            column: 0,
            snippet: String::new(),
            caret: 0,
            width: 1,
            help: None,
        }
    }

    /// With the next action.
    #[must_use]
    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(snippet::printable(&help.into()));
        self
    }
}

/// Meaning of a code, for `galatea explain` and the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The stable code, `GAL-…`, by which people search.
    pub code: &'static str,
    /// Summary in a line, without values.
    pub title: &'static str,
    /// Usual cause.
    pub cause: &'static str,
    /// Remedy.
    pub fix: &'static str,
}

impl Explanation {
    /// The page of one code: what happened, why it happens, and what to do.
    pub const fn new(
        code: &'static str,
        title: &'static str,
        cause: &'static str,
        fix: &'static str,
    ) -> Self {
        Self { code, title, cause, fix }
    }
}

macro_rules! codes {
    ($($name:ident = $code:literal, $title:literal, $cause:literal, $fix:literal;)+) => {
        $(pub(super) const $name: &str = $code;)+
        /// Every code this module uses.
        pub const CODES: &[Explanation] = &[$(Explanation { code: $code, title: $title, cause: $cause, fix: $fix },)+];
    };
}

codes! {
    SYNTAX = "GAL-CHAR-SYNTAX", "The character file is not valid JSON or TOML",
        "A bracket, quote, comma or colon is missing or too many; or the file is a program or YAML.",
        "Go to the place shown: the fault is there or just before it. A program's object is copied into a .json file, keys and texts in double quotes.";
    TYPE = "GAL-CHAR-TYPE", "A field of the character file holds the wrong sort of value",
        "A list is expected and text was written, or the other way round; or the file is a schema.",
        "Change the value as the message says; `galatea character schema` lists every field.";
    MISSING = "GAL-CHAR-MISSING", "A field that every character needs is missing",
        "A character has at least a name and a bio.",
        "Add the field; `galatea character new` writes a complete example.";
    EMPTY = "GAL-CHAR-EMPTY", "A field is there but empty",
        "An empty bio gives the model nothing to go by; an empty name cannot be called.",
        "Write something into it.";
    KEY = "GAL-CHAR-KEY", "The character file holds an unknown field",
        "It is misspelt, or belongs to a plugin that is not part of this program.",
        "Correct the spelling, or remove it. Until then it is kept and has no effect.";
    TWICE = "GAL-CHAR-TWICE", "A field is written twice",
        "JSON allows it; the last one counts, as in JavaScript.",
        "Remove the one that is wrong.";
    OLD = "GAL-CHAR-OLD", "The character file uses a field of an older elizaOS",
        "elizaOS 0.x and early 1.x knew `clients`, `modelProvider`, `lore`, `user` and others; they are understood and mapped.",
        "Run `galatea character convert FILE` once to get the present format.";
    LOOSE = "GAL-CHAR-LOOSE", "The file is JSON with extras",
        "Comments, trailing commas and raw tabs are accepted here; elizaOS and other JSON readers refuse them.",
        "Remove them, or keep the file for this program only.";
    SIZE = "GAL-CHAR-SIZE", "The character file is too large",
        "More than 1 MiB: every field goes into prompts, so a persona of this size cannot work.",
        "Keep what the persona needs in every answer.";
    DEEP = "GAL-CHAR-DEEP", "The character file is nested too deeply",
        "More than 64 levels of lists and objects.",
        "Flatten it; no field of a character needs more than ten.";
    TEXT = "GAL-CHAR-TEXT", "The file holds something that is not text",
        "It is not UTF-8, or holds half of a surrogate pair (`\\ud83d` without its partner).",
        "Save it as UTF-8; write emoji as they are instead of as escapes.";
    VALUE = "GAL-CHAR-VALUE", "A value cannot be used",
        "A number is too large, or not a number at all.",
        "Write it as text in quotes, or correct it.";
    ID = "GAL-CHAR-ID", "The character's id is not what it seems",
        "`id` is not a UUID: elizaOS accepts UUIDs only, here the agent's id is derived from the text. Or the name has blanks around it, which count.",
        "Remove `id` to derive it from the name, or write a UUID. Remove blanks around the name, unless the agent is to keep the id it has.";
    CARD = "GAL-CHAR-CARD", "A picture or archive holds no character card that can be read",
        "A PNG card has its text in a chunk named `chara` or `ccv3`. Programs that make pictures smaller, and some chats and hosts, remove it; pictures of other formats never have it.",
        "Export the card again, as PNG or as JSON, from the program or page it came from.";
    PLACEHOLDER = "GAL-CHAR-PLACEHOLDER", "A placeholder that nothing replaces",
        "Names in double braces stand for somebody: `{{char}}`, `{{agentName}}` and `<BOT>` for the character, `{{user}}` and `<USER>` for the person, `{{user1}}` to `{{user9}}` for people in examples. This one is none of them, so the model reads it as it is written.",
        "Write what it stands for, or use one of the known names. Templates (`templates`) have values of their own and are not checked.";
    ENCRYPTED = "GAL-CHAR-ENCRYPTED", "A secret looks encrypted by elizaOS",
        "elizaOS stores secrets as `iv:cipher` under its SECRET_SALT; without the salt such a value is not used.",
        "Set SECRET_SALT to the value that elizaOS had, or write the plain secret into the environment or `.env` under the same name. It is what the platform or provider once showed; where it is lost, make a new one there.";
}
