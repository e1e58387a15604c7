//! An agent behind HTTP: `POST /ask/NAME` with the question as the body. The program owns the
//! listener and the signals.

use axum::{
    Router,
    extract::{Path, State},
    http::StatusCode,
    routing::post,
};
use galatea_core::{Error, Result};
use galatea_host::{Agent, Galatea, Platforms};
use std::time::Duration;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<()> {
    let listening = |cause| Error::unexpected("the port is taken").with_source(cause);
    let listener = TcpListener::bind("127.0.0.1:8080").await.map_err(listening)?;
    let galatea = Galatea::builder().platforms(Platforms::None).build().await?;
    let nova = galatea.add_agent("nova.json").await?;
    let stop = async { drop(tokio::signal::ctrl_c().await) };
    axum::serve(listener, router(nova)).with_graceful_shutdown(stop).await.map_err(listening)?;
    galatea.shutdown(Duration::from_secs(10)).await;
    Ok(())
}

/// The routes of an agent.
pub(crate) fn router(nova: Agent) -> Router {
    Router::new().route("/ask/{name}", post(ask)).with_state(nova)
}

async fn ask(
    State(nova): State<Agent>,
    Path(name): Path<String>,
    question: String,
) -> std::result::Result<String, (StatusCode, String)> {
    let failed = |error: Error| (StatusCode::SERVICE_UNAVAILABLE, error.to_string());
    nova.ask(name, question).await.map_err(failed)
}
