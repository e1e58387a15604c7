//! Tests of the X connector against a strict loopback server of the X API.
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
mod suite;
mod support;
