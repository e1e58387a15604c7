//! Reads a request's body within limits of size and time.

use axum::body::Body as Incoming;
use bytes::{Bytes, BytesMut};
use futures::StreamExt as _;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// The result of reading a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// The whole body.
    Whole(Bytes),
    /// The first bytes of a body that is longer than `kept`. The rest was read and discarded.
    TooLong(Bytes),
    /// The body was incomplete, took too long, or exceeded `taken`.
    Broken,
}

/// Reads a body and keeps at most `kept` bytes, within a time. Of a longer body, up to `taken`
/// bytes are read, so that the sender gets an answer. A broken connection would make it send the
/// request again.
pub async fn read_body(body: Incoming, kept: usize, taken: usize, within: Duration) -> Body {
    let end = Instant::now() + within;
    let mut pieces = body.into_data_stream();
    let (mut all, mut length) = (BytesMut::new(), 0_usize);
    loop {
        let piece = match timeout_at(end, pieces.next()).await {
            Ok(Some(Ok(piece))) => piece,
            Ok(None) if length > kept => return Body::TooLong(all.freeze()),
            Ok(None) => return Body::Whole(all.freeze()),
            Ok(Some(Err(_))) | Err(_) => return Body::Broken,
        };
        length = length.saturating_add(piece.len());
        if length > taken {
            return Body::Broken;
        }
        let room = kept.saturating_sub(all.len()).min(piece.len());
        all.extend_from_slice(&piece[..room]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::stream;

    fn of(pieces: &'static [&'static str]) -> Incoming {
        Incoming::from_stream(stream::iter(
            pieces.iter().map(|p| Ok::<_, std::io::Error>(Bytes::from_static(p.as_bytes()))),
        ))
    }

    const LONG: Duration = Duration::from_secs(3600);

    #[tokio::test]
    async fn bodies_are_whole_too_long_or_broken() {
        assert_eq!(read_body(of(&["ab", "cd"]), 4, 8, LONG).await, Body::Whole("abcd".into()));
        assert_eq!(read_body(of(&[]), 4, 8, LONG).await, Body::Whole(Bytes::new()));
        assert_eq!(read_body(of(&["ab", "cdef"]), 4, 8, LONG).await, Body::TooLong("abcd".into()));
        assert_eq!(read_body(of(&["ab", "cdefghi"]), 4, 8, LONG).await, Body::Broken);
        let broken = stream::iter(
            [Ok("ab".into()), Err(std::io::Error::other("cut"))] as [Result<Bytes, _>; 2]
        );
        assert_eq!(read_body(Incoming::from_stream(broken), 4, 8, LONG).await, Body::Broken);
    }

    #[tokio::test]
    async fn a_drip_has_an_end() {
        let drip = stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            Some((Ok::<_, std::io::Error>(Bytes::from_static(b"x")), ()))
        });
        assert_eq!(
            read_body(
                Incoming::from_stream(drip),
                usize::MAX,
                usize::MAX,
                Duration::from_millis(100)
            )
            .await,
            Body::Broken
        );
    }
}
