//! Tests of the client and of the listener on the loopback interface.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "helpers of tests"
)]

mod client;
mod listen;
mod streams;
