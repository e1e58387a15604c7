//! Routes and their answers.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    params::{Query, id_in},
    posting,
    problem::Problem,
    render,
    state::State,
    world::Post,
};

/// A documented route and the ids in its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) name: &'static str,
    pub(super) ids: Vec<String>,
    /// True if the route needs write permission.
    pub(super) writes: bool,
}

pub(super) fn find(method: &str, path: &str) -> Option<Route> {
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let (name, ids): (&'static str, Vec<&str>) = match (method, &parts[..]) {
        ("GET", ["2", "users", "me"]) => ("GET /2/users/me", vec![]),
        ("GET", ["2", "users", id, "mentions"]) => ("GET /2/users/:id/mentions", vec![id]),
        ("GET", ["2", "users", id, "tweets"]) => ("GET /2/users/:id/tweets", vec![id]),
        ("GET", ["2", "tweets", id]) => ("GET /2/tweets/:id", vec![id]),
        ("POST", ["2", "tweets"]) => ("POST /2/tweets", vec![]),
        ("DELETE", ["2", "tweets", id]) => ("DELETE /2/tweets/:id", vec![id]),
        ("POST", ["2", "users", id, "likes"]) => ("POST /2/users/:id/likes", vec![id]),
        ("DELETE", ["2", "users", id, "likes", post]) => {
            ("DELETE /2/users/:id/likes/:tweet_id", vec![id, post])
        }
        ("POST", ["2", "media", "upload", "initialize"]) => {
            ("POST /2/media/upload/initialize", vec![])
        }
        ("POST", ["2", "media", "upload", id, "append"]) => {
            ("POST /2/media/upload/:id/append", vec![id])
        }
        ("POST", ["2", "media", "upload", id, "finalize"]) => {
            ("POST /2/media/upload/:id/finalize", vec![id])
        }
        ("GET", ["2", "media", "upload"]) => ("GET /2/media/upload", vec![]),
        ("POST", ["2", "media", "metadata"]) => ("POST /2/media/metadata", vec![]),
        ("POST", ["2", "oauth2", "token"]) => ("POST /2/oauth2/token", vec![]),
        _ => return None,
    };
    Some(Route { name, ids: ids.into_iter().map(str::to_owned).collect(), writes: method != "GET" })
}

/// Runs one checked call against the world.
pub(super) fn run(
    state: &mut State,
    route: &Route,
    query: &Query,
    body: &Value,
    raw: &Bytes,
    content_type: &str,
) -> Result<(u16, Value), Problem> {
    let id = |n: usize| id_in(route.ids.get(n).map(|t| json!(t)).as_ref(), "id");
    let get = |name: &str| query.get(name).map_or("", String::as_str);
    match route.name {
        "GET /2/users/me" => Ok((200, json!({ "data": render::user(state, state.world.me) }))),
        "GET /2/users/:id/mentions" => {
            own(state, id(0)?)?;
            let me = state.world.me;
            Ok((
                200,
                timeline(state, query, move |s, p| {
                    p.author != me && s.world.mentioned(p).contains(&me)
                })?,
            ))
        }
        "GET /2/users/:id/tweets" => {
            let whose = id(0)?;
            Ok((200, timeline(state, query, move |_, p| p.author == whose)?))
        }
        "GET /2/tweets/:id" => {
            let Some(post) = state.world.posts.get(&id(0)?) else {
                return Err(Problem::not_found("tweet", &route.ids[0]));
            };
            let mut body = json!({ "data": render::post(state, post, get("tweet.fields")) });
            let includes = render::includes(state, &[post], get("expansions"), get("tweet.fields"));
            if includes != json!({}) {
                body["includes"] = includes;
            }
            Ok((200, body))
        }
        "POST /2/tweets" => posting::create(state, body),
        "DELETE /2/tweets/:id" => {
            let id = id(0)?;
            match state.world.posts.get(&id) {
                None => Err(Problem::not_found("tweet", &route.ids[0])),
                Some(post) if post.author != state.world.me => {
                    Err(Problem::forbidden("You are not authorized to delete this Tweet.")
                        .breach("deleted another author's post"))
                }
                Some(_) => {
                    state.world.posts.remove(&id);
                    Ok((200, json!({ "data": { "deleted": true } })))
                }
            }
        }
        "POST /2/users/:id/likes" | "DELETE /2/users/:id/likes/:tweet_id" => {
            own(state, id(0)?)?;
            if !state.options.enterprise {
                return Err(Problem::forbidden("Likes are not available to self-serve apps.")
                    .breach("liked on a self-serve tier"));
            }
            let liked = route.name.starts_with("POST");
            let post = if liked { id_in(body.get("tweet_id"), "$.tweet_id")? } else { id(1)? };
            if liked {
                state.world.likes.insert(post)
            } else {
                state.world.likes.remove(&post)
            };
            Ok((200, json!({ "data": { "liked": liked } })))
        }
        "POST /2/media/upload/initialize" => state.uploads.initialize(body),
        "POST /2/media/upload/:id/append" => state.uploads.append(id(0)?, content_type, raw),
        "POST /2/media/upload/:id/finalize" => state.uploads.finalize(id(0)?),
        "GET /2/media/upload" => state
            .uploads
            .status(get("media_id").parse().map_err(|_| Problem::invalid("media_id is missing"))?),
        "POST /2/media/metadata" => state.uploads.describe(body),
        _ => Err(Problem::no_route()),
    }
}

