//! Limits of a listener.

use std::time::Duration;

/// Bounds of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most connections at once, and so most file descriptors; one further connection may wait for
    /// a place.
    pub connections: usize,
    /// Most connections of one public address (one /64 with IPv6). Private addresses have no such
    /// limit, since a proxy calls on behalf of many clients.
    pub per_address: usize,
    /// Longest time from the first byte of a request, or from the connection, to the end of its
    /// headers.
    pub head: Duration,
    /// Longest idle time of a connection that has had a request.
    pub idle: Duration,
    /// Longest time from the end of the headers to the answer, including the body.
    pub answer: Duration,
    /// Bounds of answers that go on: server-sent events, WebSockets, and any body without a known
    /// length.
    pub streams: StreamLimits,
}

/// Bounds of answers that go on. They end with their client, with their handler, or by these limits;
/// no other caller can take their place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamLimits {
    /// Most streams at once. Fewer than the connections, so that plain requests always find a
    /// place.
    pub most: usize,
    /// Most streams of one public address.
    pub per_address: usize,
    /// Longest time without a byte in either direction. Handlers send a comment or a ping well within
    /// it.
    pub silent: Duration,
    /// Longest time for which a client may leave bytes unread.
    pub stalled: Duration,
    /// Time from the stop of the listener until the streams that remain are closed. Handlers see the
    /// stop in [`Ending`](super::Ending), and send their last words meanwhile.
    pub farewell: Duration,
}

impl StreamLimits {
    /// For a listener whose answers all have an end. A body without a known length is a stream for
    /// as long as it is sent.
    const FEW: Self = Self {
        most: 32,
        per_address: 16,
        silent: Duration::from_secs(90),
        stalled: Duration::from_secs(30),
        farewell: Duration::from_secs(3),
    };
}

impl Limits {
    /// For a webhook. The headers fit into one packet, so 5 s are ample. Telegram opens at most 100
    /// connections (Bot API, setWebhook.max_connections), from several addresses. Most systems
    /// allow 1,024 open files.
    pub const WEBHOOK: Self = Self {
        connections: 256,
        per_address: 64,
        head: Duration::from_secs(5),
        idle: Duration::from_secs(75),
        answer: Duration::from_secs(60),
        streams: StreamLimits::FEW,
    };
    /// For a port that only this machine can reach.
    pub const LOCAL: Self = Self {
        connections: 64,
        per_address: 64,
        head: Duration::from_secs(5),
        idle: Duration::from_secs(30),
        answer: Duration::from_secs(30),
        streams: StreamLimits::FEW,
    };
    /// For the control plane. A thousand dashboards hold a stream each. An answer may take as long as
    /// a turn (two minutes) and some seconds to spare.
    pub const SERVER: Self = Self {
        connections: 2_048,
        per_address: 256,
        head: Duration::from_secs(5),
        idle: Duration::from_secs(75),
        answer: Duration::from_secs(150),
        streams: StreamLimits { most: 1_536, per_address: 64, ..StreamLimits::FEW },
    };
}
