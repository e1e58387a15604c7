//! Tests of the standard plugin through its public API: rights, prompts, learning, and limits.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod actions;
mod derived;
mod double;
mod embedding;
mod facts;
mod grounded;
mod meaning;
mod mentioned;
mod merging;
mod named;
mod people;
mod profiles;
mod providers;
mod reflection;
mod scene;
mod search;
mod sections;
mod summaries;
