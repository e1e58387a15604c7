//! The WebSocket of a shard: frames in and out, nothing of what they mean.

use futures::{SinkExt, StreamExt};
use galatea_core::{Error, ErrorKind, Result};
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async_with_config,
    tungstenite::{
        Message,
        protocol::{CloseFrame, WebSocketConfig, frame::coding::CloseCode},
    },
};
use url::Url;

use crate::error::codes;

/// Longest wait for a connection, TLS and greeting included.
const CONNECT: Duration = Duration::from_secs(10);
/// Longest event: a guild of many thousand channels and members stays below.
const MAX_FRAME: usize = 64 << 20;
/// Says that we mean to come back; 1000 and 1001 would end the session (Discord, "Initiating a Disconnect").
const COME_BACK: u16 = 4000;

/// One gateway payload.
#[derive(Debug, Deserialize)]
pub(crate) struct Frame {
    pub(crate) op: u8,
    #[serde(default)]
    pub(crate) d: Value,
    #[serde(default)]
    pub(crate) s: Option<u64>,
    #[serde(default)]
    pub(crate) t: Option<String>,
}

/// What came.
#[derive(Debug)]
pub(crate) enum Got {
    Frame(Frame),
    /// The connection is over; Discord may have said why.
    Closed(Option<u16>),
}

/// A connection.
pub(crate) struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    /// Connects.
    ///
    /// # Errors
    /// `Unavailable` or `Timeout`, naming the host.
    pub(crate) async fn connect(address: &Url) -> Result<Self> {
        let mut address = address.clone();
        if address.path().is_empty() {
            address.set_path("/");
        }
        // Compression is not asked for: it saves traffic where there are many guilds, and costs a window per shard.
        address.set_query(Some("v=10&encoding=json"));
        let place = address.host_str().unwrap_or("unknown host").to_owned();
        let config = WebSocketConfig::default().max_message_size(Some(MAX_FRAME)).max_frame_size(Some(MAX_FRAME));
        let connecting = connect_async_with_config(address.as_str(), Some(config), true);
        let failed = |kind, why: &'static str| Error::new(kind, why).with_code(codes::CONNECT).with("host", place.clone());
        match tokio::time::timeout(CONNECT, connecting).await {
            Ok(Ok((stream, _))) => Ok(Self(stream)),
            Ok(Err(error)) => Err(failed(ErrorKind::Unavailable, "Discord's gateway cannot be reached").with("cause", brief(&error))),
            Err(_) => Err(failed(ErrorKind::Timeout, "Discord's gateway did not answer in time")),
        }
    }

    /// The next payload.
    pub(crate) async fn next(&mut self) -> Got {
        loop {
            let text = match self.0.next().await {
                Some(Ok(Message::Text(text))) => text,
                Some(Ok(Message::Close(frame))) => return Got::Closed(frame.map(|f| f.code.into())),
                Some(Ok(_)) => continue,
                Some(Err(_)) | None => return Got::Closed(None),
            };
            match serde_json::from_str(&text) {
                Ok(frame) => return Got::Frame(frame),
                Err(_) => {
                    tracing::warn!(bytes = text.len(), "the gateway sent what is no payload; connecting anew");
                    return Got::Closed(None);
                }
            }
        }
    }

    /// Sends a payload; false when the connection is over.
    pub(crate) async fn send(&mut self, op: u8, data: &Value) -> bool {
        let text = serde_json::json!({ "op": op, "d": data }).to_string();
        matches!(tokio::time::timeout(CONNECT, self.0.send(Message::text(text))).await, Ok(Ok(())))
    }

    /// Leaves so that the session goes on.
    pub(crate) async fn leave(mut self) {
        let frame = CloseFrame { code: CloseCode::from(COME_BACK), reason: "".into() };
        let _ = tokio::time::timeout(Duration::from_secs(1), self.0.close(Some(frame))).await;
    }
}

/// What happened, without addresses.
fn brief(error: &tokio_tungstenite::tungstenite::Error) -> String {
    use tokio_tungstenite::tungstenite::Error as Ws;
    match error {
        Ws::Io(error) => error.kind().to_string(),
        Ws::Http(response) => format!("status {}", response.status().as_u16()),
        Ws::Tls(_) => "TLS".to_owned(),
        Ws::Url(_) => "not an address".to_owned(),
        _ => "not a WebSocket".to_owned(),
    }
}
