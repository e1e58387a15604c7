//! sendPhoto and the other sends of one file, and sendMediaGroup.

use serde_json::{Value, json};

use super::{
    files::{describe, take},
    send::{Frame, caption, shown},
};
use crate::telegram::{
    answer::{Answer, Refusal},
    entities::{Formatted, MAX_CAPTION, utf16_len},
    params::Params,
    parse,
    schema::Method,
    state::State,
};

/// Sends one file; serves sendPhoto, sendDocument and the like.
pub(super) fn send_file(state: &mut State, method: &Method, params: &Params) -> Answer {
    let kind = method.required[1];
    let words = if kind == "sticker" { Formatted::default() } else { caption(params)? };
    let named = params.text(kind)?.map(str::to_owned);
    let frame = Frame::read(state, params)?;
    let file = take(
        state,
        params,
        kind,
        Some(kind).filter(|k| params.files().contains_key(*k)),
        named.as_deref(),
    )?;
    let extra = describe(kind, &file, Some(params));
    let id = frame.put(state, words, extra)?;
    Ok(shown(state, frame.chat, id))
}

/// Fields of `InputMedia*` (Bot API).
const FIELDS: &[&str] = &[
    "type",
    "media",
    "caption",
    "parse_mode",
    "caption_entities",
    "show_caption_above_media",
    "has_spoiler",
    "thumbnail",
    "cover",
    "start_timestamp",
    "width",
    "height",
    "duration",
    "supports_streaming",
    "performer",
    "title",
    "disable_content_type_detection",
];

/// sendMediaGroup: 2–10 items; documents and audio cannot be mixed with other kinds.
pub(super) fn group(state: &mut State, params: &Params) -> Answer {
    let media = params.json("media")?.unwrap_or_default();
    let items = media
        .as_array()
        .ok_or_else(|| Refusal::broken("can't parse media: expected an Array of InputMedia"))?
        .clone();
    if items.is_empty() {
        return Err(Refusal::broken("there are no media in the request"));
    }
    if items.len() > 10 {
        return Err(Refusal::broken("too many messages to send as an album"));
    }
    if items.len() == 1 {
        params.note("a media group has 2-10 items, not 1");
    }
    let kinds: Vec<&str> = items.iter().map(|i| i["type"].as_str().unwrap_or_default()).collect();
    if kinds.iter().any(|k| !["photo", "video", "document", "audio"].contains(k)) {
        return Err(Refusal::broken(
            "can't parse media: type must be one of photo, video, document, audio",
        ));
    }
    if kinds.iter().any(|k| ["document", "audio"].contains(k))
        && kinds.iter().any(|k| *k != kinds[0])
    {
        return Err(Refusal::broken("Can't use the media of the specified type in the album"));
    }
    if params.has("reply_markup") {
        params.note("sendMediaGroup has no reply_markup");
    }
    let mut parts = Vec::new();
    for item in &items {
        parts.push((words_of(item, params)?, item));
    }
    let frame = Frame::read(state, params)?;
    let group = state.media_group();
    let mut sent = Vec::new();
    for (words, item) in parts {
        let kind = item["type"].as_str().unwrap_or_default();
        let file = take(state, params, kind, None, item["media"].as_str())?;
        let mut extra = describe(kind, &file, None);
        extra.insert("media_group_id".to_owned(), json!(group));
        let id = frame.put(state, words, extra)?;
        sent.push(shown(state, frame.chat, id));
    }
    Ok(json!(sent))
}

fn words_of(item: &Value, params: &Params) -> Result<Formatted, Refusal> {
    if let Some(odd) =
        item.as_object().and_then(|m| m.keys().find(|k| !FIELDS.contains(&k.as_str())))
    {
        params.note(format!("InputMedia has no field \"{odd}\""));
    }
    let words = parse::formatted(
        params,
        item["caption"].as_str().unwrap_or_default(),
        item["parse_mode"].as_str(),
        item.get("caption_entities"),
    )?;
    if utf16_len(&words.text) > MAX_CAPTION {
        return Err(Refusal::broken("message caption is too long"));
    }
    Ok(words)
}
