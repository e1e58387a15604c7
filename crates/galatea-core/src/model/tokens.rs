//! Estimates how many tokens a text has for a model, without its tokenizer and rather too many.
//!
//! The rule is meant to be too high rather than too low: bytes of UTF-8 by 3 (measured tokenizers
//! of OpenAI, Google, Meta and Alibaba need one token for 3.5 to 4.5 bytes of prose and 3 of code),
//! by 2.5 for Anthropic's (whose tokenizer since Opus 4.7 makes about a third more: "1M tokens ≈
//! 2.5M characters"), 1.5 for each Chinese, Japanese or Korean character, 8 for each message's
//! frame. What a provider reports to have counted corrects it ([`Scale`]).

use serde_json::Value;

use crate::model::{ChatMessage, ChatPart, TextRequest, ToolSpec};

/// Tokens of a message's frame: role, separators, name.
const FRAME: u64 = 8;
/// Tokens of a picture: the most that Anthropic ("Vision": 1,568) and OpenAI (1,445 in high detail)
/// count for one that they shrink.
const PICTURE: u64 = 1_600;

/// Tokenizers that count alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Tokenizers of Anthropic's models.
    Claude,
    /// Tokenizers of all other models.
    Other,
}

impl Family {
    /// The family of a model, by its name: `claude-…`, `anthropic/claude-…`.
    pub fn of(model: &str) -> Self {
        if model.to_ascii_lowercase().contains("claude") { Self::Claude } else { Self::Other }
    }

    /// Tokens of a text.
    pub fn text(self, text: &str) -> u64 {
        let mut count = Count::default();
        count.text(text);
        self.tokens(count)
    }

    /// Tokens of a value as compact JSON, which need not be written for it.
    pub fn json(self, value: &Value) -> u64 {
        let mut count = Count::default();
        count.json(value);
        self.tokens(count)
    }

    fn tokens(self, Count { wide, bytes }: Count) -> u64 {
        // Halves of bytes, to stay in whole numbers.
        let plain = match self {
            Self::Claude => (2 * bytes).div_ceil(5),
            Self::Other => bytes.div_ceil(3),
        };
        plain + (3 * wide).div_ceil(2)
    }

    /// Tokens of a message with its frame.
    pub fn message(self, message: &ChatMessage) -> u64 {
        let parts = message.parts.iter().map(|part| match part {
            ChatPart::Text { text } => self.text(text),
            ChatPart::Image { .. } => PICTURE,
            ChatPart::ToolCall { call } => {
                FRAME + self.text(&call.name) + self.text(&call.arguments)
            }
            ChatPart::ToolResult { name, text, .. } => FRAME + self.text(name) + self.text(text),
            ChatPart::Opaque { opaque } => self.json(&opaque.data),
        });
        FRAME + parts.sum::<u64>()
    }

    /// Tokens of a tool's description.
    pub fn tool(self, tool: &ToolSpec) -> u64 {
        FRAME + self.text(&tool.name) + self.text(&tool.description) + self.json(&tool.parameters)
    }

    /// Tokens of everything a model is sent.
    pub fn request(self, request: &TextRequest) -> u64 {
        let system = request.system.as_deref().map_or(0, |system| FRAME + self.text(system));
        system
            + request.messages.iter().map(|message| self.message(message)).sum::<u64>()
            + request.tools.iter().map(|tool| self.tool(tool)).sum::<u64>()
    }
}

/// Make-up of a text: wide characters, and bytes of the others.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    wide: u64,
    bytes: u64,
}

impl Count {
    fn text(&mut self, text: &str) {
        if text.is_ascii() {
            self.bytes += text.len() as u64;
            return;
        }
        for c in text.chars() {
            if is_wide(c) { self.wide += 1 } else { self.bytes += c.len_utf8() as u64 }
        }
    }

    fn json(&mut self, value: &Value) {
        // Brackets, or quotation marks, and a comma or colon behind each member.
        match value {
            Value::Null | Value::Bool(true) => self.bytes += 4,
            Value::Bool(false) => self.bytes += 5,
            Value::Number(number) => self.text(&number.to_string()),
            Value::String(text) => self.string(text),
            Value::Array(items) => {
                self.bytes += 2 + items.len().saturating_sub(1) as u64;
                items.iter().for_each(|item| self.json(item));
            }
            Value::Object(members) => {
                self.bytes += 2 + (2 * members.len()).saturating_sub(1) as u64;
                for (name, member) in members {
                    self.string(name);
                    self.json(member);
                }
            }
        }
    }

