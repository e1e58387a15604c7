//! The line in process: the real engine and the real store between a platform and a model that tests hold.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod house;
mod journal;
mod limits;
mod models;
mod outage;
mod platform;

mod busy;
mod commands;
mod connections;
mod database;
mod delivery;
mod gate;
mod plans;
mod plugins;
mod restart;
mod rooms;
mod stopping;
