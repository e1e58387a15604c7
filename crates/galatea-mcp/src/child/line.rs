//! Reads a server's output line by line with a bound. A longer line is dropped while it is read, and an
//! error with its id takes its place, so that the caller need not wait until its deadline.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::io::{AsyncRead, ReadBuf};

/// Bytes of the beginning and the end of a line that are looked through for its id.
const EDGE: usize = 256;
/// Bytes read at once.
const PIECE: usize = 16 << 10;

/// A reader that drops lines longer than a bound.
pub(crate) struct BoundedLines<R> {
    inner: R,
    most: usize,
    piece: Vec<u8>,
    at: usize,
    filled: usize,
    /// Bytes of the present line that were passed on.
    line: usize,
    /// Bytes of the present line that were dropped.
    dropped: u64,
    head: Vec<u8>,
    tail: Vec<u8>,
    /// Bytes of ours that are passed on next.
    own: Vec<u8>,
}

impl<R> BoundedLines<R> {
    /// `most` is the longest line in bytes. The transport behind it has to drop a line of `most` bytes
    /// and its end.
    pub(crate) fn new(inner: R, most: usize) -> Self {
        Self {
            inner,
            most,
            piece: vec![0; PIECE],
            at: 0,
            filled: 0,
            line: 0,
            dropped: 0,
            head: Vec::new(),
            tail: Vec::new(),
            own: Vec::new(),
        }
    }

    /// Passes on what is read, up to the end of a line.
    fn pass(&mut self, out: &mut ReadBuf<'_>) {
        let found = self.piece.get(self.at..self.filled).unwrap_or_default();
        let end = found.iter().position(|byte| *byte == b'\n');
        let words = found.get(..end.unwrap_or(found.len())).unwrap_or_default();
        let room = self.most.saturating_sub(self.line).min(out.remaining());
        if self.dropped == 0 && (words.len() <= room || room > 0) {
            let passed = words.get(..words.len().min(room)).unwrap_or_default();
            let kept = EDGE.saturating_sub(self.head.len()).min(passed.len());
            self.head.extend_from_slice(passed.get(..kept).unwrap_or_default());
            out.put_slice(passed);
            self.at += passed.len();
            self.line += passed.len();
            let all = passed.len() == words.len();
            if all && end.is_some() && out.remaining() > 0 {
                out.put_slice(b"\n");
                self.at += 1;
                self.line = 0;
                self.head.clear();
            }
            return;
        }
        self.dropped += words.len() as u64;
        self.at += words.len();
        self.tail
            .extend_from_slice(words.get(words.len().saturating_sub(EDGE)..).unwrap_or_default());
        let surplus = self.tail.len().saturating_sub(EDGE);
        self.tail.drain(..surplus);
        if end.is_some() {
            self.at += 1;
            self.replace();
        }
    }

    /// Ends the line, and puts an error in its place.
    fn replace(&mut self) {
        let size = self.line as u64 + self.dropped;
        self.own.push(b'\n');
        if let Some(id) = id(&self.head, &self.tail) {
            let error = serde_json::json!({
                "jsonrpc": "2.0",
                "id": id,
                "error": { "code": TOO_LONG, "message": format!("the answer has {size} bytes, and at most {} are read", self.most) },
            });
            self.own.extend_from_slice(error.to_string().as_bytes());
            self.own.push(b'\n');
        }
        self.line = 0;
        self.dropped = 0;
        self.head.clear();
        self.tail.clear();
    }
}

/// Code of the error that stands for a dropped answer (JSON-RPC: -32000 to -32099 are the
/// implementation's).
pub(crate) const TOO_LONG: i32 = -32_098;

impl<R: AsyncRead + Unpin> AsyncRead for BoundedLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = out.filled().len();
        while out.remaining() > 0 {
            if !this.own.is_empty() {
                let some = this.own.len().min(out.remaining());
                out.put_slice(this.own.get(..some).unwrap_or_default());
                this.own.drain(..some);
            } else if this.at < this.filled {
                this.pass(out);
            } else if out.filled().len() > before {
                break;
            } else {
                let mut piece = ReadBuf::new(&mut this.piece);
                ready!(Pin::new(&mut this.inner).poll_read(cx, &mut piece))?;
                this.filled = piece.filled().len();
                this.at = 0;
                if this.filled == 0 {
                    break;
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// The id of an answer, from its beginning or its end: SDKs write it before or after the result.
fn id(head: &[u8], tail: &[u8]) -> Option<i64> {
    let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
    let first = head.split("\"result\"").next().unwrap_or_default();
    let last = tail.rsplit_once('}').map(|(before, _)| before).unwrap_or_default();
    number(first.rsplit_once("\"id\"").map(|(_, after)| after))
        .or_else(|| number(last.rsplit_once("\"id\"").map(|(_, after)| after)))
}

fn number(after: Option<&str>) -> Option<i64> {
    let after = after?.trim_start().strip_prefix(':')?.trim_start();
    let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
    after.get(..end)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    async fn read(text: &str, most: usize) -> String {
        let mut out = String::new();
        BoundedLines::new(text.as_bytes(), most).read_to_string(&mut out).await.unwrap();
        out
    }

    #[tokio::test]
    async fn short_lines_pass_and_a_long_one_becomes_an_error_with_its_id() {
        let long = "x".repeat(60_000);
        let before = format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":\"{long}\"}}");
        let after =
            format!("{{\"result\":{{\"id\":1,\"a\":\"{long}\"}},\"jsonrpc\":\"2.0\",\"id\": 8}}");
        let neither = format!("{{\"method\":\"{long}\"}}");
        let text = format!("one\n{before}\ntwo\n{after}\n{neither}\nthree\n");
        let out = read(&text, 20_000).await;
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!((lines[0], lines[3], lines[lines.len() - 1]), ("one", "two", "three"));
        assert_eq!(lines[1].len(), 20_000, "the part before the bound");
        assert!(lines[2].contains("\"id\":7") && lines[2].contains("60036 bytes"), "{}", lines[2]);
        assert!(lines[5].contains("\"id\":8"), "{}", lines[5]);
        assert_eq!(out.lines().filter(|line| line.contains("-32098")).count(), 2);
    }

    #[tokio::test]
    async fn a_line_of_exactly_the_bound_passes() {
        let exact = "y".repeat(32);
        assert_eq!(read(&format!("{exact}\n{exact}\n"), 32).await, format!("{exact}\n{exact}\n"));
        let out = read(&format!("{exact}z\nok\n"), 32).await;
        assert_eq!(out, format!("{exact}\nok\n"));
    }
}
