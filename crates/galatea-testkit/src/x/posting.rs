//! `POST /2/tweets`: checks and creates posts of the account.

use serde_json::{Map, Value, json};

use super::{
    params::id_in,
    problem::Problem,
    render::{links, mentions, weight},
    state::State,
};

/// A checked request for a post.
struct Draft {
    text: String,
    reply_to: Option<u64>,
    quotes: Option<u64>,
    media: Vec<u64>,
}

/// Creates a post of the account.
pub(super) fn create(state: &mut State, body: &Value) -> Result<(u16, Value), Problem> {
    let draft = read(state, body)?;
    if state.suspended {
        return Err(Problem::forbidden("You are not permitted to perform this action."));
    }
    if let Some(id) = draft.reply_to {
        let Some(target) = state.world.posts.get(&id) else {
            return Err(Problem {
                status: 400,
                ..Problem::invalid(
                    "You attempted to reply to a Tweet that is deleted or not visible to you.",
                )
            }
            .allowed());
        };
        let own = target.author == state.world.me;
        if !own && !state.options.enterprise && !state.world.summons(target) {
            return Err(Problem::not_summoned()
                .breach("replied to a post that had not summoned the account"));
        }
    }
    if draft.quotes.is_some() && !state.options.enterprise {
        return Err(Problem::forbidden("Quote posts are not available to self-serve apps.")
            .breach("quoted on a self-serve tier"));
    }
    let world = &state.world;
    let target = draft.reply_to.and_then(|id| world.posts.get(&id));
    let there: Vec<u64> = target
        .map(|target| world.mentioned(target).into_iter().chain([target.author]).collect())
        .unwrap_or_default();
    let known = |name: &String| {
        world.by_handle(name).is_some_and(|person| there.contains(&person.id))
            || state.options.may_mention.contains(name)
    };
    if let Some(outsider) = mentions(&draft.text).into_iter().find(|name| !known(name)) {
        state.violate(
            "POST /2/tweets",
            &format!("@{outsider} is mentioned and not in the conversation"),
        );
    }
    let now = state.now();
    // X, "duplicate content": the same words in the same place within a day.
    let same = |p: &&super::world::Post| {
        p.author == state.world.me
            && p.text == draft.text
            && p.reply_to == draft.reply_to
            && p.media.is_empty()
            && draft.media.is_empty()
    };
    if state.world.posts.values().any(|p| same(&p) && now.since(p.at).as_secs() < 86_400) {
        return Err(Problem::duplicate());
    }
    for id in &draft.media {
        state.uploads.attach(*id)?;
    }
    let id = state.world.snowflake(now);
    let me = state.world.me;
    state.world.add(id, me, &draft.text, draft.reply_to, draft.quotes, draft.media, now, true);
    Ok((
        201,
        json!({ "data": { "id": id.to_string(), "text": draft.text, "edit_history_tweet_ids": [id.to_string()] } }),
    ))
}

impl Problem {
    /// Marks the refusal as one that a correct client can run into.
    fn allowed(mut self) -> Self {
        self.violation = None;
        self
    }
}

fn read(state: &State, body: &Value) -> Result<Draft, Problem> {
    let Some(body) = body.as_object() else {
        return Err(Problem::invalid("the body is not a JSON object"));
    };
    keys(body, &["text", "reply", "media", "quote_tweet_id", "reply_settings", "made_with_ai"])?;
    let text = match body.get("text") {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(_) => return Err(Problem::invalid("$.text: must be a string")),
    };
    if let Some(settings) = body.get("reply_settings")
        && !["following", "mentionedUsers", "subscribers", "verified"].iter().any(|s| settings == s)
    {
        return Err(Problem::invalid("$.reply_settings: is not one of the known ones"));
    }
    let reply_to = match body.get("reply") {
        None => None,
        Some(Value::Object(reply)) => {
            keys(
                reply,
                &["in_reply_to_tweet_id", "exclude_reply_user_ids", "auto_populate_reply_metadata"],
            )?;
            Some(id_in(reply.get("in_reply_to_tweet_id"), "$.reply.in_reply_to_tweet_id")?)
        }
        Some(_) => return Err(Problem::invalid("$.reply: must be an object")),
    };
    let media = match body.get("media") {
        None => Vec::new(),
        Some(Value::Object(media)) => {
            keys(media, &["media_ids", "tagged_user_ids"])?;
            let list = media
                .get("media_ids")
                .and_then(Value::as_array)
                .ok_or_else(|| Problem::invalid("$.media.media_ids: must be a list"))?;
            if !(1..=4).contains(&list.len()) {
                return Err(Problem::invalid("$.media.media_ids: must have 1 to 4 items"));
            }
            list.iter().map(|v| id_in(Some(v), "$.media.media_ids")).collect::<Result<_, _>>()?
        }
        Some(_) => return Err(Problem::invalid("$.media: must be an object")),
    };
    for one in &media {
        state.uploads.check(*one)?;
    }
    state.uploads.mix(&media)?;
    if text.trim().is_empty() && media.is_empty() {
        return Err(Problem::invalid("The post has neither text nor media"));
    }
    if text != text.trim() {
        return Err(Problem::invalid(
            "X removes white space around a post; a client that compares texts must not send it",
        ));
    }
    if weight(&text) > 280 {
        return Err(Problem::forbidden(
            "Your Tweet text is too long. For more information on how Twitter determines text length see https://github.com/twitter/twitter-text.",
        )
        .breach(format!("a post of {} weighted", weight(&text))));
    }
    if text.chars().any(|c| matches!(c, '\u{FFFE}' | '\u{FEFF}' | '\u{FFFF}')) {
        return Err(Problem::invalid("$.text: has forbidden characters"));
    }
    let quotes =
        body.get("quote_tweet_id").map(|v| id_in(Some(v), "$.quote_tweet_id")).transpose()?;
    debug_assert!(links(&text).len() < 1000);
    Ok(Draft { text, reply_to, quotes, media })
}

fn keys(object: &Map<String, Value>, known: &[&str]) -> Result<(), Problem> {
    match object.keys().find(|k| !known.contains(&k.as_str())) {
        Some(odd) => Err(Problem::invalid(&format!("$.{odd}: is not defined in the schema"))),
        None => Ok(()),
    }
}
