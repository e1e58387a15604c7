//! Resolves names for the client that fetches strangers' addresses. It refuses a name that leads
//! into an internal network.

use futures::future::BoxFuture;
use reqwest::{
    ClientBuilder,
    dns::{Addrs, Name, Resolve, Resolving},
};
use std::{
    error::Error as StdError,
    fmt, io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use super::guard::denied;

pub(super) type Lookup =
    Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync>;

/// Configures a client to connect only to public addresses.
pub(crate) fn guard(builder: ClientBuilder, exceptions: &[IpAddr]) -> ClientBuilder {
    guard_with(
        builder,
        exceptions,
        Arc::new(|host| {
            Box::pin(async move { Ok(tokio::net::lookup_host((host, 0)).await?.collect()) })
        }),
    )
}

pub(super) fn guard_with(
    builder: ClientBuilder,
    exceptions: &[IpAddr],
    lookup: Lookup,
) -> ClientBuilder {
    // Connections are not reused, so that a stranger's server cannot hold sockets of this process.
    builder
        .pool_max_idle_per_host(0)
        .dns_resolver(GuardedResolver { lookup, exceptions: exceptions.into() })
}

pub(super) struct GuardedResolver {
    pub(super) lookup: Lookup,
    pub(super) exceptions: Arc<[IpAddr]>,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let found = (self.lookup)(name.as_str().to_owned());
        let exceptions = self.exceptions.clone();
        Box::pin(async move {
            let addresses = found.await?;
            // A single internal address is enough to refuse the name: an answer that mixes both
            // kinds indicates DNS rebinding.
            if let Some(why) = addresses.iter().find_map(|address| check(address.ip(), &exceptions))
            {
                return Err(Denied(why).into());
            }
            let addresses: Addrs = Box::new(addresses.into_iter());
            Ok(addresses)
        })
    }
}

pub(crate) fn check(ip: IpAddr, exceptions: &[IpAddr]) -> Option<&'static str> {
    if exceptions.contains(&ip) { None } else { denied(ip) }
}

#[derive(Debug)]
pub(super) struct Denied(pub(super) &'static str);

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "address refused: {}", self.0)
    }
}

impl StdError for Denied {}
