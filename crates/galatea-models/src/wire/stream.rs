//! Reads streamed answers: divides bytes into frames, assembles an answer from frames, and applies
//! the two stream timeouts.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use bytes::{Buf, Bytes, BytesMut};
use eventsource_stream::{EventStreamError, Eventsource};
use futures::{
    FutureExt, StreamExt,
    stream::{self, BoxStream},
};
use galatea_core::{
    Result, Sent,
    model::{OnText, Spent, TextAnswer, Usage},
    tokens::Family,
};
use galatea_http::Response;
use tokio::time::{Instant, timeout, timeout_at};

use super::{Endpoint, Fail};

/// Longest time to read the rest of a finished stream, so that its connection can be reused.
const DRAIN: Duration = Duration::from_secs(2);

/// Assembles an answer from frames.
pub(crate) trait Gather {
    /// Processes one frame and passes visible text to `on_text`.
    fn take(&mut self, frame: &str, on_text: &OnText<'_>) -> Result<Progress, Fail>;
    /// True if the answer is complete if the stream ends here without a final frame.
    fn complete(&self) -> bool;
    /// Tokens that the service has counted so far.
    fn usage(&self) -> Usage;
    /// Returns the answer.
    fn finish(self) -> TextAnswer;
}

/// Meaning of a frame for the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// A part of the answer; more frames follow.
    More,
    /// Nothing of the answer, such as a heartbeat; more frames follow. A heartbeat comes from the
    /// service and says nothing about its model, so it does not reset a timeout.
    Nothing,
    /// The last frame.
    Done,
}

/// The failure of a frame source.
pub(crate) enum FrameError {
    Transport(galatea_core::Error),
    Garbage,
}

type Frames = BoxStream<'static, Result<String, FrameError>>;

/// Frames of server-sent events (WHATWG HTML §9.2): the data of each event.
pub(crate) fn event_frames(response: Response) -> Frames {
    single_lines(response.stream())
        .eventsource()
        .map(|event| match event {
            Ok(event) => Ok(event.data),
            Err(EventStreamError::Transport(error)) => Err(FrameError::Transport(error)),
            Err(EventStreamError::Utf8(_) | EventStreamError::Parser(_)) => {
                Err(FrameError::Garbage)
            }
        })
        .boxed()
}

/// Divides the bytes into pieces of one line each. The event parser starts again with every piece
/// of a line, and moves the remaining bytes after every line. Without this, a line that never ends,
/// or many lines in one piece, would take time proportional to the square of their length.
fn single_lines(
    bytes: BoxStream<'static, galatea_core::Result<Bytes>>,
) -> BoxStream<'static, galatea_core::Result<Bytes>> {
    stream::unfold(
        (bytes.fuse(), BytesMut::new(), 0),
        |(mut bytes, mut held, mut searched)| async move {
            loop {
                // A carriage return ends a line by itself, unless a line feed follows.
                let ends = |at: &usize| {
                    held[*at] == b'\n'
                        || (held[*at] == b'\r'
                            && held.get(at + 1).is_some_and(|next| *next != b'\n'))
                };
                if let Some(end) = (searched..held.len()).find(ends) {
                    return Some((Ok(held.split_to(end + 1).freeze()), (bytes, held, 0)));
                }
                searched = held.len().saturating_sub(1);
                match bytes.next().await {
                    Some(Ok(piece)) => held.extend_from_slice(&piece),
                    Some(Err(error)) => return Some((Err(error), (bytes, BytesMut::new(), 0))),
                    None if held.is_empty() => return None,
                    None => return Some((Ok(held.split().freeze()), (bytes, held, 0))),
                }
            }
        },
    )
    .boxed()
}

