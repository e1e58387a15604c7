//! Secrets: re-exported so that every crate uses the same wrapper.

pub use secrecy::{ExposeSecret, SecretString};
