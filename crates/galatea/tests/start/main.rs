//! Tests of start, status, chat, explain and connector with the real binary, on the loopback
//! interface and in temporary folders.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod answers;
mod home;
mod json;
mod looks;
mod manual;
mod refusals;
mod stops;
