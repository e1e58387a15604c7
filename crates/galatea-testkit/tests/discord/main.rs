//! Tests the loopback Discord server itself: it answers as documented and reports calls that a
//! correct client would not make.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod gateway;
mod rest;
