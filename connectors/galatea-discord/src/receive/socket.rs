//! The WebSocket of a shard. It sends and receives payloads without interpreting them.

use futures::{SinkExt, StreamExt};
use galatea_core::{Error, ErrorKind, Result};
use galatea_http::{Tunnels, json};
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, client_async_tls_with_config,
    tungstenite::{
        Error as Ws, Message,
        protocol::{CloseFrame, WebSocketConfig, frame::coding::CloseCode},
    },
};
use url::Url;

use crate::error::codes;

/// Longest wait for a connection, including TLS and the WebSocket handshake, and for a payload to
/// be sent.
const CONNECT: Duration = Duration::from_secs(10);
/// Largest payload in bytes; a guild with many thousand channels and members stays below it.
const MAX_FRAME: usize = 64 << 20;
/// Close code that keeps the session for a resume; 1000 and 1001 would end it (Discord, "Initiating
/// a Disconnect").
const COME_BACK: u16 = 4000;

/// A gateway payload: opcode, data, sequence number and event name.
#[derive(Debug, Deserialize)]
pub(crate) struct Frame {
    pub(crate) op: u64,
    #[serde(default)]
    pub(crate) d: Value,
    #[serde(default)]
    pub(crate) s: Option<u64>,
    #[serde(default)]
    pub(crate) t: Option<String>,
}

/// The result of reading from the socket.
#[derive(Debug)]
pub(crate) enum Got {
    Frame(Frame),
    /// A malformed payload of this many bytes. The connection goes on.
    Unreadable(usize),
    /// A payload that is too large or not text. The connection is over, and the same payload comes
    /// again after a resume.
    Poison,
    /// The connection is over, with Discord's close code if it sent one.
    Closed(Option<u16>),
}

/// Parses a payload. A malformed field is lost alone; `None` if the opcode cannot be read.
pub(crate) fn frame(text: &[u8]) -> Option<Frame> {
    if let Ok(frame) = json::read(text) {
        return Some(frame);
    }
    let field = |name: &str| json::member(text, name);
    Some(Frame {
        op: json::read(field("op")?).ok()?,
        d: field("d").and_then(|d| json::read(d).ok()).unwrap_or_default(),
        s: field("s").and_then(|s| json::read(s).ok()),
        t: field("t").and_then(|t| json::read(t).ok()),
    })
}

/// An open WebSocket connection.
pub(crate) struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    /// Connects, through a proxy if one is configured for this address.
    ///
    /// # Errors
    /// `Unavailable` or `Timeout`, naming the host.
    pub(crate) async fn connect(address: &Url, tunnels: &Tunnels) -> Result<Self> {
        let mut address = address.clone();
        if address.path().is_empty() {
            address.set_path("/");
        }
        // No compression: it would save traffic with many guilds, but costs the memory of a window
        // per shard.
        address.set_query(Some("v=10&encoding=json"));
        let place = address.host_str().unwrap_or("unknown host").to_owned();
        let config = WebSocketConfig::default()
            .max_message_size(Some(MAX_FRAME))
            .max_frame_size(Some(MAX_FRAME));
        let failed = |kind, why: &'static str| {
            Error::new(kind, why).with_code(codes::CONNECT).with("host", place.clone())
        };
        let connecting = async {
            let stream =
                tunnels.connect(&address).await.map_err(|e| e.with_code(codes::CONNECT))?;
            // Heartbeats are small and must not wait until more data fills a packet.
            let _ = stream.set_nodelay(true);
            let begun =
                client_async_tls_with_config(address.as_str(), stream, Some(config), None).await;
            begun.map_err(|e| {
                failed(ErrorKind::Unavailable, "Discord's gateway cannot be reached")
                    .with("cause", brief(&e))
            })
        };
        match tokio::time::timeout(CONNECT, connecting).await {
            Ok(Ok((stream, _))) => Ok(Self(stream)),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(failed(ErrorKind::Timeout, "Discord's gateway did not answer in time")),
        }
    }

    /// Waits for the next payload.
    pub(crate) async fn next(&mut self) -> Got {
        loop {
            let text = match self.0.next().await {
                Some(Ok(Message::Text(text))) => text,
                Some(Ok(Message::Close(frame))) => {
                    return Got::Closed(frame.map(|f| f.code.into()));
                }
                Some(Ok(Message::Binary(bytes))) => return Got::Unreadable(bytes.len()),
                Some(Ok(_)) => continue,
                Some(Err(Ws::Capacity(_) | Ws::Utf8(_))) => return Got::Poison,
                Some(Err(_)) | None => return Got::Closed(None),
            };
            return frame(text.as_bytes()).map_or(Got::Unreadable(text.len()), Got::Frame);
        }
    }

    /// Sends a payload; false when the connection is over.
    pub(crate) async fn send(&mut self, op: u64, data: &Value) -> bool {
        let text = serde_json::json!({ "op": op, "d": data }).to_string();
        matches!(tokio::time::timeout(CONNECT, self.0.send(Message::text(text))).await, Ok(Ok(())))
    }

    /// Closes the connection so that the session can be resumed.
    pub(crate) async fn leave(mut self) {
        let frame = CloseFrame { code: CloseCode::from(COME_BACK), reason: "".into() };
        let _ = tokio::time::timeout(Duration::from_secs(1), self.0.close(Some(frame))).await;
    }
}

