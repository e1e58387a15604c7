//! The API calls that this connector makes, each with its fields and its price.

use galatea_core::{Error, Result};
use serde_json::{Value, json};

use super::api::{Api, ApiCall, CallBody, Class};
use crate::{
    config::prices::{Prices, Usd},
    decode::{
        Me,
        raw::{self, PostPage},
        snowflake::number,
    },
    encode::has_link,
    error::{Failure, codes},
};

/// Fields of a post that is decoded (X API v2, `tweet.fields`).
const POST_FIELDS: &str = "attachments,author_id,conversation_id,created_at,entities,in_reply_to_user_id,note_tweet,referenced_tweets";
const USER_FIELDS: &str = "name,username";
const MEDIA_FIELDS: &str = "alt_text,media_key,preview_image_url,type,url,variants";
const EXPANSIONS: &str =
    "author_id,attachments.media_keys,referenced_tweets.id,referenced_tweets.id.author_id";
/// Values of `max_results` (X API v2: 5 to 100), largest first. A smaller one is tried when the
/// answer exceeds the size limit.
pub(crate) const PAGE: [&str; 3] = ["100", "20", "5"];

/// A post to create.
pub(crate) struct PostDraft<'a> {
    pub(crate) text: &'a str,
    pub(crate) reply_to: Option<&'a str>,
    pub(crate) media: &'a [String],
}

impl PostDraft<'_> {
    /// The price of the post (X, pay-per-use list). Text that X may turn into a link has the price
    /// of a link.
    pub(crate) fn price(&self, prices: &Prices) -> Usd {
        match (has_link(self.text), self.reply_to) {
            (true, _) => prices.link,
            (false, Some(_)) => prices.reply,
            (false, None) => prices.post,
        }
    }
}

fn garbage(api: &Api) -> Failure {
    Failure::Garbage { status: 200, place: api.host().to_owned() }
}

/// Reads the account's id and handle: one paid read.
pub(crate) async fn me(api: &Api, prices: &Prices) -> Result<Me> {
    const NAME: &str = "GET /2/users/me";
    api.budget.take(prices.user)?;
    let answer = api
        .call(ApiCall::get("/2/users/me", Class::Me).with("user.fields", USER_FIELDS))
        .await
        .map_err(|failure| {
            api.budget.give_back(prices.user);
            api.error(failure, NAME)
        })?;
    let text = |name: &str| answer["data"][name].as_str();
    match (text("id").and_then(number), text("username")) {
        (Some(id), Some(name)) => Ok(Me { id, user_name: name.to_owned() }),
        _ => Err(api.error(garbage(api), NAME)),
    }
}

/// Reads a page of mentions after the post `since`, with at most `most` posts.
pub(crate) async fn mentions(
    api: &Api,
    me: u64,
    since: u64,
    page: Option<&str>,
    most: &str,
) -> Result<PostPage> {
    timeline(api, &format!("/2/users/{me}/mentions"), Class::Mentions, since, page, most)
        .await
        .map_err(|f| api.error(f, "GET /2/users/:id/mentions"))
}

/// Reads a page of the account's own posts after the post `since`.
pub(crate) async fn own_posts(
    api: &Api,
    me: u64,
    since: u64,
    page: Option<&str>,
) -> Result<PostPage> {
    timeline(api, &format!("/2/users/{me}/tweets"), Class::Timeline, since, page, PAGE[0])
        .await
        .map_err(|f| api.error(f, "GET /2/users/:id/tweets"))
}

async fn timeline(
    api: &Api,
    path: &str,
    class: Class,
    since: u64,
    page: Option<&str>,
    most: &str,
) -> Result<PostPage, Failure> {
    let since = since.to_string();
    let mut call = ApiCall::get(path, class)
        .with("since_id", &since)
        .with("max_results", most)
        .with("tweet.fields", POST_FIELDS)
        .with("user.fields", USER_FIELDS)
        .with("media.fields", MEDIA_FIELDS)
        .with("expansions", EXPANSIONS);
    if let Some(token) = page {
        call = call.with("pagination_token", token);
    }
    let answer = api.call(call).await?;
    if answer.get("data").is_none() && answer.get("meta").is_none() {
        return Err(garbage(api));
    }
    Ok(raw::page(answer))
}

