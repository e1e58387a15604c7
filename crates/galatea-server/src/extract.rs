//! Reads paths, queries and bodies, and refuses what cannot be read with problem details.

use axum::{
    body::Bytes,
    extract::{FromRequest, FromRequestParts, OptionalFromRequest, Request},
    http::{StatusCode, header, request::Parts},
};
use galatea_core::store::Place;
use serde::de::DeserializeOwned;

use crate::error::Problem;

/// A body of JSON.
pub(crate) struct Json<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let read = <axum::Json<T> as FromRequest<S>>::from_request(request, state).await;
        read.map(|axum::Json(value)| Self(value))
            .map_err(|refused| Problem::input(refused.status(), refused.body_text()))
    }
}

/// A body that may be left out.
impl<S: Send + Sync, T: DeserializeOwned> OptionalFromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Option<Self>, Problem> {
        let empty = request.headers().get(header::CONTENT_TYPE).is_none();
        if empty {
            return Ok(None);
        }
        <Self as FromRequest<S>>::from_request(request, state).await.map(Some)
    }
}

/// A body as it is.
pub(crate) struct Raw(pub(crate) Bytes);

impl<S: Send + Sync> FromRequest<S> for Raw {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let read = <Bytes as FromRequest<S>>::from_request(request, state).await;
        read.map(Self).map_err(|refused| Problem::input(refused.status(), refused.body_text()))
    }
}

/// Parameters of the query.
pub(crate) struct Query<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read = axum::extract::Query::<T>::from_request_parts(parts, state).await;
        read.map(|axum::extract::Query(value)| Self(value))
            .map_err(|refused| Problem::input(refused.status(), refused.body_text()))
    }
}

/// Parameters of the path. One that cannot be an id names nothing.
pub(crate) struct Path<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        read.map(|axum::extract::Path(value)| Self(value))
            .map_err(|refused| Problem::input(StatusCode::BAD_REQUEST, refused.body_text()))
    }
}

/// Rows of a page where the request names no number.
const USUAL: u32 = 50;
/// Most rows of a page.
pub(crate) const MOST: u32 = 200;

/// The number of rows of a page.
pub(crate) fn limit(asked: Option<u32>) -> Result<u32, Problem> {
    match asked {
        None => Ok(USUAL),
        Some(limit @ 1..=MOST) => Ok(limit),
        Some(_) => Err(Problem::input(StatusCode::BAD_REQUEST, "limit: 1 to 200 rows")),
    }
}

/// The place from which a list goes on.
pub(crate) fn place(before: Option<&str>) -> Result<Place, Problem> {
    before.map_or(Ok(Place::NEWEST), |text| text.parse::<Place>().map_err(Problem::from))
}
