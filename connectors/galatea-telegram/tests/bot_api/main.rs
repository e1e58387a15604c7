//! The connector against a strict Bot API server on the loopback.

mod receiving;
mod sending;
mod starting;
mod support;
mod webhook;
