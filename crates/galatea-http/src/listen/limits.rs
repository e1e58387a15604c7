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
    };
    /// For a port that only this machine can reach.
    pub const LOCAL: Self = Self {
        connections: 64,
        per_address: 64,
        head: Duration::from_secs(5),
        idle: Duration::from_secs(30),
        answer: Duration::from_secs(30),
    };
}
