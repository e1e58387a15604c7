//! Ways to sign in besides links: passwords, an OpenID Connect provider, and access of programs that
//! they renew.

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use galatea_core::{ExposeSecret as _, SecretString};
use galatea_host::ops::{NewSecret, Operator};
use serde::{Deserialize, Serialize};
use std::{sync::Arc, time::Instant};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    app::App,
    auth::Reader,
    error::Problem,
    extract::{Json, Query},
    idempotency::ContainsSecret,
    jwt, oidc, session_cookie,
    view::SignedIn,
};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(sign_in_ways))
        .routes(routes!(sign_in_with_password, set_password))
        .routes(routes!(begin_access))
        .routes(routes!(refresh_access))
        .routes(routes!(end_access))
        .routes(routes!(begin_oidc))
        .routes(routes!(finish_oidc))
}

/// The ways to sign in.
#[derive(Debug, Serialize, ToSchema)]
struct SignInWays {
    /// A user has a password.
    password: bool,
    /// Path of the sign-in at an OpenID Connect provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    oidc: Option<&'static str>,
}

/// A name and a password.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NameAndPassword {
    #[schema(min_length = 1, max_length = 64)]
    name: String,
    #[schema(value_type = String, min_length = 1, max_length = 1024, format = Password)]
    password: SecretString,
}

/// A password to set.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SetPassword {
    /// The present one, if there is one.
    #[schema(value_type = Option<String>, max_length = 1024, format = Password)]
    current: Option<SecretString>,
    /// The new one, of at least 12 characters.
    #[schema(value_type = String, min_length = 12, max_length = 1024, format = Password)]
    password: SecretString,
}

/// A refresh token.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RefreshToken {
    #[schema(value_type = String, max_length = 256)]
    refresh: SecretString,
}

/// Access of a program. Its secrets are shown once.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Access {
    /// Sent as `Authorization: Bearer`.
    access: String,
    /// Seconds that it lasts.
    expires_in: u64,
    /// Exchanged once for the next access.
    refresh: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Returned {
    #[param(max_length = 4096)]
    code: Option<String>,
    #[param(max_length = 512)]
    state: Option<String>,
}

/// The ways to sign in besides links.
#[utoipa::path(
    get,
    path = "/api/v1/session/ways",
    operation_id = "getSignInWays",
    tag = "session",
    responses((status = 200, description = "Done", body = SignInWays), Problem)
)]
async fn sign_in_ways(State(app): State<Arc<App>>) -> Result<axum::Json<SignInWays>, Problem> {
    let oidc = app.oidc.as_ref().map(|_| "/api/v1/session/oidc");
    Ok(axum::Json(SignInWays { password: app.ops.has_passwords().await?, oidc }))
}

/// Takes a place for an attempt to sign in, of all ways together.
fn attempt(app: &App) -> Result<(), Problem> {
    if app.attempts.take(Instant::now()) {
        return Ok(());
    }
    let detail = "there were too many attempts to sign in";
    Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "GAL-AUTH-RATE", detail).fix("wait a minute"))
}

fn browser(headers: &HeaderMap) -> &str {
    headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default()
}

fn begun(app: &App, made: &NewSecret, by: Operator) -> Response {
    let mut response = axum::Json(SignedIn::from(by)).into_response();
    if let Some(cookie) = session_cookie::set(made.secret.expose_secret(), app.is_https()) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

/// Exchanges a name and a password for a session, whose cookie is set.
#[utoipa::path(
    post,
    path = "/api/v1/session/password",
    operation_id = "signInWithPassword",
    tag = "session",
    request_body = NameAndPassword,
    responses((status = 200, description = "Done", body = SignedIn), Problem)
)]
async fn sign_in_with_password(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Json(body): Json<NameAndPassword>,
) -> Result<Response, Problem> {
    super::house::from_own_page(&headers)?;
    attempt(&app)?;
    let browser = browser(&headers);
    let signed_in =
        app.ops.sign_in_with_password(&body.name, &body.password, browser, "the API").await;
    let (made, by) = signed_in?;
    app.attempts.succeeded();
    Ok(begun(&app, &made, by))
}

/// Sets the own password. Other sessions of the user end.
#[utoipa::path(
    put,
    path = "/api/v1/session/password",
    operation_id = "setPassword",
    tag = "session",
    request_body = SetPassword,
    responses((status = 204, description = "Done"), Problem)
)]
async fn set_password(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Json(body): Json<SetPassword>,
) -> Result<StatusCode, Problem> {
    attempt(&app)?;
    app.ops.set_password(&by, body.current.as_ref(), &body.password).await?;
    app.attempts.succeeded();
    Ok(StatusCode::NO_CONTENT)
}

