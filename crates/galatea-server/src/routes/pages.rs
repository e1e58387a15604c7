//! Pages for browsers: sign-in, and the description of the API. Their files are part of the program; none
//! comes from elsewhere.

use axum::{
    Router,
    http::header,
    response::{IntoResponse as _, Redirect, Response},
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
    let login = || async { file(HTML, include_str!("../../assets/login.html")) };
    let docs = || async { file(HTML, include_str!("../../assets/docs.html")) };
    let login_script = || async { file(SCRIPT, include_str!("../../assets/login.js")) };
    let docs_script = || async { file(SCRIPT, include_str!("../../assets/docs.js")) };
    let style = || async { file(STYLE, include_str!("../../assets/page.css")) };
    Router::new()
        .route("/", get(|| async { Redirect::temporary("/docs") }))
        .route("/login", get(login))
        .route("/docs", get(docs))
        .route("/openapi.json", get(described))
        .route("/assets/login.js", get(login_script))
        .route("/assets/docs.js", get(docs_script))
        .route("/assets/page.css", get(style))
}
