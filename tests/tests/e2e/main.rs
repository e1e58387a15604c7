//! End-to-end tests: the real program as a child process, between loopback platforms and a loopback
//! model server.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod stage;

mod answers;
mod attachments;
mod broken;
mod chaos;
mod chosen;
mod cluster;
mod compat;
mod confirmed;
mod crashes;
mod deployed;
mod discord;
mod elizaos;
mod embedded;
mod errors;
mod explains;
mod failing;
mod fallback;
mod faults;
mod forgotten;
mod hostile_documents;
mod imported;
mod init;
mod kills;
mod knowledge;
mod learnt;
mod ledger;
mod limits;
mod matrix;
mod mcp;
mod meaning;
mod memory;
mod merged;
mod names;
mod newcomer;
mod no_model;
mod older;
mod order;
mod places;
mod places_of_documents;
mod postgres;
mod secrets;
#[cfg(unix)]
mod start;
mod stops;
mod talk;
mod tasks;
mod together;
mod troubles;
mod truth;
mod webhook;
mod x;
