//! Errors as problem details (RFC 9457) with the codes of `galatea explain`.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use galatea_core::{Error, ErrorKind};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::{
    IntoResponses, PartialSchema as _, ToSchema,
    openapi::{ContentBuilder, RefOr, Response as Documented, ResponseBuilder},
};

/// A failed request.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// Name of the kind of problem: `urn:galatea:` and the code.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// The status in words.
    pub(crate) title: String,
    /// The HTTP status.
    pub(crate) status: u16,
    /// What happened.
    pub(crate) detail: String,
    /// Stable code, explained by `galatea explain CODE`.
    pub(crate) code: String,
    /// The next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fix: Option<String>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, code: &str, detail: impl Into<String>) -> Self {
        Self {
            kind: format!("urn:galatea:{code}"),
            title: status.canonical_reason().unwrap_or("Error").to_owned(),
            status: status.as_u16(),
            detail: detail.into(),
            code: code.to_owned(),
            fix: None,
        }
    }

    pub(crate) fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }

    /// No session and no token, or one that has ended.
    pub(crate) fn nobody() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "GAL-AUTH-NONE", "nobody is signed in")
            .fix("sign in with the link that `galatea login` prints, or send a token as `Authorization: Bearer`")
    }

    /// An input that cannot be read.
    pub(crate) fn input(status: StatusCode, detail: impl Into<String>) -> Self {
        Self::new(status, "GAL-API-INPUT", detail).fix("see /docs for what the API takes")
    }
}

fn status(kind: ErrorKind) -> StatusCode {
    match kind {
        ErrorKind::Invalid => StatusCode::BAD_REQUEST,
        ErrorKind::TooLong => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorKind::NotFound => StatusCode::NOT_FOUND,
        ErrorKind::Unauthorized => StatusCode::UNAUTHORIZED,
        ErrorKind::Forbidden => StatusCode::FORBIDDEN,
        ErrorKind::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        ErrorKind::Unavailable | ErrorKind::Exhausted => StatusCode::SERVICE_UNAVAILABLE,
        ErrorKind::Timeout => StatusCode::GATEWAY_TIMEOUT,
        ErrorKind::Unsupported | ErrorKind::Conflict => StatusCode::CONFLICT,
        ErrorKind::Unexpected => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let status = status(error.kind());
        if status.is_server_error() {
            tracing::warn!(error = %error.report(), "a request to the API failed");
        }
        let code = error.code().unwrap_or(match error.kind() {
            ErrorKind::NotFound => "GAL-API-ROUTE",
            ErrorKind::Invalid => "GAL-API-INPUT",
            _ => "GAL-UNEXPECTED",
        });
        let problem = Self::new(status, code, error.to_string());
        match error.fix() {
            Some(fix) => problem.fix(fix),
            None => problem,
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_string(&self).unwrap_or_default();
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        let json = HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, json);
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if status == StatusCode::TOO_MANY_REQUESTS {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("60"));
        }
        response
    }
}

/// The problems that every operation may answer with.
impl IntoResponses for Problem {
    fn responses() -> BTreeMap<String, RefOr<Documented>> {
        let statuses: [(&str, &str); 11] = [
            ("400", "A parameter or the body is wrong"),
            ("401", "Nobody is signed in"),
            ("403", "The role is not enough, or the page is a foreign one"),
            ("404", "There is no such thing"),
            ("405", "There is no such method"),
            ("409", "The state of the thing does not allow it"),
            ("413", "The body is too long"),
            ("415", "The body is not JSON"),
            ("422", "The body does not fit"),
            ("429", "Too many attempts"),
            ("503", "The database is away, or there is no place for another stream"),
        ];
        let content = || ContentBuilder::new().schema(Some(Problem::schema_reference())).build();
        let response = |text: &str| {
            let built = ResponseBuilder::new().description(text);
            RefOr::T(built.content("application/problem+json", content()).build())
        };
        statuses.iter().map(|(code, text)| ((*code).to_owned(), response(text))).collect()
    }
}

impl Problem {
    fn schema_reference() -> RefOr<utoipa::openapi::Schema> {
        let _ = Self::schema;
        RefOr::Ref(utoipa::openapi::Ref::from_schema_name("Problem"))
    }
}