fn access(app: &App, made: &NewSecret) -> Result<Response, Problem> {
    let family = &made.credential.name;
    let access = app.jwt.signer().sign(family).ok_or_else(|| {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "GAL-UNEXPECTED", "no token can be signed")
    })?;
    let body =
        Access { access, expires_in: jwt::LASTS, refresh: made.secret.expose_secret().to_owned() };
    let mut response = (StatusCode::CREATED, axum::Json(body)).into_response();
    response.extensions_mut().insert(ContainsSecret);
    Ok(response)
}

/// Begins the access of a program by name and password: a short access token, and a token that renews it.
#[utoipa::path(
    post,
    path = "/api/v1/access",
    operation_id = "beginAccess",
    tag = "session",
    request_body = NameAndPassword,
    responses((status = 201, description = "Done", body = Access), Problem)
)]
async fn begin_access(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Json(body): Json<NameAndPassword>,
) -> Result<Response, Problem> {
    super::house::from_own_page(&headers)?;
    attempt(&app)?;
    let (made, _) = app.ops.begin_access(&body.name, &body.password, "the API").await?;
    app.attempts.succeeded();
    access(&app, &made)
}

/// Renews access. A token renews once; its second use ends all access of its sign-in.
#[utoipa::path(
    post,
    path = "/api/v1/access/refresh",
    operation_id = "refreshAccess",
    tag = "session",
    request_body = RefreshToken,
    responses((status = 201, description = "Done", body = Access), Problem)
)]
async fn refresh_access(
    State(app): State<Arc<App>>,
    Json(body): Json<RefreshToken>,
) -> Result<Response, Problem> {
    attempt(&app)?;
    let (made, _) = app.ops.refresh(body.refresh.expose_secret(), "the API").await?;
    app.attempts.succeeded();
    access(&app, &made)
}

/// Ends access, and all that followed from its sign-in.
#[utoipa::path(
    post,
    path = "/api/v1/access/end",
    operation_id = "endAccess",
    tag = "session",
    request_body = RefreshToken,
    responses((status = 204, description = "Done"), Problem)
)]
async fn end_access(
    State(app): State<Arc<App>>,
    Json(body): Json<RefreshToken>,
) -> Result<StatusCode, Problem> {
    app.ops.end_access(body.refresh.expose_secret()).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn provider(app: &App) -> Result<&oidc::Oidc, Problem> {
    app.oidc.as_deref().ok_or_else(|| {
        let detail = "no OpenID Connect provider is set";
        Problem::new(StatusCode::NOT_FOUND, "GAL-AUTH-OIDC", detail).fix("set OIDC_ISSUER")
    })
}

/// Sends the browser to the OpenID Connect provider.
#[utoipa::path(
    get,
    path = "/api/v1/session/oidc",
    operation_id = "beginOidc",
    tag = "session",
    responses((status = 303, description = "To the provider"), Problem)
)]
async fn begin_oidc(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    let provider = provider(&app)?;
    let (address, cookie) = provider.begin(app.ops.clock().now().0).await?;
    Ok((StatusCode::SEE_OTHER, [(header::LOCATION, address)], [(header::SET_COOKIE, cookie)])
        .into_response())
}

/// The provider sends the browser back here. The session's cookie is set.
#[utoipa::path(
    get,
    path = "/api/v1/session/oidc/callback",
    operation_id = "finishOidc",
    tag = "session",
    params(Returned),
    responses((status = 303, description = "To the console"), Problem)
)]
async fn finish_oidc(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Query(returned): Query<Returned>,
) -> Result<Response, Problem> {
    let provider = provider(&app)?;
    attempt(&app)?;
    let (code, state) = (returned.code.unwrap_or_default(), returned.state.unwrap_or_default());
    let email = provider.finish(&headers, &code, &state, app.ops.clock().now().0).await?;
    let (made, _) = app.ops.sign_in_as(&email, browser(&headers), "OpenID Connect").await?;
    app.attempts.succeeded();
    let mut response = (StatusCode::SEE_OTHER, [(header::LOCATION, "/")]).into_response();
    response.headers_mut().append(header::SET_COOKIE, oidc::forget());
    if let Some(cookie) = session_cookie::set(made.secret.expose_secret(), app.is_https()) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}
