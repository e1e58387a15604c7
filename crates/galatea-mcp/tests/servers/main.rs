//! Real servers as child processes: the SDK's own, and those of the registries.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    missing_docs,
    reason = "a test fails by panicking"
)]

mod calls;
mod found;
mod lists;
mod logins;
mod processes;
mod registries;
mod stage;
