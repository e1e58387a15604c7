//! The console: its page under the addresses of its views, and its files.

use axum::http::StatusCode;

use crate::support::{Server, ask};

/// Addresses of the files that the page loads first.
fn loaded(page: &str) -> Vec<String> {
    let parts = page.split('"').filter(|part| part.starts_with("/assets/"));
    parts.map(str::to_owned).collect()
}

#[tokio::test]
async fn the_page_is_served_under_the_address_of_each_view() {
    let server = Server::new().await;
    let page = server.answer(ask("GET", "/")).await;
    assert_eq!(page.status, StatusCode::OK);
    assert_eq!(page.headers["content-type"], "text/html; charset=utf-8");
    assert_eq!(page.headers["cache-control"], "no-cache");
    for path in ["/login", "/traces/01JX", "/chat/eliza/room", "/settings?tab=health", "/users"] {
        let answer = server.answer(ask("GET", path)).await;
        assert_eq!((answer.status, &answer.text), (StatusCode::OK, &page.text), "{path}");
    }
}

#[tokio::test]
async fn files_of_the_page_have_their_type_and_may_be_kept() {
    let server = Server::new().await;
    let page = server.answer(ask("GET", "/")).await;
    let files = loaded(&page.text);
    assert!(files.iter().any(|file| file.ends_with(".js")), "{files:?}");
    assert!(files.iter().any(|file| file.ends_with(".css")), "{files:?}");
    for file in files {
        let answer = server.answer(ask("GET", &file)).await;
        assert_eq!(answer.status, StatusCode::OK, "{file}");
        let kind = if file.ends_with(".js") { "text/javascript" } else { "text/css" };
        assert!(answer.headers["content-type"].to_str().unwrap().starts_with(kind), "{file}");
        assert!(answer.headers["cache-control"].to_str().unwrap().contains("immutable"), "{file}");
    }
}

#[tokio::test]
async fn an_unknown_file_is_not_the_page() {
    let server = Server::new().await;
    for path in ["/assets/gone.js", "/nowhere", "/assets/../Cargo.toml"] {
        let answer = server.answer(ask("GET", path).header("accept", "text/html")).await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (StatusCode::NOT_FOUND, "GAL-API-ROUTE"),
            "{path}"
        );
    }
}