fn own(state: &State, id: u64) -> Result<(), Problem> {
    if id == state.world.me {
        Ok(())
    } else {
        Err(Problem::forbidden("The user id must be that of the authenticated user.")
            .breach("acted for another account"))
    }
}

/// Number of newest posts that a timeline can return.
const REACH: usize = 800;

/// A page of posts, newest first.
fn timeline(
    state: &mut State,
    query: &Query,
    wanted: impl Fn(&State, &Post) -> bool,
) -> Result<Value, Problem> {
    let number = |name: &str| query.get(name).and_then(|v| v.parse::<u64>().ok());
    let forget = state.forgetful > 0;
    state.forgetful = state.forgetful.saturating_sub(1);
    let since = if forget { 0 } else { number("since_id").unwrap_or(0) };
    let below = match query.get("pagination_token") {
        Some(token) => token
            .strip_prefix("page")
            .and_then(|t| t.parse::<u64>().ok())
            .ok_or_else(|| Problem::invalid("pagination_token is not one of ours"))?,
        None => number("until_id").unwrap_or(u64::MAX),
    };
    let size =
        usize::try_from(number("max_results").unwrap_or(10)).unwrap_or(10).min(state.options.page);
    let all: Vec<&Post> = state
        .world
        .posts
        .range(..below)
        .rev()
        .map(|(_, p)| p)
        .filter(|p| p.listed && p.id > since && wanted(state, p))
        .collect();
    // "The most recent 800", whatever the request asks for (X API, user mention timeline).
    let floor = state
        .world
        .posts
        .values()
        .rev()
        .filter(|p| p.listed && wanted(state, p))
        .nth(REACH)
        .map_or(0, |p| p.id);
    let all: Vec<&Post> = all.into_iter().filter(|p| p.id > floor).collect();
    let page = &all[..all.len().min(size)];
    let get = |name: &str| query.get(name).map_or("", String::as_str);
    let mut meta = json!({ "result_count": page.len() });
    let mut body = json!({});
    if let (Some(first), Some(last)) = (page.first(), page.last()) {
        body["data"] = page.iter().map(|p| render::post(state, p, get("tweet.fields"))).collect();
        let includes = render::includes(state, page, get("expansions"), get("tweet.fields"));
        if includes != json!({}) {
            body["includes"] = includes;
        }
        meta["newest_id"] = json!(first.id.to_string());
        meta["oldest_id"] = json!(last.id.to_string());
        if all.len() > page.len() {
            meta["next_token"] = json!(format!("page{}", last.id));
        }
    }
    body["meta"] = meta;
    Ok(body)
}
