//! Tests of the test kit: the connector suite finds the faults of a connector, the tutorial's second
//! example passes it, and the loopback platforms notice calls that break a platform's rules and do
//! their faults. How the platforms answer otherwise is our reading of their documents, which no test
//! here could confirm: `replay` compares it with recordings.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod connector_suite;
mod discord;
mod telegram;
mod wren;
mod x;
