//! End to end: the real program as a child process, between the loopback Bot API and a loopback model.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod stage;

mod answers;
mod crashes;
mod explains;
mod order;
mod secrets;
mod stops;
mod troubles;
mod x;
