//! Answers of tools: words with a bound, and files beside them.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use galatea_core::{ActionResult, Media, MediaKind, model::schema, visible::visible};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;

/// Longest text that goes to the model, in bytes: about 4,000 tokens. The engine cuts at 16 KiB, and would
/// cut off what is said of the rest.
pub(crate) const LONGEST: usize = 14_000;
/// Most files of one answer.
const MOST_FILES: usize = 4;
/// Largest file, in bytes (Telegram Bot API, sendPhoto: 10 MB).
const LARGEST: usize = 10_000_000;

/// What a tool answered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// Whether the tool says that it worked.
    pub success: bool,
    /// Words for the model, written by others.
    pub text: String,
    /// Pictures, sound and files.
    pub files: Vec<Media>,
}

impl Outcome {
    /// A failure that we say ourselves.
    pub(crate) fn failed(text: impl Into<String>) -> Self {
        Self { success: false, text: text.into(), files: Vec::new() }
    }
}

/// An outcome as a result of an action: other people's words, and files for the answer.
pub(crate) fn result(outcome: Outcome) -> ActionResult {
    let mut result = if outcome.success {
        ActionResult::ok(outcome.text)
    } else {
        ActionResult::failed(outcome.text)
    };
    result.files = outcome.files;
    result
}

/// Reads an answer. `expected` is the schema that the tool promised for its structured part.
pub(crate) fn read(result: &CallToolResult, expected: Option<&Value>) -> Outcome {
    let mut parts = Parts::default();
    for block in &result.content {
        parts.block(block);
    }
    if let Some(structured) = &result.structured_content {
        // Some wrap the text itself in an object of one field.
        let wrapped = structured.as_object().filter(|fields| fields.len() == 1);
        let wrapped = wrapped.and_then(|fields| fields.values().next()?.as_str());
        let is_copy = |text: &String| {
            wrapped == Some(text.as_str())
                || serde_json::from_str::<Value>(text).is_ok_and(|value| value == *structured)
        };
        // Servers send the structured answer as text too, for older clients.
        if !parts.texts.iter().any(is_copy) {
            parts.texts.push(structured.to_string());
        }
        let misfits = expected.map(|rules| schema::misfits(structured, rules)).unwrap_or_default();
        if let Some(first) = misfits.first() {
            parts.notes.push(format!("The answer is not as the tool promised: {first}."));
        }
    }
    parts.finish(result.is_error != Some(true))
}

/// Reads a resource.
pub(crate) fn of_resource(contents: &[ResourceContents]) -> Outcome {
    let mut parts = Parts::default();
    for content in contents {
        parts.resource(content);
    }
    parts.finish(true)
}

/// Reads the messages of a prompt.
pub(crate) fn of_prompt<'a>(blocks: impl Iterator<Item = &'a ContentBlock>) -> Outcome {
    let mut parts = Parts::default();
    blocks.for_each(|block| parts.block(block));
    parts.finish(true)
}

#[derive(Default)]
struct Parts {
    texts: Vec<String>,
    files: Vec<Media>,
    notes: Vec<String>,
    left_out: usize,
}

impl Parts {
    fn block(&mut self, block: &ContentBlock) {
        match block {
            ContentBlock::Text(text) => self.texts.push(text.text.clone()),
            ContentBlock::Image(image) => self.file(&image.data, &image.mime_type, "picture"),
            ContentBlock::Audio(audio) => self.file(&audio.data, &audio.mime_type, "sound"),
            ContentBlock::Resource(resource) => self.resource(&resource.resource),
            ContentBlock::ResourceLink(link) => {
                self.texts.push(format!("{}: {}", link.name, link.uri))
            }
            _ => self.left_out += 1,
        }
    }

