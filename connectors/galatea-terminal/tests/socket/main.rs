//! The terminal connector against real sockets: order of commit and confirmation, keys,
//! permissions, hostile clients.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod bench;
mod conversation;
mod hostile;
mod life;
mod suite;
