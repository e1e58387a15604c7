//! Tests of the API over an in-memory database, without a network.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

mod guard;
mod house;
mod lists;
mod live;
mod logs;
mod metrics;
mod page;
mod support;
mod traces;
