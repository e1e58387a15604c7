//! The platforms, their settings and accounts, and the connectors built from them.

pub mod accounts;
mod connect;
mod direct;
mod gates;
mod list;

pub use connect::{Built, Taken, encoders};
pub(crate) use direct::Direct;
pub use gates::{gate_variables, names_of};
pub use list::{Link, Login, PLATFORMS, Platform, PublicLink, ReadExport, TERMINAL, with_policies};

#[cfg(test)]
mod tests;