    fn string(&mut self, text: &str) {
        self.text(text);
        let escaped = text.bytes().filter(|byte| matches!(byte, b'"' | b'\\' | ..b' ')).count();
        self.bytes += 2 + escaped as u64;
    }
}

/// Chinese, Japanese and Korean characters (Unicode blocks): a token or two each.
fn is_wide(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{11ff}' | '\u{2e80}'..='\u{a4cf}' | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe4f}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}

/// Ratio of a model's own counts to the estimate, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale(u64);

impl Default for Scale {
    fn default() -> Self {
        Self(1_000)
    }
}

impl Scale {
    /// Smallest and largest factor believed: what lies outside counts something else, such as a
    /// prompt that the service cut off by itself.
    const BOUNDS: (u64, u64) = (600, 3_000);

    /// An estimate, corrected by what answers have shown.
    pub fn apply(self, estimate: u64) -> u64 {
        estimate.saturating_mul(self.0).div_ceil(1_000)
    }

    /// Learns from what was reported for a request of this estimate: at once when it was more,
    /// slowly when it was less. Short requests tell little, and zero means that nothing was
    /// reported.
    pub fn learn(&mut self, estimate: u64, reported: u64) {
        if estimate < 200 || reported == 0 {
            return;
        }
        let seen =
            (reported.saturating_mul(1_000) / estimate).clamp(Self::BOUNDS.0, Self::BOUNDS.1);
        self.0 = if seen > self.0 { seen } else { (self.0 * 7 + seen) / 8 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_counted_high() {
        // Counted by o200k_base: 11, 9, 8, 12.
        let cases = [
            ("The quick brown fox jumps over the lazy dog today.", 11),
            ("Größe, Übermut und Straße", 9),
            ("私は東京に住んでいます。", 8),
            ("fn main() { println!(\"hi\"); }", 12),
        ];
        for (text, counted) in cases {
            let estimate = Family::Other.text(text);
            assert!(
                estimate >= counted - 2 && estimate <= counted * 3,
                "{text}: {estimate} for {counted}"
            );
        }
        assert_eq!(
            (
                Family::Other.text("abcdef"),
                Family::Claude.text("abcde"),
                Family::Other.text("안녕")
            ),
            (2, 2, 3)
        );
        assert_eq!(
            (Family::of("anthropic/claude-sonnet-5"), Family::of("gpt-4o")),
            (Family::Claude, Family::Other)
        );
    }

    #[test]
    fn a_request_is_the_sum_of_its_parts() {
        let mut request = TextRequest::prompt(Some("abc".into()), "abcabc");
        assert_eq!(Family::Other.request(&request), FRAME + 1 + FRAME + 2);
        request.messages = vec![ChatMessage {
            parts: vec![ChatPart::Image { mime: "image/png".into(), data: "x".repeat(1 << 20) }],
            ..ChatMessage::user("")
        }]
        .into();
        assert_eq!(
            Family::Other.request(&request),
            FRAME + 1 + FRAME + PICTURE,
            "a picture's bytes are not text"
        );
    }

    #[test]
    fn json_counts_as_it_is_written() {
        let value = serde_json::json!({
            "type": "object", "properties": { "n": { "enum": [1, -2.5, true, false, null] }, "a\"b": { "x\\": "a\nb" } },
            "empty": [[], {}], "говорит": "안녕 hello",
        });
        for family in [Family::Claude, Family::Other] {
            assert_eq!(family.json(&value), family.text(&value.to_string()));
        }
    }

    #[test]
    fn reports_correct_the_estimate() {
        let mut scale = Scale::default();
        scale.learn(1_000, 1_400);
        assert_eq!(scale.apply(1_000), 1_400, "more at once");
        scale.learn(1_000, 600);
        assert_eq!(scale.apply(1_000), 1_300, "less slowly");
        scale.learn(1_000, 0);
        scale.learn(10, 90);
        assert_eq!(scale.apply(1_000), 1_300, "nothing reported, or nothing to learn from");
        scale.learn(1_000, 90_000);
        assert_eq!(scale.apply(1_000), 3_000);
    }
}
