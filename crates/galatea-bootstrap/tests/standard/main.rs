//! The standard plugin from outside: rights, composition, what is learnt, and that everything is
//! bounded.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod actions;
mod double;
mod meaning;
mod people;
mod providers;
mod reflection;
mod scene;
