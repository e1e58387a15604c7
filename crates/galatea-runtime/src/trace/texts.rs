//! Makes texts of a trace readable, and cuts them to a bounded length. Pure.

use galatea_core::{
    model::{ChatMessage, ChatPart, ChatRole, ToolCall},
    store::{PromptBlock, StepTexts},
};

use super::recorder::Raw;

/// Longest text of one block, in bytes: some 2,000 tokens.
const BLOCK: usize = 8 * 1024;
/// Bytes of all texts of a trace.
const MOST: usize = 64 * 1024;

/// Texts of a trace by their steps.
pub(super) fn readable(raw: Vec<Raw>) -> Vec<StepTexts> {
    let mut left = MOST;
    let mut out = Vec::new();
    for (step, raw) in raw.into_iter().enumerate() {
        let mut texts = match raw {
            Raw::Nothing => continue,
            Raw::Call { input, output } => {
                StepTexts { step, input: Some(input), output: Some(output), ..StepTexts::default() }
            }
            Raw::Prompt { system, messages, opening, text, calls } => StepTexts {
                step,
                prompt: blocks(system, &messages, opening),
                output: Some(answer(&text, &calls)),
                ..StepTexts::default()
            },
        };
        // Answers are worth more than prompts.
        for text in texts.output.iter_mut().chain(&mut texts.input) {
            cut(text, BLOCK.min(left));
            left -= text.len().min(left);
        }
        out.push(texts);
    }
    // The end of a prompt is worth more than its middle.
    for block in out.iter_mut().flat_map(|texts| texts.prompt.iter_mut().rev()) {
        cut(&mut block.text, BLOCK.min(left));
        left -= block.text.len().min(left);
    }
    out
}

fn blocks(system: Option<String>, messages: &[ChatMessage], opening: usize) -> Vec<PromptBlock> {
    let system = system.map(|text| PromptBlock {
        from: "instructions".to_owned(),
        role: "system".to_owned(),
        text,
    });
    let rest = messages.iter().enumerate().map(|(n, message)| {
        let from = match message.role {
            ChatRole::System if n < opening => "instructions",
            ChatRole::System => "note for this answer",
            ChatRole::User => message.name.as_deref().unwrap_or("people"),
            ChatRole::Assistant => "the agent",
            ChatRole::Tool => "results",
        };
        PromptBlock {
            from: from.to_owned(),
            role: role(message.role).to_owned(),
            text: said(message),
        }
    });
    system.into_iter().chain(rest).collect()
}

fn role(role: ChatRole) -> &'static str {
    match role {
        ChatRole::System => "system",
        ChatRole::User => "user",
        ChatRole::Assistant => "assistant",
        ChatRole::Tool => "tool",
    }
}

fn said(message: &ChatMessage) -> String {
    let part = |part: &ChatPart| match part {
        ChatPart::Text { text } => text.clone(),
        ChatPart::ToolCall { call } => called(call),
        ChatPart::ToolResult { text, .. } => text.clone(),
        ChatPart::Opaque { .. } => String::new(),
        ChatPart::Image { .. } => "[picture]".to_owned(),
    };
    let parts: Vec<String> =
        message.parts.iter().map(part).filter(|text| !text.is_empty()).collect();
    parts.join("\n")
}

fn called(call: &ToolCall) -> String {
    format!("{}({})", call.name, call.arguments)
}

fn answer(text: &str, calls: &[ToolCall]) -> String {
    let words = Some(text.to_owned()).filter(|text| !text.is_empty());
    words.into_iter().chain(calls.iter().map(called)).collect::<Vec<_>>().join("\n")
}

/// Cuts a long text in its middle, and says how much is missing.
fn cut(text: &mut String, most: usize) {
    if text.len() <= most {
        return;
    }
    let (head, tail) = (text.floor_char_boundary(most / 4 * 3), most / 4);
    let tail = text.ceil_char_boundary(text.len() - tail);
    let missing = tail.saturating_sub(head);
    *text = format!("{}\n[{missing} bytes left out]\n{}", &text[..head], &text[tail..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_long_text_keeps_its_beginning_and_end() {
        let mut text = format!("begin{}end", "ä".repeat(BLOCK));
        cut(&mut text, BLOCK);
        assert!(text.starts_with("begin") && text.ends_with("end"));
        assert!(text.len() < BLOCK + 64, "{}", text.len());
        assert!(text.contains("bytes left out"));
    }

    #[test]
    fn all_texts_together_are_bounded_and_answers_survive() {
        let messages: Vec<ChatMessage> =
            (0..40).map(|n| ChatMessage::user("x".repeat(4_000)).named(format!("p{n}"))).collect();
        let prompt = || Raw::Prompt {
            system: Some("You are Ada.".to_owned()),
            messages: Arc::new(messages.clone()),
            opening: 0,
            text: "Hello!".to_owned(),
            calls: vec![ToolCall { id: "1".into(), name: "WAVE".into(), arguments: "{}".into() }],
        };
        let texts = readable(vec![prompt(), Raw::Nothing, prompt()]);
        assert_eq!(texts.iter().map(|texts| texts.step).collect::<Vec<_>>(), [0, 2]);
        assert!(texts.iter().all(|texts| texts.output.as_deref() == Some("Hello!\nWAVE({})")));
        let bytes: usize =
            texts.iter().flat_map(|texts| &texts.prompt).map(|block| block.text.len()).sum();
        assert!(bytes < MOST + 100 * 64, "{bytes}");
        assert_eq!(texts[0].prompt.len(), 41);
        assert_eq!(texts[0].prompt.last().map(|block| block.from.as_str()), Some("p39"));
    }
}
