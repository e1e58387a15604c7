//! Parses pages of posts leniently: an unknown or malformed field is left out, and a malformed post
//! does not affect the others.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::HashMap;
use twitter_v2::data::{FullTextEntities, Media, Tweet, User};

use crate::decode::snowflake::number;

/// A page of a timeline.
#[derive(Debug, Default)]
pub(crate) struct PostPage {
    /// Posts, newest first as X sends them.
    pub(crate) posts: Vec<Post>,
    /// The users, posts and media that the posts refer to.
    pub(crate) includes: Includes,
    /// Token of the page with older posts.
    pub(crate) next: Option<String>,
    /// Posts that could not be read, each with its id if that is known.
    pub(crate) unreadable: Vec<Option<u64>>,
}

/// A post.
#[derive(Debug, Clone)]
pub(crate) struct Post {
    /// The fields that twitter-v2 supports.
    pub(crate) tweet: Tweet,
    /// The full text of a long post, which twitter-v2 does not support (X API, `note_tweet`).
    pub(crate) note: Option<String>,
    /// Links of the full text, which the post's own entities lack.
    pub(crate) note_entities: Option<FullTextEntities>,
}

/// Expansions (X API, `includes`).
#[derive(Debug, Clone, Default)]
pub(crate) struct Includes {
    users: HashMap<u64, User>,
    posts: HashMap<u64, Post>,
    media: HashMap<String, Media>,
}

impl Includes {
    /// The user with this id.
    pub(crate) fn user(&self, id: u64) -> Option<&User> {
        self.users.get(&id)
    }
    /// The referenced post with this id.
    pub(crate) fn post(&self, id: u64) -> Option<&Post> {
        self.posts.get(&id)
    }
    /// The medium with this key.
    pub(crate) fn media(&self, key: &str) -> Option<&Media> {
        self.media.get(key)
    }
    /// Adds the expansions of another page.
    pub(crate) fn extend(&mut self, other: Self) {
        self.users.extend(other.users);
        self.posts.extend(other.posts);
        self.media.extend(other.media);
    }
}

/// Reads a page; `data` may be a list, one post, or missing.
pub(crate) fn page(body: Value) -> PostPage {
    let Value::Object(mut body) = body else { return PostPage::default() };
    let mut page = PostPage {
        next: body
            .get("meta")
            .and_then(|m| m.get("next_token"))
            .and_then(Value::as_str)
            .map(str::to_owned),
        ..PostPage::default()
    };
    let items = match body.remove("data") {
        Some(Value::Array(items)) => items,
        Some(one @ Value::Object(_)) => vec![one],
        _ => Vec::new(),
    };
    for item in items {
        let id = item.get("id").and_then(Value::as_str).and_then(number);
        match post(item) {
            Some(post) => page.posts.push(post),
            None => page.unreadable.push(id),
        }
    }
    if let Some(Value::Object(mut includes)) = body.remove("includes") {
        let mut list = |name: &str| match includes.remove(name) {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        };
        page.includes.users = list("users")
            .into_iter()
            .filter_map(lenient::<User>)
            .map(|user| (user.id.as_u64(), user))
            .collect();
        page.includes.posts = list("tweets")
            .into_iter()
            .filter_map(post)
            .map(|post| (post.tweet.id.as_u64(), post))
            .collect();
        page.includes.media = list("media")
            .into_iter()
            .filter_map(lenient::<Media>)
            .map(|media| (media.media_key.to_string(), media))
            .collect();
    }
    page
}

fn post(item: Value) -> Option<Post> {
    let long = item.get("note_tweet");
    let note = long.and_then(|note| note.get("text")).and_then(Value::as_str).map(str::to_owned);
    let note_entities =
        long.and_then(|note| note.get("entities")).cloned().and_then(lenient::<FullTextEntities>);
    Some(Post { tweet: lenient(item)?, note, note_entities })
}

/// Deserialises a value. Optional fields that prevent this are left out.
fn lenient<T: DeserializeOwned>(item: Value) -> Option<T> {
    if let Ok(read) = T::deserialize(&item) {
        return Some(read);
    }
    let Value::Object(whole) = item else { return None };
    // Fields are added one at a time and kept if the value still parses; the required ones come
    // first, since nothing parses without them.
    let required =
        |name: &str| matches!(name, "id" | "text" | "name" | "username" | "media_key" | "type");
    let (mut kept, optional): (Map<String, Value>, Map<String, Value>) =
        whole.into_iter().partition(|(name, _)| required(name));
    let mut read = T::deserialize(Value::Object(kept.clone())).ok()?;
    for (name, value) in optional {
        kept.insert(name.clone(), value);
        match T::deserialize(Value::Object(kept.clone())) {
            Ok(more) => read = more,
            Err(_) => {
                tracing::debug!(field = %galatea_http::shorten(&name, 40), "unknown form of a field in X's answer; the field is ignored");
                kept.remove(&name);
            }
        }
    }
    Some(read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_odd_field_costs_only_itself() {
        let page = page(json!({"data": [
            {"id": "7", "text": "hi", "author_id": "1", "reply_settings": "martians", "referenced_tweets": [{"type": "liked", "id": "3"}], "conversation_id": "5"},
            {"id": "8", "text": "two", "note_tweet": {"text": "two and much more"}},
            {"text": "no id"}, 17, {"id": "9", "text": ["no", "words"]}
        ], "includes": {"users": [{"id": "1", "name": "Ann", "username": "ann", "public_metrics": 5}]}, "meta": {"next_token": "n"}}));
        assert_eq!(
            (page.posts.len(), &page.unreadable[..], page.next.as_deref()),
            (2, &[None, None, Some(9)][..], Some("n"))
        );
        assert_eq!(page.posts[0].tweet.author_id.unwrap().as_u64(), 1);
        assert_eq!(page.posts[0].tweet.conversation_id.unwrap().as_u64(), 5);
        assert!(page.posts[0].tweet.referenced_tweets.is_none());
        assert_eq!(page.posts[1].note.as_deref(), Some("two and much more"));
        assert_eq!(page.includes.user(1).unwrap().name, "Ann");
    }

    #[test]
    fn anything_can_be_read() {
        for body in [
            json!(null),
            json!([]),
            json!({}),
            json!({"data": 5}),
            json!({"data": {"id": "1", "text": "x"}}),
            json!({"includes": []}),
        ] {
            let _ = page(body);
        }
    }
}
