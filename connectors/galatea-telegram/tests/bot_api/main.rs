//! Tests of the connector against a strict Bot API server on the loopback.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests: what is missing here is a fault of the test"
)]

mod behind;
mod closed;
mod floods;
mod outage;
mod poison;
mod receiving;
mod sending;
mod starting;
mod suite;
mod support;
mod webhook;