/// Describes an error without naming addresses.
fn brief(error: &Ws) -> String {
    match error {
        Ws::Io(error) => error.kind().to_string(),
        Ws::Http(response) => format!("status {}", response.status().as_u16()),
        Ws::Tls(_) => "TLS".to_owned(),
        Ws::Url(_) => "not an address".to_owned(),
        _ => "not a WebSocket".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
        net::TcpListener,
    };

    /// A gateway that accepts one connection and sends HELLO.
    async fn gateway() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut socket = tokio_tungstenite::accept_async(stream).await.unwrap();
            socket
                .send(Message::text(r#"{"op":10,"d":{"heartbeat_interval":1000}}"#))
                .await
                .unwrap();
            let _ = socket.next().await;
        });
        address
    }

    /// A proxy that answers CONNECT and leads to `target`, whatever host is requested; without a
    /// target it refuses. The task returns the request.
    async fn proxy(target: Option<SocketAddr>) -> (SocketAddr, tokio::task::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            let Some(target) = target else {
                stream.write_all(b"HTTP/1.1 403 Forbidden\r\n\r\n").await.unwrap();
                return String::from_utf8(head).unwrap();
            };
            let mut there = TcpStream::connect(target).await.unwrap();
            stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.unwrap();
            tokio::spawn(async move { copy_bidirectional(&mut stream, &mut there).await });
            String::from_utf8(head).unwrap()
        });
        (address, asked)
    }

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn a_field_that_cannot_be_read_costs_only_itself() {
        let read = |text: &str| frame(text.as_bytes());
        let half =
            read(r#"{"op":0,"s":7,"t":"MESSAGE_CREATE","d":{"content":"a\ud83d"}}"#).unwrap();
        assert_eq!((half.op, half.s, half.d["content"].as_str()), (0, Some(7), Some("a\u{FFFD}")));
        let deep = format!(
            r#"{{"op":0,"s":8,"t":"X","d":{{"id":"1","deep":{}{}}}}}"#,
            "[".repeat(5_000),
            "]".repeat(5_000)
        );
        let deep = read(&deep).unwrap();
        assert_eq!((deep.s, deep.d["id"].as_str()), (Some(8), Some("1")));
        let odd = read(r#"{"op":0,"s":-9,"t":["X"],"d":1e999}"#).unwrap();
        assert_eq!((odd.op, odd.s, odd.t, odd.d), (0, None, None, Value::Null));
        assert_eq!(read(r#"{"op":99999999999}"#).unwrap().op, 99_999_999_999);
        for nothing in ["", "{", "[]", "nonsense", r#"{"op":"0"}"#, r#"{"s":1}"#] {
            assert!(read(nothing).is_none(), "{nothing}");
        }
    }

    #[tokio::test]
    async fn the_gateway_is_reached_through_a_proxy_with_connect() {
        let (through, asked) = proxy(Some(gateway().await)).await;
        let tunnels = Tunnels::through(&format!("http://user:canary@{through}"), "");
        let mut socket =
            Socket::connect(&url("ws://gateway.discord.example"), &tunnels).await.unwrap();
        let Got::Frame(frame) = socket.next().await else { panic!("no greeting") };
        assert_eq!(frame.op, 10);
        let head = asked.await.unwrap();
        assert!(head.starts_with("CONNECT gateway.discord.example:80 HTTP/1.1\r\n"), "{head}");
        assert!(
            head.to_lowercase().contains("proxy-authorization: basic dxnlcjpjyw5hcnk="),
            "{head}"
        );
        assert!(!format!("{tunnels:?}").contains("canary"));
    }

    #[tokio::test]
    async fn a_proxy_that_refuses_is_reported_without_its_password() {
        let (through, _asked) = proxy(None).await;
        let tunnels = Tunnels::through(&format!("http://user:canary@{through}"), "");
        let error =
            Socket::connect(&url("ws://gateway.discord.example"), &tunnels).await.err().unwrap();
        let text = format!("{error} {error:?} {}", error.report());
        assert!(
            text.contains("the proxy did not let us through")
                && text.contains(codes::CONNECT)
                && !text.contains("canary"),
            "{text}"
        );
        let socks = Tunnels::through("socks5://127.0.0.1:1", "");
        let error =
            Socket::connect(&url("ws://gateway.discord.example"), &socks).await.err().unwrap();
        assert!(error.fix().unwrap().contains("HTTPS_PROXY"), "{error}");
    }

    #[tokio::test]
    async fn excepted_and_loopback_hosts_are_reached_directly() {
        // Nothing listens at the proxy's address, so a connection through it fails.
        let tunnels = Tunnels::through("http://127.0.0.1:1", "excepted.example");
        assert!(
            Socket::connect(&url(&format!("ws://{}", gateway().await)), &tunnels).await.is_ok()
        );
        let error = tunnels.connect(&url("ws://excepted.example:1")).await.unwrap_err();
        assert!(!error.to_string().contains("proxy"), "{error}");
        assert!(
            tunnels
                .connect(&url("ws://other.example:1"))
                .await
                .unwrap_err()
                .to_string()
                .contains("proxy")
        );
    }
}
