//! The console: the page for operators. Its built files are part of the program
//! (`clients/console/dist`), so nobody needs Node to run it.

use axum::{
    Router,
    http::header,
    response::{IntoResponse as _, Response},
    routing::get,
};
use std::sync::Arc;

use crate::app::App;

/// Address, type and bytes of every file. The build of the console writes the list.
const FILES: &[(&str, &str, &[u8])] = include!("../../../../clients/console/dist/files.in");
/// Addresses that the page itself reads: its views, each with what may follow.
const VIEWS: [&str; 13] = [
    "traces",
    "chat",
    "agents",
    "memory",
    "knowledge",
    "delivery",
    "connectors",
    "usage",
    "settings",
    "cluster",
    "users",
    "login",
    "design",
];
/// Names with a hash never change their content.
const HASHED: &str = "public, max-age=31536000, immutable";
/// Everything else is asked for again.
const ASKED: &str = "no-cache";

/// The page and its files. Another address below `/assets/` is not found rather than the page: a
/// script that is answered with a page leaves a blank window.
pub(super) fn routes() -> Router<Arc<App>> {
    let mut router = Router::new();
    for &(path, kind, bytes) in FILES {
        let kept = if path.starts_with("/assets/") { HASHED } else { ASKED };
        let answer = move || async move { file(kind, bytes, kept) };
        if path == "/index.html" {
            router = router.route("/", get(answer));
            for view in VIEWS {
                router = router.route(&format!("/{view}"), get(answer));
                router = router.route(&format!("/{view}/{{*rest}}"), get(answer));
            }
        } else {
            router = router.route(path, get(answer));
        }
    }
    router
}

fn file(kind: &'static str, bytes: &'static [u8], kept: &'static str) -> Response {
    ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, kept)], bytes).into_response()
}
