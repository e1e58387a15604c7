//! The frames of the socket protocol, and how lines are read and written.

use galatea_core::{AgentId, Error, MemoryId, Result, TurnId};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};

use crate::error;

/// Version of the protocol. It increases when a frame changes its meaning; a new optional field
/// does not change it.
pub const VERSION: u32 = 1;

/// Longest line, in bytes: a text of [`crate::MAX_TEXT`] code points, each escaped as a surrogate
/// pair (12 bytes, RFC 8259 §7), and 64 KiB for the rest.
pub const MAX_LINE: usize = 12 * crate::MAX_TEXT + 64 * 1024;

/// A frame from the client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromClient {
    /// The first line, which names the client.
    Hello {
        /// [`VERSION`].
        v: u32,
        /// The client's name, which names the room: one conversation per name, kept across
        /// restarts.
        name: String,
    },
    /// A message from the person.
    Say {
        /// Chosen by the client, unique in its room. A `say` repeated under the same id is stored
        /// once.
        id: String,
        /// The text, as Markdown.
        text: String,
    },
    /// Confirms that a message was shown.
    Ack {
        /// The message's key.
        key: String,
    },
}

/// A frame from the agent's side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToClient {
    /// The answer to the client's hello.
    Hello {
        /// [`VERSION`].
        v: u32,
        /// The agent's name.
        agent: String,
        /// The agent's id.
        agent_id: AgentId,
    },
    /// A `say` is stored durably, now or earlier.
    Received {
        /// The `say`'s id.
        id: String,
        /// The memory it became: what `galatea explain` takes, and what answers name in
        /// `in_reply_to`.
        memory: MemoryId,
    },
    /// An answer is being prepared.
    Typing,
    /// A message of the agent. The client answers with `ack`; it acknowledges a key that it has
    /// already shown without showing it again.
    Message(Message),
    /// A line was refused. The connection stays open unless it closes right after this.
    Error {
        /// Stable code.
        code: String,
        /// The event.
        message: String,
        /// The next action.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fix: Option<String>,
        /// The `say` it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    },
}

/// A part of a message of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Idempotency key; the same for every attempt.
    pub key: String,
    /// The turn it belongs to.
    pub turn: TurnId,
    /// The part itself.
    #[serde(flatten)]
    pub part: MessagePart,
}

/// The platform's encoding of one part: the content of [`crate::frame::Message`] besides its key
/// and turn.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MessagePart {
    /// Plain text or Markdown, free of control characters other than line break and tab.
    pub text: String,
    /// Label to show with the answer, such as `Offline script, not AI`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The memory it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_reply_to: Option<MemoryId>,
    /// True for the last part of a message.
    pub last: bool,
}

/// Reads lines of at most [`MAX_LINE`] bytes. Cancel safe: partly read lines are kept.
pub struct Lines<R> {
    reader: R,
    line: Vec<u8>,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    /// Creates a reader of `reader`'s lines.
    pub fn new(reader: R) -> Self {
        Self { reader, line: Vec::new() }
    }

    /// The next line that is not blank; `None` at the end. A last line without a line break is
    /// dropped, because its writer died while writing it.
    ///
    /// # Errors
    /// `Invalid` for a line that is too long, `Unavailable` when the connection breaks. Do not read
    /// on after either.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>> {
        loop {
            let chunk = self.reader.fill_buf().await.map_err(error::broken)?;
            if chunk.is_empty() {
                return Ok(None);
            }
            let (taken, complete) = match chunk.iter().position(|byte| *byte == b'\n') {
                Some(end) => (end + 1, true),
                None => (chunk.len(), false),
            };
            if self.line.len() + taken > MAX_LINE {
                return Err(error::line_too_long(MAX_LINE));
            }
            self.line.extend_from_slice(&chunk[..taken]);
            self.reader.consume(taken);
            if complete {
                let line = std::mem::take(&mut self.line);
                if !line.trim_ascii().is_empty() {
                    return Ok(Some(line));
                }
            }
        }
    }
}

/// Parses one line as a frame.
///
/// # Errors
/// `Invalid` with the position and class of the error; the line's text is not repeated.
pub fn parse<T: DeserializeOwned>(line: &[u8]) -> Result<T> {
    serde_json::from_slice(line).map_err(|e| error::not_a_frame(&e))
}

/// Writes one frame as a line.
///
/// # Errors
/// `Unavailable` when the connection breaks.
pub async fn write<T: Serialize>(writer: &mut (impl AsyncWrite + Unpin), frame: &T) -> Result<()> {
    let mut line = serde_json::to_vec(frame)
        .map_err(|e| Error::unexpected("a frame cannot be written").with_source(e))?;
    line.push(b'\n');
    writer.write_all(&line).await.map_err(error::broken)?;
    writer.flush().await.map_err(error::broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_are_bounded_and_survive_cancellation() {
        let (mut near, far) = tokio::io::duplex(64);
        let mut lines = Lines::new(tokio::io::BufReader::new(far));
        near.write_all(b"\n{\"a\"").await.unwrap();
        tokio::select! {
            biased;
            line = lines.next() => panic!("half a line came out: {line:?}"),
            () = tokio::task::yield_now() => {}
        }
        near.write_all(b":1}\n").await.unwrap();
        assert_eq!(lines.next().await.unwrap().unwrap(), b"{\"a\":1}\n");

        let flood = tokio::spawn(async move {
            let junk = [b'x'; 4096];
            while near.write_all(&junk).await.is_ok() {}
        });
        assert_eq!(lines.next().await.unwrap_err().code(), Some("GAL-TERM-LINE"));
        drop(lines);
        flood.await.unwrap();
    }

    #[test]
    fn a_frame_says_what_is_wrong_without_repeating_it() {
        let error = parse::<FromClient>(br#"{"type":"say","id":1,"text":"secret"}"#).unwrap_err();
        assert_eq!(error.code(), Some("GAL-TERM-FRAME"));
        assert!(!error.to_string().contains("secret"), "{error}");
    }

    #[test]
    fn the_longest_text_fits_a_line() {
        let text = "\u{1}".repeat(crate::MAX_TEXT);
        let line = serde_json::to_vec(&FromClient::Say { id: "x".repeat(64), text }).unwrap();
        assert!(line.len() < MAX_LINE);
    }
}
