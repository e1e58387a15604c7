//! The description of the API as a page. Its files are part of the program; none comes from elsewhere.

use axum::{
    Router,
    http::header,
    response::{IntoResponse as _, Response},
    routing::get,
};
use bytes::Bytes;
use std::sync::Arc;

use crate::app::App;

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

fn file(kind: &'static str, text: &'static str) -> Response {
    ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")], text).into_response()
}

pub(super) fn routes(document: String) -> Router<Arc<App>> {
    let document = Bytes::from(document);
    let described = async move || {
        let headers =
            [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-cache")];
        (headers, document.clone())
    };
    let docs = || async { file(HTML, include_str!("../../assets/docs.html")) };
    let docs_script = || async { file(SCRIPT, include_str!("../../assets/docs.js")) };
    let style = || async { file(STYLE, include_str!("../../assets/page.css")) };
    Router::new()
        .route("/docs", get(docs))
        .route("/openapi.json", get(described))
        .route("/assets/docs.js", get(docs_script))
        .route("/assets/page.css", get(style))
}
