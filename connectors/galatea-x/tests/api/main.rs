//! The connector against a strict server of the X API on the loopback.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests: what is missing here is a fault of the test"
)]

mod login;
mod money;
mod outage;
mod posting;
mod receiving;
mod refusals;
mod sending;
mod support;
