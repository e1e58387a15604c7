//! Users, sessions, tokens, sign-in.

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use galatea_core::{AgentId, CredentialId, ExposeSecret as _, UserId};
use serde::Deserialize;
use std::{collections::BTreeMap, sync::Arc, time::Instant};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use crate::{
    app::App,
    auth::{Owner, Reader},
    error::Problem,
    extract::{Json, Path},
    idempotency::ContainsSecret,
    session_cookie,
    view::{
        NewLink, NewToken, Session, SessionList, SignedIn, Token, TokenList, UserList, UserView,
    },
};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(sign_in, signed_in, sign_out))
        .routes(routes!(list_sessions))
        .routes(routes!(end_session))
        .routes(routes!(list_tokens, make_token))
        .routes(routes!(revoke_token))
        .routes(routes!(list_users, invite_user))
        .routes(routes!(change_user, remove_user))
        .routes(routes!(reset_user))
}

/// A login link.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SignIn {
    /// The secret after the `#` of a login link.
    #[schema(max_length = 256)]
    link: String,
}

/// A token to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct MakeToken {
    /// Its purpose, for people.
    #[schema(min_length = 1, max_length = 64)]
    name: String,
    /// The most that it may do: `viewer`, `operator` or `owner`.
    #[schema(pattern = "^(viewer|operator|owner)$")]
    role: String,
    /// Days until it ends; absent: until it is revoked.
    #[schema(minimum = 1, maximum = 3650)]
    days: Option<u16>,
}

/// A user to add.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct InviteUser {
    /// Its name, unique.
    #[schema(min_length = 1, max_length = 64)]
    name: String,
    /// `viewer`, `operator` or `owner`.
    #[schema(pattern = "^(viewer|operator|owner)$")]
    role: String,
}

/// What to change of a user; what is absent stays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ChangeUser {
    /// `viewer`, `operator` or `owner`.
    #[schema(pattern = "^(viewer|operator|owner)$")]
    role: Option<String>,
    /// It may not sign in.
    disabled: Option<bool>,
    /// Roles for single agents, by their ids, in place of those before.
    #[schema(value_type = Option<Object>)]
    agents: Option<BTreeMap<Uuid, String>>,
}

fn role(text: &str) -> Result<galatea_core::store::OperatorRole, Problem> {
    Ok(text.parse()?)
}

/// Refuses to sign in for a page of another server.
pub(super) fn from_own_page(headers: &HeaderMap) -> Result<(), Problem> {
    let own = headers.contains_key(header::ORIGIN)
        || headers.get("sec-fetch-site").is_none_or(|site| site == "same-origin");
    if own {
        return Ok(());
    }
    let detail = "a page of another server may not sign in here";
    Err(Problem::new(StatusCode::FORBIDDEN, "GAL-ORIGIN", detail))
}

/// Exchanges a login link for a session, whose cookie is set.
#[utoipa::path(
    post,
    path = "/api/v1/session",
    operation_id = "signIn",
    tag = "session",
    request_body = SignIn,
    responses((status = 200, description = "Done", body = SignedIn), Problem)
)]
async fn sign_in(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Json(body): Json<SignIn>,
) -> Result<Response, Problem> {
    from_own_page(&headers)?;
    if !app.attempts.take(Instant::now()) {
        let detail = "there were too many attempts to sign in";
        return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "GAL-AUTH-RATE", detail)
            .fix("wait a minute"));
    }
    let browser = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
    let (made, by) = app.ops.sign_in(&body.link, browser.unwrap_or_default(), "the API").await?;
    app.attempts.succeeded();
    let mut response = axum::Json(SignedIn::from(by)).into_response();
    if let Some(cookie) = session_cookie::set(made.secret.expose_secret(), app.is_https()) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// Who is signed in.
#[utoipa::path(
    get,
    path = "/api/v1/session",
    operation_id = "getSession",
    tag = "session",
    responses((status = 200, description = "Done", body = SignedIn), Problem)
)]
async fn signed_in(Reader(by): Reader) -> axum::Json<SignedIn> {
    axum::Json(by.into())
}

/// Ends the session of this request.
#[utoipa::path(
    delete,
    path = "/api/v1/session",
    operation_id = "signOut",
    tag = "session",
    responses((status = 204, description = "Done"), Problem)
)]
async fn sign_out(State(app): State<Arc<App>>, Reader(by): Reader) -> Result<Response, Problem> {
    app.ops.sign_out(&by).await?;
    let mut response = StatusCode::NO_CONTENT.into_response();
    response.headers_mut().insert(header::SET_COOKIE, session_cookie::clear());
    Ok(response)
}

/// Sessions: an owner sees all, everybody else their own.
#[utoipa::path(
    get,
    path = "/api/v1/sessions",
    operation_id = "listSessions",
    tag = "session",
    responses((status = 200, description = "Done", body = SessionList), Problem)
)]
async fn list_sessions(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
) -> Result<axum::Json<SessionList>, Problem> {
    let all = app.ops.sessions(&by).await?;
    let items = all.into_iter().map(|session| Session::of(session, &by)).collect();
    Ok(axum::Json(SessionList { items, next: None }))
}

