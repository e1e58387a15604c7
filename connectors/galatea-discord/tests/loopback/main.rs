//! Tests of the connector against a loopback Discord: the shared suite, and more.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod support;

mod gateway;
mod outage;
mod poison;
mod receiving;
mod sending;
mod silence;
mod starting;
mod suite;