/// Reads a post; `None` if it does not exist any more.
pub(crate) async fn post(api: &Api, prices: &Prices, id: &str) -> Result<Option<PostPage>> {
    api.budget.take(prices.read)?;
    let path = format!("/2/tweets/{id}");
    let call = ApiCall::get(&path, Class::Lookup)
        .with("tweet.fields", POST_FIELDS)
        .with("user.fields", USER_FIELDS)
        .with("expansions", EXPANSIONS);
    match api.call(call).await {
        Ok(answer) => Ok(Some(raw::page(answer)).filter(|page| !page.posts.is_empty())),
        Err(failure) => {
            api.budget.give_back(prices.read);
            if failure.refusal().is_some_and(|problem| problem.status == 404) {
                Ok(None)
            } else {
                Err(api.error(failure, "GET /2/tweets/:id"))
            }
        }
    }
}

/// Creates a post and returns its id.
pub(crate) async fn create(api: &Api, draft: &PostDraft<'_>) -> Result<String, Failure> {
    let mut body = json!({});
    if !draft.text.is_empty() {
        body["text"] = json!(draft.text);
    }
    if let Some(id) = draft.reply_to {
        body["reply"] = json!({ "in_reply_to_tweet_id": id });
    }
    if !draft.media.is_empty() {
        body["media"] = json!({ "media_ids": draft.media });
    }
    let answer = api.call(ApiCall::post("/2/tweets", CallBody::Json(body), Class::Post)).await?;
    let id = answer["data"]["id"].as_str().filter(|id| number(id).is_some());
    id.map(str::to_owned).ok_or_else(|| garbage(api))
}

/// Deletes a post of the account. A post that does not exist any more counts as deleted.
pub(crate) async fn delete(api: &Api, id: &str) -> Result<()> {
    match api.call(ApiCall::delete(&format!("/2/tweets/{id}"), Class::Delete)).await {
        Ok(_) => Ok(()),
        Err(failure) if failure.refusal().is_some_and(|problem| problem.status == 404) => Ok(()),
        Err(failure) => Err(api.error(failure, "DELETE /2/tweets/:id")),
    }
}

/// Likes a post, or removes the like.
pub(crate) async fn like(api: &Api, me: u64, id: &str, on: bool) -> Result<()> {
    let (all, one) = (format!("/2/users/{me}/likes"), format!("/2/users/{me}/likes/{id}"));
    let call = if on {
        ApiCall::post(&all, CallBody::Json(json!({ "tweet_id": id })), Class::Like)
    } else {
        ApiCall::delete(&one, Class::Like)
    };
    api.call(call).await.map(drop).map_err(|f| api.error(f, "likes"))
}

/// Reads the id from an answer of the media endpoints.
pub(crate) fn media_id(api: &Api, answer: &Value) -> Result<String> {
    let id = answer["data"]["id"].as_str().filter(|id| number(id).is_some());
    id.map(str::to_owned)
        .ok_or_else(|| api.error(garbage(api), "media/upload").with_code(codes::MEDIA))
        .map_err(|e: Error| e.with_sent(galatea_core::Sent::No))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_has_its_price_however_long_it_is() {
        let prices = Prices::default();
        let price = |text: &str, reply_to| PostDraft { text, reply_to, media: &[] }.price(&prices);
        for length in 1..40 {
            let text = format!("read {}.com today", "a".repeat(length));
            assert_eq!(price(&text, None), prices.link, "{text}");
            assert_eq!(price(&text, Some("7")), prices.link, "{text}");
        }
        assert_eq!(price("see https://example.org/a?b=c", None), prices.link);
        assert_eq!(price("No link. Version 2.0, e.g. now...", None), prices.post);
        assert_eq!(price("No link. Version 2.0, e.g. now...", Some("7")), prices.reply);
    }
}