/// Frames of lines, as Ollama streams JSON; the last line may lack its line end.
pub(crate) fn line_frames(response: Response) -> Frames {
    struct Lines {
        bytes: BoxStream<'static, galatea_core::Result<bytes::Bytes>>,
        buffer: BytesMut,
        searched: usize,
        ended: bool,
    }
    let lines =
        Lines { bytes: response.stream(), buffer: BytesMut::new(), searched: 0, ended: false };
    stream::unfold(lines, |mut lines| async move {
        loop {
            if let Some(at) = lines.buffer[lines.searched..].iter().position(|b| *b == b'\n') {
                let line = lines.buffer.split_to(lines.searched + at);
                lines.buffer.advance(1);
                lines.searched = 0;
                if line.iter().all(u8::is_ascii_whitespace) {
                    continue;
                }
                return Some((
                    String::from_utf8(line.to_vec()).map_err(|_| FrameError::Garbage),
                    lines,
                ));
            }
            lines.searched = lines.buffer.len();
            if lines.ended {
                let rest = lines.buffer.split();
                lines.searched = 0;
                if rest.iter().all(u8::is_ascii_whitespace) {
                    return None;
                }
                return Some((
                    String::from_utf8(rest.to_vec()).map_err(|_| FrameError::Garbage),
                    lines,
                ));
            }
            match lines.bytes.next().await {
                Some(Ok(piece)) => lines.buffer.extend_from_slice(&piece),
                Some(Err(error)) => {
                    lines.ended = true;
                    lines.buffer.clear();
                    lines.searched = 0;
                    return Some((Err(FrameError::Transport(error)), lines));
                }
                None => lines.ended = true,
            }
        }
    })
    .boxed()
}

/// Reads a stream to its end and returns the assembled answer. The error of an answer that was
/// begun says what it has used so far, since the service charges for it.
pub(crate) async fn drive<G: Gather>(
    endpoint: &Endpoint,
    model: &str,
    mut frames: Frames,
    mut gather: G,
    on_text: &OnText<'_>,
) -> Result<TextAnswer> {
    let (family, written) = (Family::of(model), AtomicU64::new(0));
    let on_piece = |text: &str| {
        written.fetch_add(family.text(text), Ordering::Relaxed);
        on_text(text);
    };
    let mut begun = false;
    match read(endpoint, model, &mut frames, &mut gather, &mut begun, &on_piece).await {
        Ok(rest_follows) => {
            if rest_follows {
                drain(frames);
            }
            Ok(gather.finish())
        }
        Err(error) if begun => {
            let counted = gather.usage();
            let output = counted.output.max(written.into_inner());
            let usage = Usage { output, ..counted };
            Err(error.with_sent(Sent::Maybe).with_spent(Spent { usage, whole: false }))
        }
        Err(error) => Err(error),
    }
}

/// Passes frames to `gather` until the answer is complete. Sets `begun` with the first piece of it.
/// Returns whether the stream may go on.
async fn read<G: Gather>(
    endpoint: &Endpoint,
    model: &str,
    frames: &mut Frames,
    gather: &mut G,
    begun: &mut bool,
    on_text: &OnText<'_>,
) -> Result<bool> {
    let mut since = Instant::now();
    loop {
        let patience = if *begun { endpoint.times().idle } else { endpoint.times().first };
        let frame = match timeout_at(since + patience, frames.next()).await {
            Err(_) => return Err(endpoint.silent(!*begun, patience)),
            Ok(None) if gather.complete() => return Ok(false),
            Ok(None) => return Err(endpoint.cut()),
            Ok(Some(Err(FrameError::Transport(error)))) => return Err(endpoint.transport(error)),
            Ok(Some(Err(FrameError::Garbage))) => {
                return Err(endpoint.fail(Fail::Garbage("a stream of events"), model));
            }
            Ok(Some(Ok(frame))) => frame,
        };
        let taken = gather.take(&frame, on_text).map_err(|fail| {
            if *begun {
                endpoint.fail(fail, model)
            } else {
                endpoint.fail_in(fail, frame.as_bytes(), model)
            }
        });
        match taken? {
            Progress::Nothing => {}
            Progress::More => (*begun, since) = (true, Instant::now()),
            Progress::Done => return Ok(true),
        }
    }
}

/// Reads what follows the last frame, in the background: a connection whose body was not read to
/// its end cannot be reused.
fn drain(mut frames: Frames) {
    if matches!(frames.next().now_or_never(), Some(None)) {
        return;
    }
    tokio::spawn(timeout(DRAIN, async move { while frames.next().await.is_some() {} }));
}

#[cfg(test)]
mod tests;
