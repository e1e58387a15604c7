//! Query parameters that the documents list for each route.

use serde_json::Value;
use std::collections::BTreeMap;

use super::problem::Problem;

const POST_FIELDS: &[&str] = &[
    "article",
    "attachments",
    "author_id",
    "card_uri",
    "community_id",
    "context_annotations",
    "conversation_id",
    "created_at",
    "display_text_range",
    "edit_controls",
    "edit_history_tweet_ids",
    "entities",
    "geo",
    "id",
    "in_reply_to_user_id",
    "lang",
    "media_metadata",
    "non_public_metrics",
    "note_tweet",
    "organic_metrics",
    "possibly_sensitive",
    "promoted_metrics",
    "public_metrics",
    "referenced_tweets",
    "reply_settings",
    "scopes",
    "source",
    "text",
    "withheld",
];
const USER_FIELDS: &[&str] = &[
    "affiliation",
    "connection_status",
    "created_at",
    "description",
    "entities",
    "id",
    "is_identity_verified",
    "location",
    "most_recent_tweet_id",
    "name",
    "pinned_tweet_id",
    "profile_banner_url",
    "profile_image_url",
    "protected",
    "public_metrics",
    "receives_your_dm",
    "subscription",
    "subscription_type",
    "url",
    "username",
    "verified",
    "verified_followers_count",
    "verified_type",
    "withheld",
];
const MEDIA_FIELDS: &[&str] = &[
    "alt_text",
    "duration_ms",
    "height",
    "media_key",
    "non_public_metrics",
    "organic_metrics",
    "preview_image_url",
    "promoted_metrics",
    "public_metrics",
    "type",
    "url",
    "variants",
    "width",
];
const EXPANSIONS: &[&str] = &[
    "article.cover_media",
    "article.media_entities",
    "attachments.media_keys",
    "attachments.media_source_tweet",
    "attachments.poll_ids",
    "author_id",
    "edit_history_tweet_ids",
    "entities.mentions.username",
    "geo.place_id",
    "in_reply_to_user_id",
    "referenced_tweets.id",
    "referenced_tweets.id.author_id",
];

/// The query of a call.
pub(super) type Query = BTreeMap<String, String>;

/// Checks a query against the parameters of its route.
pub(super) fn check(route: &str, query: &Query) -> Result<(), Problem> {
    let timeline = matches!(route, "GET /2/users/:id/mentions" | "GET /2/users/:id/tweets");
    let fields = timeline || matches!(route, "GET /2/users/me" | "GET /2/tweets/:id");
    for (name, value) in query {
        let known = match name.as_str() {
            "tweet.fields" if fields => listed(name, value, POST_FIELDS)?,
            "user.fields" if fields => listed(name, value, USER_FIELDS)?,
            "media.fields" if timeline || route == "GET /2/tweets/:id" => {
                listed(name, value, MEDIA_FIELDS)?
            }
            "expansions" if fields => listed(
                name,
                value,
                if route == "GET /2/users/me" { &["pinned_tweet_id"] } else { EXPANSIONS },
            )?,
            "max_results" if timeline => {
                if !value.parse::<u32>().is_ok_and(|n| (5..=100).contains(&n)) {
                    return Err(Problem::invalid(&format!(
                        "The `max_results` query parameter value [{value}] is not between 5 and 100"
                    )));
                }
                true
            }
            "since_id" | "until_id" if timeline => id(name, value)?,
            "pagination_token" if timeline => {
                if !value.starts_with("page") {
                    return Err(Problem::invalid(
                        "The `pagination_token` query parameter value is not valid",
                    ));
                }
                true
            }
            "command" if route == "GET /2/media/upload" => value == "STATUS",
            "media_id" if route == "GET /2/media/upload" => id(name, value)?,
            _ => false,
        };
        if !known {
            return Err(Problem::invalid(&format!(
                "The query parameter [{name}] is not one of those of {route}"
            )));
        }
    }
    Ok(())
}

fn listed(name: &str, value: &str, known: &[&str]) -> Result<bool, Problem> {
    match value.split(',').find(|v| !known.contains(v)) {
        Some(odd) => Err(Problem::invalid(&format!(
            "The `{name}` query parameter value [{odd}] is not one of [{}]",
            known.join(",")
        ))),
        None => Ok(true),
    }
}

/// Checks an id against the API's pattern.
fn id(name: &str, value: &str) -> Result<bool, Problem> {
    if (1..=19).contains(&value.len()) && value.bytes().all(|b| b.is_ascii_digit()) {
        Ok(true)
    } else {
        Err(Problem::invalid(&format!(
            "The `{name}` query parameter value [{value}] does not match ^[0-9]{{1,19}}$"
        )))
    }
}

pub(crate) fn id_in(value: Option<&Value>, name: &str) -> Result<u64, Problem> {
    let text = value
        .and_then(Value::as_str)
        .filter(|t| (1..=19).contains(&t.len()) && t.bytes().all(|b| b.is_ascii_digit()));
    text.and_then(|t| t.parse().ok())
        .ok_or_else(|| Problem::invalid(&format!("{name}: does not match ^[0-9]{{1,19}}$")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_documented_parameters_pass() {
        let one = |name: &str, value: &str| {
            check("GET /2/users/:id/mentions", &Query::from([(name.to_owned(), value.to_owned())]))
        };
        for (name, value) in [
            ("max_results", "5"),
            ("since_id", "1541815603606036480"),
            ("tweet.fields", "author_id,entities"),
            ("expansions", "author_id"),
        ] {
            assert!(one(name, value).is_ok(), "{name}={value}");
        }
        for (name, value) in [
            ("max_results", "4"),
            ("max_results", "101"),
            ("since_id", "undefined"),
            ("since_id", ""),
            ("tweet.fields", "autor_id"),
            ("q", "x"),
        ] {
            let problem = one(name, value).unwrap_err();
            assert!(problem.status == 400 && problem.violation.is_some(), "{name}={value}");
        }
    }
}
