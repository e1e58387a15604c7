//! Joins messages for services that require the two sides of a conversation to alternate.

use std::borrow::Cow;

use galatea_core::model::{ChatMessage, ChatPart, ChatRole, TextRequest};

/// Joins consecutive messages of the same side. Some services refuse them otherwise, as do the chat
/// templates of many models on self-hosted servers. Each message's text names its author, so
/// dropping the `name` field loses nothing.
pub(crate) fn take_turns(request: &TextRequest) -> Cow<'_, TextRequest> {
    let messages = &request.messages;
    // Results of tools are messages of their own.
    let joins = |one: &ChatMessage, next: &ChatMessage| {
        one.role == next.role && one.role != ChatRole::Tool && !one.uses_tools()
    };
    if !messages.windows(2).any(|pair| joins(&pair[0], &pair[1])) {
        return Cow::Borrowed(request);
    }
    let mut joined: Vec<ChatMessage> = Vec::with_capacity(messages.len());
    for message in messages.iter() {
        match joined.last_mut().filter(|last| joins(last, message)) {
            Some(last) => {
                last.name = None;
                message.parts.iter().for_each(|part| join(&mut last.parts, part));
            }
            None => joined.push(message.clone()),
        }
    }
    Cow::Owned(TextRequest { messages: joined.into(), ..request.clone() })
}

fn join(parts: &mut Vec<ChatPart>, part: &ChatPart) {
    match (parts.last_mut(), part) {
        (Some(ChatPart::Text { text }), ChatPart::Text { text: more }) => {
            text.push('\n');
            text.push_str(more);
        }
        _ => parts.push(part.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_side_speaks_once_at_a_time() {
        let ann = || ChatMessage::user("Ann: hi").named("Ann");
        let picture = ChatPart::Image { mime: "image/png".into(), data: "x".into() };
        let asked = |messages: Vec<ChatMessage>| TextRequest {
            messages: messages.into(),
            ..TextRequest::default()
        };
        assert!(matches!(
            take_turns(&asked(vec![ann(), ChatMessage::assistant("hello"), ann()])),
            Cow::Borrowed(_)
        ));
        let bob = ChatMessage {
            parts: vec![picture.clone(), ChatPart::Text { text: "Bob: look".into() }],
            ..ChatMessage::user("")
        };
        let joined = take_turns(&asked(vec![
            ann(),
            ann(),
            bob,
            ChatMessage::assistant("a"),
            ChatMessage::assistant("b"),
        ]))
        .into_owned()
        .messages;
        assert_eq!(joined.len(), 2);
        let text = |text: &str| ChatPart::Text { text: text.into() };
        assert_eq!(joined[0].parts, [text("Ann: hi\nAnn: hi"), picture, text("Bob: look")]);
        assert_eq!((joined[0].name.as_deref(), joined[1].text().as_str()), (None, "a\nb"));
    }
}
