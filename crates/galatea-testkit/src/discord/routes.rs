//! All REST routes and their handlers.

use super::{
    applications, channels, interactions,
    refusal::{Answer, Refusal},
    state::State,
};
use crate::discord::request::Request;

type Does = fn(&mut State, &Request) -> Answer;

const ROUTES: &[(&str, Does)] = &[
    ("GET /users/@me", applications::me),
    ("GET /applications/@me", applications::application),
    ("PATCH /applications/@me", applications::change),
    ("GET /applications/{}/commands", applications::commands),
    ("PUT /applications/{}/commands", applications::set_commands),
    ("GET /gateway/bot", applications::gateway),
    ("GET /guilds/{}", applications::guild),
    ("GET /guilds/{}/channels", applications::guild_channels),
    ("GET /guilds/{}/threads/active", applications::guild_threads),
    ("GET /guilds/{}/members/{}", applications::guild_member),
    ("GET /channels/{}", channels::get),
    ("GET /channels/{}/messages", channels::list),
    ("POST /channels/{}/messages", channels::create),
    ("GET /channels/{}/messages/{}", channels::message),
    ("PATCH /channels/{}/messages/{}", channels::edit),
    ("DELETE /channels/{}/messages/{}", channels::delete),
    ("PUT /channels/{}/messages/{}/reactions/{}/@me", channels::react),
    ("DELETE /channels/{}/messages/{}/reactions/{}/@me", channels::unreact),
    ("POST /channels/{}/typing", channels::typing),
    ("POST /interactions/{}/{}/callback", interactions::callback),
    ("PATCH /webhooks/{}/{}/messages/@original", interactions::edit_original),
    ("DELETE /webhooks/{}/{}/messages/@original", interactions::delete_original),
    ("POST /webhooks/{}/{}", interactions::follow_up),
];

/// Finds the route of a path, and the values of its placeholders.
pub(crate) fn find(method: &str, path: &str) -> Option<(&'static str, Vec<String>)> {
    let parts: Vec<&str> = path.split('/').collect();
    ROUTES.iter().find_map(|(route, _)| {
        let (verb, pattern) = route.split_once(" /")?;
        let pattern: Vec<&str> = pattern.split('/').collect();
        let fits = verb == method
            && pattern.len() == parts.len()
            && pattern
                .iter()
                .zip(&parts)
                .all(|(p, s)| *p == "{}" && !s.is_empty() && !s.starts_with('@') || p == s);
        fits.then(|| {
            (
                *route,
                pattern
                    .iter()
                    .zip(&parts)
                    .filter(|(p, _)| **p == "{}")
                    .map(|(_, s)| decode(s))
                    .collect(),
            )
        })
    })
}

fn decode(segment: &str) -> String {
    // Form decoding turns a plus into a space, but a path means a plus.
    let text = segment.replace('+', "%2B");
    url::form_urlencoded::parse(text.as_bytes())
        .next()
        .map(|(k, _)| k.into_owned())
        .unwrap_or_default()
}

/// Runs a call.
pub(crate) fn run(state: &mut State, request: &Request) -> Answer {
    match ROUTES.iter().find(|(route, _)| *route == request.route) {
        Some((_, does)) => does(state, request),
        None => Err(Refusal::new(404, 0, "404: Not Found")),
    }
}
