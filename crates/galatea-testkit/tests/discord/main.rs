//! The loopback Discord itself: it answers as the documents say, and notices what a correct client
//! would not do.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod gateway;
mod rest;
