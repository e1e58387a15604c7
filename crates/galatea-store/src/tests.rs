//! What is a database's own, and the plans of all statements. What every store must do is in the
//! shared suite.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod plans;
mod postgres;
mod recall;
mod redacted;
mod sqlite;
mod statements;
mod talks;
mod upgrade;
