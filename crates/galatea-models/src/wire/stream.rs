//! Streams: frames out of bytes, answers out of frames, and the two timers.

use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use eventsource_stream::{EventStreamError, Eventsource};
use futures::{
    FutureExt, StreamExt,
    stream::{self, BoxStream},
};
use galatea_core::{Result, model::TextAnswer};
use galatea_http::Response;
use tokio::time::{Instant, timeout, timeout_at};

use super::{Endpoint, Fail};

/// How long the rest of a finished stream is awaited, so that its connection can be used again.
const DRAIN: Duration = Duration::from_secs(2);

/// Puts an answer together from frames.
pub(crate) trait Gather {
    /// Takes one frame; visible text goes to `on_text`.
    fn take(
        &mut self,
        frame: &str,
        on_text: &(dyn for<'t> Fn(&'t str) + Send + Sync),
    ) -> Result<Progress, Fail>;
    /// Whether the answer may end here, although no frame said so.
    fn complete(&self) -> bool;
    /// The answer.
    fn finish(self) -> TextAnswer;
}

/// What a frame meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// More will come.
    More,
    /// More will come, and this held nothing of the answer: a sign of life of the service says
    /// nothing about its model.
    Nothing,
    /// That was the last.
    Done,
}

/// What a frame source can fail with.
pub(crate) enum FrameError {
    Transport(galatea_core::Error),
    Garbage,
}

type Frames = BoxStream<'static, Result<String, FrameError>>;

/// Server-sent events (WHATWG HTML §9.2): the data of each.
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

/// The same bytes, a line at a time: the parser begins a line anew with every piece of it and moves
/// what is behind a line for every line, so one that never ends, or very many in one piece, would
/// cost the square of their length.
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

/// Lines, as Ollama streams JSON; the last needs no line end.
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

/// Reads a stream to its end.
pub(crate) async fn drive<G: Gather>(
    endpoint: &Endpoint,
    model: &str,
    mut frames: Frames,
    mut gather: G,
    on_text: &(dyn for<'t> Fn(&'t str) + Send + Sync),
) -> Result<TextAnswer> {
    let mut first = true;
    let mut since = Instant::now();
    loop {
        let patience = if first { endpoint.times().first } else { endpoint.times().idle };
        let frame = match timeout_at(since + patience, frames.next()).await {
            Err(_) => return Err(endpoint.silent(first, patience)),
            Ok(None) if gather.complete() => break,
            Ok(None) => return Err(endpoint.cut()),
            Ok(Some(Err(FrameError::Transport(error)))) => return Err(endpoint.transport(error)),
            Ok(Some(Err(FrameError::Garbage))) => {
                return Err(endpoint.fail(Fail::Garbage("a stream of events"), model));
            }
            Ok(Some(Ok(frame))) => frame,
        };
        match gather.take(&frame, on_text).map_err(|fail| endpoint.fail(fail, model))? {
            Progress::Nothing => {}
            Progress::More => (first, since) = (false, Instant::now()),
            Progress::Done => {
                drain(frames);
                break;
            }
        }
    }
    Ok(gather.finish())
}

/// Reads what is left after the last frame: a connection whose body was not read to its end cannot
/// be used again.
fn drain(mut frames: Frames) {
    if matches!(frames.next().now_or_never(), Some(None)) {
        return;
    }
    tokio::spawn(timeout(DRAIN, async move { while frames.next().await.is_some() {} }));
}

#[cfg(test)]
mod tests;
