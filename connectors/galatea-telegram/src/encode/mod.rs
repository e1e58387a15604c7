//! Encodes outgoing messages as Bot API calls, each part fitting one call. Pure: no I/O, and the
//! same input gives the same output.

mod call;
mod entities;
mod keyboard;
mod markdown;
mod media;
mod split;
mod style;
#[cfg(test)]
mod tests;

use galatea_core::{Content, Encoded, Error, Media, MediaKind, Outgoing, RemoteId, Result};
use serde_json::{Map, Value, json};

use crate::decode::place::parse_message;
use markdown::{linkable, render};
use split::{MAX_CAPTION, split, units};
use style::{Span, Style, Styled};

pub(crate) use self::call::{BotCall, Method, Upload};
pub(crate) use media::MAX_UPLOAD;
pub(crate) use split::MAX_TEXT;

/// Renders a message for Telegram and splits it into calls.
///
/// # Errors
/// `Invalid` for an empty message, an invalid button, or an attachment or message id that Telegram
/// does not accept.
pub(crate) fn encode(outgoing: &Outgoing) -> Result<Vec<Encoded>> {
    encode_parts(outgoing)?
        .iter()
        .map(|part| {
            serde_json::to_value(part)
                .map(Encoded)
                .map_err(|e| Error::unexpected("an encoded part is not JSON").with("cause", e))
        })
        .collect()
}

/// [`encode`] before serialisation.
pub(crate) fn encode_parts(outgoing: &Outgoing) -> Result<Vec<BotCall>> {
    match outgoing {
        Outgoing::Message { content, reply_to } => message(content, reply_to.as_ref()),
        Outgoing::Edit { id, content } => edit(id, content),
        Outgoing::React { id, emoji } => {
            let reaction = match emoji
                .as_deref()
                .map(|e| e.strip_prefix("custom:").map_or((e, None), |custom| (e, Some(custom))))
            {
                None => json!([]),
                Some((_, Some(custom))) => {
                    json!([{"type": "custom_emoji", "custom_emoji_id": custom}])
                }
                Some((emoji, None)) => json!([{"type": "emoji", "emoji": emoji}]),
            };
            Ok(vec![addressed(Method::SetMessageReaction, id)?.with("reaction", reaction)])
        }
        Outgoing::Delete { id } => Ok(vec![addressed(Method::DeleteMessage, id)?]),
        Outgoing::Typing => {
            Ok(vec![BotCall::new(Method::SendChatAction).with("action", json!("typing"))])
        }
    }
}

fn addressed(method: Method, id: &RemoteId) -> Result<BotCall> {
    let (chat, message) = parse_message(id).ok_or_else(|| {
        Error::invalid("not a Telegram message id").with_code("GAL-TG-400").with("message", id)
    })?;
    let part = BotCall::new(method).with("message_id", json!(message));
    Ok(match chat {
        Some(chat) => part.with("chat_id", json!(chat)),
        None => part,
    })
}

fn edit(id: &RemoteId, content: &Content) -> Result<Vec<BotCall>> {
    let mut content = content.clone();
    let media = std::mem::take(&mut content.attachments);
    let mut parts = texts(&styled(&content, &media), MAX_TEXT, &content)?;
    let target = addressed(Method::EditMessageText, id)?;
    if let Some(first) = parts.first_mut() {
        first.method = Method::EditMessageText;
        first.params.extend(target.params);
    }
    // An edit cannot add files to a text message, so they follow in new messages.
    let files = Content {
        attachments: media.into_iter().filter(|m| m.content_type != MediaKind::Link).collect(),
        ..Content::default()
    };
    if !files.attachments.is_empty() {
        parts.extend(message(&files, None)?);
    }
    Ok(parts)
}

fn message(content: &Content, reply_to: Option<&RemoteId>) -> Result<Vec<BotCall>> {
    let text = styled(content, &content.attachments);
    let media: Vec<&Media> =
        content.attachments.iter().filter(|m| m.content_type != MediaKind::Link).collect();
    let mut parts = if media.is_empty() {
        texts(&text, MAX_TEXT, content)?
    } else {
        with_media(&text, &media, content)?
    };
    if let Some(first) = parts.first_mut() {
        first.reply_to = reply_to.cloned();
    }
    Ok(parts)
}

