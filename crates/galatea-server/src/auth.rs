//! Who asks: the session of a browser, or the token of a program.

use axum::{
    extract::{FromRequestParts, OptionalFromRequestParts, Request, State},
    http::{HeaderMap, Method, StatusCode, header, request::Parts},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use galatea_core::{
    Error, ErrorKind, ExposeSecret as _,
    store::{CredentialKind, OperatorRole},
};
use galatea_host::ops::{Operator, digest};
use std::{convert::Infallible, sync::Arc};

use crate::{app::App, error::Problem, jwt::Jwt, presented::Presented, session_cookie};

/// Whether a token is the one of elizaOS's setting. The digests are compared, whose difference tells
/// nothing about the token.
fn is_static(app: &App, token: &str) -> bool {
    let known = app.ops.sign_in_options().static_token.as_ref();
    known.is_some_and(|known| digest(known.expose_secret()) == digest(token))
}

impl Presented {
    /// Whoever it signs in now. Streams ask again while they last.
    pub(crate) async fn identify(&self, app: &App) -> Result<Option<Operator>, Problem> {
        let secret = self.secret.expose_secret();
        if self.kind == CredentialKind::Token {
            if is_static(app, secret) {
                let name = "ELIZA_SERVER_AUTH_TOKEN".to_owned();
                return Ok(Some(
                    Operator { name, ..Operator::command_line() }.from_place("the API"),
                ));
            }
            if Jwt::is_one(secret) {
                return Ok(app.jwt.identify(&app.ops, secret, "the API").await?);
            }
        }
        Ok(app.ops.identify(secret, self.kind, "the API").await?)
    }
}

/// The token of a request: `Authorization: Bearer`, or elizaOS's `X-API-KEY`.
fn token(headers: &HeaderMap) -> Option<&str> {
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bearer = bearer.and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
    });
    bearer.or_else(|| headers.get("x-api-key")?.to_str().ok())
}

/// Finds out who asks. A session's request that changes something has to come from one of the
/// server's own pages: the browser says so in `Origin` (which the guard has compared already) or in
/// `Sec-Fetch-Site`.
pub(crate) async fn identify(
    State(app): State<Arc<App>>,
    mut request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    let presented = match (token(headers), session_cookie::read(headers)) {
        (Some(token), _) => Some(Presented { kind: CredentialKind::Token, secret: token.into() }),
        (None, Some(session)) => {
            Some(Presented { kind: CredentialKind::Session, secret: session.into() })
        }
        (None, None) => None,
    };
    let Some(presented) = presented else { return next.run(request).await };
    if presented.kind == CredentialKind::Session
        && !matches!(*request.method(), Method::GET | Method::HEAD)
        && !from_own_page(headers)
    {
        let detail = "a session's request has to come from one of the server's own pages";
        return Problem::new(StatusCode::FORBIDDEN, "GAL-ORIGIN", detail)
            .fix("programs use a token")
            .into_response();
    }
    match presented.identify(&app).await {
        Ok(Some(operator)) => {
            request.extensions_mut().insert(operator);
            request.extensions_mut().insert(presented);
        }
        Ok(None) => {}
        Err(problem) => return problem.into_response(),
    }
    next.run(request).await
}

fn from_own_page(headers: &HeaderMap) -> bool {
    headers.contains_key(header::ORIGIN)
        || headers.get("sec-fetch-site").is_some_and(|site| site == "same-origin")
}

macro_rules! roles {
    ($($(#[$doc:meta])* $name:ident: $role:ident;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name(pub(crate) Operator);

        impl<S: Send + Sync> FromRequestParts<S> for $name {
            type Rejection = Problem;

            async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
                let operator = parts.extensions.get::<Operator>().cloned().ok_or_else(Problem::nobody)?;
                operator.need_somewhere(OperatorRole::$role)?;
                Ok(Self(operator))
            }
        }
    )*};
}

roles! {
    /// Somebody who may read.
    Reader: Viewer;
    /// Somebody who may work with agents.
    Worker: Operator;
    /// Somebody who may change users and tokens.
    Owner: Owner;
}

/// Whoever asks, for interfaces with errors of their own form.
pub(crate) struct Caller(Option<Operator>);

impl Caller {
    /// Somebody who may read.
    pub(crate) fn reader(&self) -> galatea_core::Result<Operator> {
        self.with(OperatorRole::Viewer)
    }

    /// Somebody who may work with agents.
    pub(crate) fn worker(&self) -> galatea_core::Result<Operator> {
        self.with(OperatorRole::Operator)
    }

    fn with(&self, role: OperatorRole) -> galatea_core::Result<Operator> {
        let operator = self.0.clone().ok_or_else(|| {
            Error::new(ErrorKind::Unauthorized, "nobody is signed in")
                .with_code("GAL-AUTH-NONE")
                .with_fix("send a token of this server as the API key")
        })?;
        operator.need(role)?;
        Ok(operator)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(parts.extensions.get::<Operator>().cloned()))
    }
}

impl<S: Send + Sync> OptionalFromRequestParts<S> for Presented {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, Infallible> {
        Ok(parts.extensions.get::<Self>().cloned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_found_where_programs_put_them() {
        let of = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            token(&headers).map(str::to_owned)
        };
        assert_eq!(of("authorization", "Bearer abc").as_deref(), Some("abc"));
        assert_eq!(of("authorization", "bearer  abc").as_deref(), Some("abc"));
        assert_eq!(of("x-api-key", "abc").as_deref(), Some("abc"));
        assert_eq!(of("authorization", "Basic abc"), None);
        assert_eq!(of("authorization", "Bearer"), None);
    }
}
