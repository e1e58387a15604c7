//! The library as a program uses it: agents in this process, with scripted models.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

mod agents;
mod asking;
mod health;
mod many;
mod meeting;
mod model;
mod pools;
mod serverless;
