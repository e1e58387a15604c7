//! Re-exports the wrapper of secrets, so that every crate uses the same one.

pub use secrecy::{ExposeSecret, SecretString};
