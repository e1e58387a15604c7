//! Posts and people as JSON (X API v2, object model), with the requested fields.

use serde_json::{Value, json};
use time_of::rfc3339;
use twitter_text::{ParserBackend, extractor::Extractor};

use super::{state::State, world::Post};

/// Links of a text, in order.
pub(super) fn links(text: &str) -> Vec<String> {
    // The parser is a third-party library. Where it panics, the text has no links.
    std::panic::catch_unwind(|| {
        Extractor::with_parser_backend(ParserBackend::External).extract_urls(text)
    })
    .unwrap_or_default()
}

/// Mentioned handles, in lower case.
pub(super) fn mentions(text: &str) -> Vec<String> {
    let found = std::panic::catch_unwind(|| {
        Extractor::with_parser_backend(ParserBackend::External).extract_mentioned_screennames(text)
    });
    found
        .unwrap_or_default()
        .into_iter()
        .map(|name| name.trim_start_matches(['@', '＠']).to_lowercase())
        .collect()
}

/// Weighted length by X's rules.
pub(super) fn weight(text: &str) -> i32 {
    let parse = || {
        twitter_text::parse_with_parser_backend(
            text,
            twitter_text_config::config_v3(),
            true,
            ParserBackend::External,
        )
        .weighted_length
    };
    std::panic::catch_unwind(parse).unwrap_or(0)
}

/// A post as JSON, with the requested fields.
pub(super) fn post(state: &State, post: &Post, fields: &str) -> Value {
    let world = &state.world;
    let has = |name: &str| fields.split(',').any(|f| f == name);
    let (text, entities) = shown(state, post);
    let mut out = json!({ "id": post.id.to_string(), "text": text, "edit_history_tweet_ids": [post.id.to_string()] });
    let mut set = |name: &str, value: Value| {
        if has(name) && !value.is_null() {
            out[name] = value;
        }
    };
    set("author_id", json!(post.author.to_string()));
    set("conversation_id", json!(post.conversation.to_string()));
    set("created_at", json!(rfc3339(post.at)));
    set("entities", entities);
    set(
        "in_reply_to_user_id",
        post.reply_to
            .and_then(|id| world.posts.get(&id))
            .map_or(Value::Null, |t| json!(t.author.to_string())),
    );
    let mut references = Vec::new();
    references
        .extend(post.reply_to.map(|id| json!({ "type": "replied_to", "id": id.to_string() })));
    references.extend(post.quotes.map(|id| json!({ "type": "quoted", "id": id.to_string() })));
    set("referenced_tweets", if references.is_empty() { Value::Null } else { json!(references) });
    let keys: Vec<String> = post.media.iter().map(|id| format!("3_{id}")).collect();
    set("attachments", if keys.is_empty() { Value::Null } else { json!({ "media_keys": keys }) });
    out
}

