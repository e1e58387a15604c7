//! The line in process: the real engine and the real store between a platform and a model that tests hold.

mod house;
mod models;
mod platform;

mod busy;
mod commands;
mod connections;
mod delivery;
mod gate;
mod plans;
mod plugins;
mod restart;
mod rooms;
mod stopping;
