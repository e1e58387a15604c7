//! Logins at servers with OAuth: tokens in private files that all processes of a data folder share.

pub(crate) mod flow;
pub(crate) mod store;

pub use flow::{Login, begin};
pub(crate) use flow::{failed, manager};