/// The text as X shows it: mentions in front of replies, short links, three escaped characters.
/// Also its entities, with offsets in characters.
fn shown(state: &State, post: &Post) -> (String, Value) {
    let world = &state.world;
    let front: Vec<String> = world
        .in_front(post)
        .iter()
        .filter_map(|id| world.people.get(id))
        .map(|p| format!("@{}", p.handle))
        .collect();
    let mut text = front.iter().map(|m| format!("{m} ")).collect::<String>() + &post.text;
    let mut urls = Vec::new();
    for (n, link) in links(&post.text).into_iter().enumerate() {
        let short = format!("https://t.co/{:010}", (post.id + n as u64) % 10_000_000_000);
        text = text.replacen(&link, &short, 1);
        let expanded = if link.contains("://") { link.clone() } else { format!("http://{link}") };
        urls.push((short, expanded, link));
    }
    for id in &post.media {
        let short = format!("https://t.co/m{id:09}");
        let handle = world.people.get(&post.author).map_or("i", |p| p.handle.as_str());
        urls.push((
            short.clone(),
            format!("https://x.com/{handle}/status/{}/photo/1", post.id),
            format!("pic.x.com/m{id}"),
        ));
        text = if text.is_empty() { short } else { format!("{text} {short}") };
    }
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let place = |part: &str| {
        text.find(part)
            .map(|at| text[..at].chars().count())
            .map(|start| (start, start + part.chars().count()))
    };
    let urls: Vec<Value> = urls
        .iter()
        .filter_map(|(short, expanded, display)| {
            let (start, end) = place(short)?;
            Some(json!({ "start": start, "end": end, "url": short, "expanded_url": expanded, "display_url": display.replace("https://", "") }))
        })
        .collect();
    let mentions: Vec<Value> = world
        .typed(&text)
        .into_iter()
        .filter_map(|(id, start, end)| world.people.get(&id).map(|p| json!({ "start": start, "end": end, "username": p.handle, "id": id.to_string() })))
        .collect();
    let mut entities = json!({});
    if !urls.is_empty() {
        entities["urls"] = json!(urls);
    }
    if !mentions.is_empty() {
        entities["mentions"] = json!(mentions);
    }
    let entities = if entities == json!({}) { Value::Null } else { entities };
    (text, entities)
}

/// `includes` for some posts, as far as the expansions request it.
pub(super) fn includes(state: &State, posts: &[&Post], expansions: &str, fields: &str) -> Value {
    let world = &state.world;
    let has = |name: &str| expansions.split(',').any(|e| e == name);
    let mut out = json!({});
    let referenced: Vec<&Post> = posts
        .iter()
        .flat_map(|p| [p.reply_to, p.quotes])
        .flatten()
        .filter_map(|id| world.posts.get(&id))
        .collect();
    let mut people: Vec<u64> = Vec::new();
    if has("author_id") {
        people.extend(posts.iter().map(|p| p.author));
    }
    if has("referenced_tweets.id.author_id") {
        people.extend(referenced.iter().map(|p| p.author));
    }
    people.sort_unstable();
    people.dedup();
    if !people.is_empty() {
        out["users"] = people.iter().filter_map(|id| user(state, *id)).collect();
    }
    if has("referenced_tweets.id") && !referenced.is_empty() {
        out["tweets"] = referenced.iter().map(|p| post(state, p, fields)).collect();
    }
    let media: Vec<Value> =
        posts.iter().flat_map(|p| &p.media).map(|id| state.uploads.json(*id)).collect();
    if has("attachments.media_keys") && !media.is_empty() {
        out["media"] = json!(media);
    }
    out
}

/// A person as JSON.
pub(super) fn user(state: &State, id: u64) -> Option<Value> {
    state
        .world
        .people
        .get(&id)
        .map(|p| json!({ "id": p.id.to_string(), "name": p.name, "username": p.handle }))
}

mod time_of {
    use galatea_core::Timestamp;

    /// RFC 3339 with milliseconds, in UTC (civil-from-days after Howard Hinnant's
    /// "chrono-compatible low-level date algorithms").
    pub(in crate::x) fn rfc3339(at: Timestamp) -> String {
        let (days, rest) = (at.0.div_euclid(86_400_000), at.0.rem_euclid(86_400_000));
        let z = days + 719_468;
        let (era, doe) = (z.div_euclid(146_097), z.rem_euclid(146_097));
        let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
        let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
        let mp = (5 * doy + 2) / 153;
        let (day, month) = (doy - (153 * mp + 2) / 5 + 1, if mp < 10 { mp + 3 } else { mp - 9 });
        let year = yoe + era * 400 + i64::from(month <= 2);
        let (h, m, s, ms) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60, rest % 1000);
        format!("{year:04}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}.{ms:03}Z")
    }

    #[test]
    fn dates() {
        assert_eq!(rfc3339(Timestamp(1_656_432_460_105)), "2022-06-28T16:07:40.105Z");
        assert_eq!(rfc3339(Timestamp(951_782_400_000)), "2000-02-29T00:00:00.000Z");
    }
}