/// The text, with attached links on lines of their own.
fn styled(content: &Content, attachments: &[Media]) -> Styled {
    let mut styled = render(&content.text);
    for link in
        attachments.iter().filter(|m| m.content_type == MediaKind::Link && !m.url.is_empty())
    {
        if !styled.text.is_empty() {
            styled.text.push('\n');
        }
        let start = styled.text.len();
        match linkable(&link.url) {
            Some(url) if !link.title.trim().is_empty() => {
                styled.text.push_str(link.title.trim());
                styled
                    .spans
                    .push(Span { range: start..styled.text.len(), style: Style::Link(url) });
            }
            _ => styled.text.push_str(&link.url),
        }
    }
    styled
}

fn texts(styled: &Styled, first: usize, content: &Content) -> Result<Vec<BotCall>> {
    let mut parts: Vec<BotCall> = split(styled, first, MAX_TEXT)
        .iter()
        .filter(|p| !p.text.trim().is_empty())
        .map(text_part)
        .collect();
    match parts.last_mut() {
        Some(last) => add_keyboard(last, content)?,
        None => {
            return Err(Error::invalid(
                "there is nothing to say: the message has neither words nor files",
            )
            .with_code("GAL-TG-400"));
        }
    }
    Ok(parts)
}

fn text_part(styled: &Styled) -> BotCall {
    let mut part = BotCall::new(Method::SendMessage)
        .with("text", json!(styled.text))
        .with("link_preview_options", json!({"is_disabled": true}));
    let entities = entities::entities(styled);
    if !entities.is_empty() {
        part = part.with("entities", entities::to_json(&entities));
    }
    part
}

fn caption(params: &mut Map<String, Value>, styled: &Styled) {
    if styled.text.trim().is_empty() {
        return;
    }
    params.insert("caption".into(), json!(styled.text));
    let entities = entities::entities(styled);
    if !entities.is_empty() {
        params.insert("caption_entities".into(), entities::to_json(&entities));
    }
}

fn add_keyboard(part: &mut BotCall, content: &Content) -> Result<()> {
    if let Some(markup) = keyboard::inline(&content.buttons)? {
        part.params.insert("reply_markup".into(), markup);
    }
    Ok(())
}

/// Files first, with the text as the first caption. Text that does not fit into the caption follows
/// in messages.
fn with_media(text: &Styled, media: &[&Media], content: &Content) -> Result<Vec<BotCall>> {
    let mut pieces = if units(&text.text) <= MAX_CAPTION {
        vec![text.clone()]
    } else {
        split(text, MAX_CAPTION, MAX_TEXT)
    };
    let rest = pieces.split_off(1.min(pieces.len()));
    let head = pieces.pop().unwrap_or_default();
    let mut parts = Vec::new();
    let mut at = 0;
    while at < media.len() {
        let shown = if at == 0 { head.clone() } else { Styled::default() };
        // An album cannot carry buttons.
        let together = if content.buttons.is_empty() { album_len(&media[at..]) } else { 1 };
        parts.push(if together > 1 {
            album(&media[at..at + together], at, &shown)?
        } else {
            single(media[at], at, &shown)?
        });
        at += together;
    }
    parts.extend(rest.iter().filter(|p| !p.text.trim().is_empty()).map(text_part));
    if let Some(last) = parts.last_mut() {
        add_keyboard(last, content)?;
    }
    Ok(parts)
}

/// How many attachments from the front form one album; 1 means no album. Albums have 2–10 items
/// (Bot API, sendMediaGroup).
fn album_len(media: &[&Media]) -> usize {
    let Some(first) = media.first() else { return 0 };
    let class = media::form(first).2;
    if class == media::Class::Alone {
        return 1;
    }
    media.iter().take(10).take_while(|m| media::form(m).2 == class).count()
}

fn single(media: &Media, position: usize, shown: &Styled) -> Result<BotCall> {
    let (method, field, _) = media::form(media);
    let (address, upload) = media::place(media, field, position)?;
    let mut part = BotCall::new(method);
    match upload {
        Some(upload) => part.files.push(upload),
        None => part = part.with(field, json!(address)),
    }
    caption(&mut part.params, shown);
    Ok(part)
}

fn album(media: &[&Media], position: usize, shown: &Styled) -> Result<BotCall> {
    let mut part = BotCall::new(Method::SendMediaGroup);
    let mut items = Vec::with_capacity(media.len());
    for (i, one) in media.iter().enumerate() {
        let (method, _, _) = media::form(one);
        let (address, upload) = media::place(one, &format!("file{i}"), position + i)?;
        part.files.extend(upload);
        let mut item = media::album_item(method, &address);
        if i == 0 {
            caption(&mut item, shown);
        }
        items.push(Value::Object(item));
    }
    Ok(part.with("media", Value::Array(items)))
}