    fn resource(&mut self, contents: &ResourceContents) {
        match contents {
            ResourceContents::TextResourceContents { text, .. } => self.texts.push(text.clone()),
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let name = uri.rsplit(['/', ':']).next().unwrap_or_default();
                let mime = mime_type.as_deref().unwrap_or("application/octet-stream");
                self.file(blob, mime, name);
            }
            _ => self.left_out += 1,
        }
    }

    fn file(&mut self, data: &str, mime: &str, name: &str) {
        let known = |c: char| c.is_ascii_alphanumeric() || "/+-.".contains(c);
        let mime = mime.trim().to_ascii_lowercase();
        let is_mime = mime.split('/').count() == 2 && mime.len() < 100 && mime.chars().all(known);
        let bytes = BASE64_STANDARD.decode(data.trim()).ok();
        let Some(bytes) = bytes.filter(|bytes| is_mime && !bytes.is_empty()) else {
            self.notes.push("A file of the answer cannot be read, and is left out.".to_owned());
            return;
        };
        if self.files.len() == MOST_FILES || bytes.len() > LARGEST {
            self.left_out += 1;
            return;
        }
        let kind = match mime.split('/').next() {
            Some("image") => MediaKind::Image,
            Some("audio") => MediaKind::Audio,
            Some("video") => MediaKind::Video,
            _ => MediaKind::Document,
        };
        let ending = mime.split('/').nth(1).map_or("bin", |sub| match sub {
            "jpeg" => "jpg",
            "svg+xml" => "svg",
            "plain" => "txt",
            "mpeg" => "mp3",
            "octet-stream" => "bin",
            other => other,
        });
        let name = galatea_http::redact::plain(name, 60);
        let title = if name.contains('.') { name } else { format!("{name}.{ending}") };
        self.notes
            .push(format!("A file is attached to the answer: {title} ({} bytes).", bytes.len()));
        self.files.push(Media {
            id: format!("tool-{}", self.files.len()),
            // Encoded again: what a server wrote may have line breaks.
            url: format!("data:{mime};base64,{}", BASE64_STANDARD.encode(&bytes)),
            title,
            content_type: kind,
            size: u64::try_from(bytes.len()).ok(),
            mime: Some(mime),
            ..Media::default()
        });
    }

    fn finish(mut self, success: bool) -> Outcome {
        let text = self.texts.join("\n\n");
        let seen = visible(&text);
        let mut text = cut(&seen);
        if self.left_out > 0 {
            self.notes.push(format!("{} parts of the answer are left out.", self.left_out));
        }
        for note in &self.notes {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&format!("[{note}]"));
        }
        if text.is_empty() {
            text.push_str(if success {
                "[The tool answered nothing.]"
            } else {
                "[The tool failed and gave no reason.]"
            });
        }
        Outcome { success, text, files: self.files }
    }
}

/// A text within the bound, cut at the end of a line or a word, which says how much is left out.
fn cut(text: &str) -> String {
    if text.len() <= LONGEST {
        return text.trim().to_owned();
    }
    let end = text.floor_char_boundary(LONGEST);
    let kept = text.get(..end).unwrap_or_default();
    let border = |at: &usize| *at > end - end / 10;
    let at =
        kept.rfind('\n').filter(border).or_else(|| kept.rfind(' ').filter(border)).unwrap_or(end);
    let kept = kept.get(..at).unwrap_or(kept).trim();
    let (all, shown) = (text.chars().count(), kept.chars().count());
    format!(
        "{kept}\n[The answer goes on: {} of its {all} characters are left out. Ask for a smaller part.]",
        all - shown
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(value: Value, expected: Option<&Value>) -> Outcome {
        read(&serde_json::from_value(value).unwrap(), expected)
    }

    #[test]
    fn a_picture_is_a_file_and_never_text() {
        let data = BASE64_STANDARD.encode([7_u8; 900]);
        let outcome = of(
            json!({ "content": [{ "type": "text", "text": "Here." }, { "type": "image", "data": data, "mimeType": "image/png" }] }),
            None,
        );
        assert_eq!(
            outcome.text,
            "Here.\n[A file is attached to the answer: picture.png (900 bytes).]"
        );
        assert_eq!(outcome.files[0].content_type, MediaKind::Image);
        assert!(outcome.files[0].url.starts_with("data:image/png;base64,"));
        assert!(outcome.success);
        let broken = of(
            json!({ "content": [{ "type": "image", "data": "%%", "mimeType": "image/png" }] }),
            None,
        );
        assert!(broken.files.is_empty() && broken.text.contains("cannot be read"));
    }

    #[test]
    fn a_long_text_says_what_is_left_out() {
        let long = "word ".repeat(20_000);
        let outcome = of(json!({ "content": [{ "type": "text", "text": long }] }), None);
        assert!(outcome.text.chars().count() < LONGEST + 200);
        assert!(
            outcome.text.contains("of its 100000 characters are left out"),
            "{}",
            &outcome.text[13_900..]
        );
    }

    #[test]
    fn a_structured_answer_and_its_copy_count_once() {
        let copied = of(
            json!({ "content": [{ "type": "text", "text": "{\"b\": 1}" }], "structuredContent": { "b": 1 } }),
            None,
        );
        assert_eq!(copied.text, "{\"b\": 1}");
        let wrapped = of(
            json!({ "content": [{ "type": "text", "text": "Bread." }], "structuredContent": { "content": "Bread." } }),
            None,
        );
        assert_eq!(wrapped.text, "Bread.");
        let rules = json!({ "type": "object", "required": ["c"] });
        let only = of(json!({ "content": [], "structuredContent": { "b": 1 } }), Some(&rules));
        assert!(
            only.text
                .starts_with("{\"b\":1}\n[The answer is not as the tool promised: c: is missing."),
            "{}",
            only.text
        );
    }

    #[test]
    fn a_failure_of_the_tool_goes_to_the_model() {
        let outcome = of(
            json!({ "content": [{ "type": "text", "text": "no such city" }], "isError": true }),
            None,
        );
        assert_eq!((outcome.success, outcome.text.as_str()), (false, "no such city"));
        assert!(!of(json!({ "content": [], "isError": true }), None).text.is_empty());
    }
}
