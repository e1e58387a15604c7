//! The bus for hints between processes that share a database: NATS core, in builds with the feature `nats`. Without a bus they look ten
//! times a second, which is enough for some twenty of them.

mod address;
#[cfg(feature = "nats")]
mod nats;

use galatea_core::{Error, Hints, Result, SecretString, Variable};
use std::sync::Arc;

pub use address::Address;

/// Where the bus is.
pub const NATS_URL: Variable = Variable::new(
    "NATS_URL",
    "NATS server through which processes that share a PostgreSQL tell each other of new work: nats://user:password@host:4222, nats://token@host or tls://host; several separated by commas.",
)
.secret();
/// Every setting read here.
pub const VARIABLES: &[Variable] = &[NATS_URL];

/// What is wrong with the bus.
pub mod codes {
    /// It cannot be reached, or refuses.
    pub const UNREACHED: &str = "GAL-NATS";
}

/// Opens the bus. It need not be there: it is connected to in the background, again and again.
///
/// # Errors
/// `Invalid` for an address that is none, and in a build without NATS.
pub fn open(url: &SecretString) -> Result<Arc<dyn Hints>> {
    connect(Address::read(url)?)
}

#[cfg(feature = "nats")]
fn connect(address: Address) -> Result<Arc<dyn Hints>> {
    Ok(Arc::new(nats::Nats::open(address)))
}

#[cfg(not(feature = "nats"))]
fn connect(_: Address) -> Result<Arc<dyn Hints>> {
    Err(Error::invalid("this build cannot use NATS")
        .with_code(codes::UNREACHED)
        .with("setting", NATS_URL.name)
        .with_fix("remove the setting, or build with `cargo build --release --features nats`"))
}

/// What is wrong with an address.
fn invalid(what: &str) -> Error {
    Error::invalid(format!("NATS_URL {what}")).with_code(codes::UNREACHED).with_fix("write it as nats://user:password@host:4222")
}