/// Ends a session: an owner any, everybody else their own.
#[utoipa::path(
    delete,
    path = "/api/v1/sessions/{id}",
    operation_id = "endSession",
    tag = "session",
    params(("id" = Uuid, Path)),
    responses((status = 204, description = "Done"), Problem)
)]
async fn end_session(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Path(id): Path<Uuid>,
) -> Result<StatusCode, Problem> {
    app.ops.end_credential(&by, CredentialId(id)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Revokes a token: an owner any, everybody else their own.
#[utoipa::path(
    delete,
    path = "/api/v1/tokens/{id}",
    operation_id = "revokeToken",
    tag = "tokens",
    params(("id" = Uuid, Path)),
    responses((status = 204, description = "Done"), Problem)
)]
async fn revoke_token(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Path(id): Path<Uuid>,
) -> Result<StatusCode, Problem> {
    app.ops.end_credential(&by, CredentialId(id)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Tokens: an owner sees all, everybody else their own.
#[utoipa::path(
    get,
    path = "/api/v1/tokens",
    operation_id = "listTokens",
    tag = "tokens",
    responses((status = 200, description = "Done", body = TokenList), Problem)
)]
async fn list_tokens(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
) -> Result<axum::Json<TokenList>, Problem> {
    let items = app.ops.tokens(&by).await?.into_iter().map(Token::from).collect();
    Ok(axum::Json(TokenList { items, next: None }))
}

/// Makes a token. Its secret is shown once.
#[utoipa::path(
    post,
    path = "/api/v1/tokens",
    operation_id = "makeToken",
    tag = "tokens",
    request_body = MakeToken,
    responses((status = 201, description = "Done", body = NewToken), Problem)
)]
async fn make_token(
    State(app): State<Arc<App>>,
    Owner(by): Owner,
    Json(body): Json<MakeToken>,
) -> Result<Response, Problem> {
    if body.days.is_some_and(|days| !(1..=3650).contains(&days)) {
        return Err(Problem::input(StatusCode::BAD_REQUEST, "days: 1 to 3650"));
    }
    let made = app.ops.make_token(&by, &body.name, role(&body.role)?, body.days).await?;
    Ok(secret((StatusCode::CREATED, axum::Json(NewToken::from(made)))))
}

/// Every user.
#[utoipa::path(
    get,
    path = "/api/v1/users",
    operation_id = "listUsers",
    tag = "users",
    responses((status = 200, description = "Done", body = UserList), Problem)
)]
async fn list_users(
    State(app): State<Arc<App>>,
    Owner(by): Owner,
) -> Result<axum::Json<UserList>, Problem> {
    let items = app.ops.users(&by).await?.into_iter().map(UserView::from).collect();
    Ok(axum::Json(UserList { items, next: None }))
}

/// Adds a user, with a link that signs them in once. The link is shown once.
#[utoipa::path(
    post,
    path = "/api/v1/users",
    operation_id = "inviteUser",
    tag = "users",
    request_body = InviteUser,
    responses((status = 201, description = "Done", body = NewLink), Problem)
)]
async fn invite_user(
    State(app): State<Arc<App>>,
    Owner(by): Owner,
    Json(body): Json<InviteUser>,
) -> Result<Response, Problem> {
    let (user, made) = app.ops.invite(&by, &body.name, role(&body.role)?).await?;
    Ok(secret((StatusCode::CREATED, axum::Json(NewLink::of(user, &made)))))
}

/// Changes what a user may do.
#[utoipa::path(
    patch,
    path = "/api/v1/users/{id}",
    operation_id = "changeUser",
    tag = "users",
    params(("id" = Uuid, Path)),
    request_body = ChangeUser,
    responses((status = 200, description = "Done", body = UserView), Problem)
)]
async fn change_user(
    State(app): State<Arc<App>>,
    Owner(by): Owner,
    Path(id): Path<Uuid>,
    Json(body): Json<ChangeUser>,
) -> Result<axum::Json<UserView>, Problem> {
    let role = body.role.as_deref().map(role).transpose()?;
    let own = |(agent, text): (Uuid, String)| Ok((AgentId(agent), self::role(&text)?));
    let agents = body.agents.map(|all| all.into_iter().map(own).collect::<Result<_, Problem>>());
    let agents = agents.transpose()?;
    let user = app.ops.change_user(&by, UserId(id), role, body.disabled, agents).await?;
    Ok(axum::Json(user.into()))
}

/// Removes a user with their sessions and tokens.
#[utoipa::path(
    delete,
    path = "/api/v1/users/{id}",
    operation_id = "removeUser",
    tag = "users",
    params(("id" = Uuid, Path)),
    responses((status = 204, description = "Done"), Problem)
)]
async fn remove_user(
    State(app): State<Arc<App>>,
    Owner(by): Owner,
    Path(id): Path<Uuid>,
) -> Result<StatusCode, Problem> {
    app.ops.remove_user(&by, UserId(id)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Ends the sessions of a user and makes another link for them. The link is shown once.
#[utoipa::path(
    post,
    path = "/api/v1/users/{id}/reset",
    operation_id = "resetUser",
    tag = "users",
    params(("id" = Uuid, Path)),
    responses((status = 201, description = "Done", body = NewLink), Problem)
)]
async fn reset_user(
    State(app): State<Arc<App>>,
    Owner(by): Owner,
    Path(id): Path<Uuid>,
) -> Result<Response, Problem> {
    let (user, made) = app.ops.reset(&by, UserId(id)).await?;
    Ok(secret((StatusCode::CREATED, axum::Json(NewLink::of(user, &made)))))
}

/// An answer that is never kept for a repeated request.
fn secret(answer: impl axum::response::IntoResponse) -> Response {
    let mut response = answer.into_response();
    response.extensions_mut().insert(ContainsSecret);
    response
}
