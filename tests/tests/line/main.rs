//! Tests of the whole message line in one process: the real engine and the real store, between a
//! platform and a model that the test controls.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod hijacked_tools;
mod house;
mod journal;
mod limits;
mod made;
mod models;
mod more;
mod mutations;
mod objects;
mod outage;
mod platform;

mod accounts;
mod budget;
mod busy;
mod changing;
mod cluster;
mod commands;
mod connections;
mod context;
mod database;
mod delivery;
mod documents_sent;
mod embedded;
mod evaluators;
mod exhausted;
mod gate;
mod granted;
mod hijacked;
mod knowledge;
mod leaks;
mod memory;
mod offered;
mod plans;
mod plugins;
mod prompts;
mod restart;
mod rights;
mod rooms;
mod sections;
mod services;
mod steps;
mod stopping;
mod swaps;
mod tasks;
mod traces;
mod typing;
mod unserved;
mod voice;
mod web;
mod world_settings;
