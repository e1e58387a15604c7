//! Tests of the API over an in-memory database, without a network.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

mod agents;
mod chat;
mod embed;
mod guard;
mod house;
mod jwt;
mod lists;
mod live;
mod logs;
mod metrics;
mod page;
mod password;
mod plane;
mod stored;
mod support;
mod traces;
mod v1;
