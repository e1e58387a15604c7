//! The address of the server: the loopback interface unless it has a public address, on the port of the
//! settings.

mod owner;

use galatea_core::{Error, ErrorKind, Result, Settings};
use galatea_host::config::{PUBLIC_URL, SERVER_HOST, SERVER_PORT};
use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
};
use tokio::net::TcpListener;

/// Address to listen on. `port` is the value of the flag `--port`.
///
/// # Errors
/// `Invalid` for an invalid host (`GAL-CFG-VALUE`) and for a host outside the loopback interface
/// (`GAL-BIND`).
pub(crate) fn address(settings: &Settings, port: Option<u16>) -> Result<SocketAddr> {
    let host = settings.text(&SERVER_HOST).unwrap_or_default();
    let host = host.trim();
    let ip = match host {
        "localhost" => IpAddr::V4(Ipv4Addr::LOCALHOST),
        other => other
            .trim_matches(['[', ']'])
            .parse()
            .map_err(|_| settings.invalid_setting(&SERVER_HOST, "is not an IP address"))?,
    };
    // Without its public name the server could not tell its own pages from others.
    if !ip.is_loopback() && settings.find(&PUBLIC_URL).is_none() {
        return Err(Error::invalid("the server answers other machines only under its public address")
            .with_code("GAL-BIND")
            .with("where", format!("SERVER_HOST from {}", settings.origin(&SERVER_HOST)))
            .with_fix("set PUBLIC_URL to the address by which it is reached, such as https://bot.example.org, or set SERVER_HOST to 127.0.0.1"));
    }
    let port = match port {
        Some(port) => port,
        None => settings.parse(&SERVER_PORT, "a port number from 0 to 65535")?.unwrap_or(0),
    };
    Ok(SocketAddr::new(ip, port))
}

/// Binds the port. Never falls back to another port.
///
/// # Errors
/// `Conflict` (`GAL-PORT`) with the process that uses the port, if it can be determined.
pub(crate) async fn bind(address: SocketAddr, origin: &str) -> Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|e| refused(address, e).with("where", origin))
}

/// Where the port number comes from, for error messages. `port` is the value of the flag `--port`.
pub(crate) fn origin(settings: &Settings, port: Option<u16>) -> String {
    match (port, settings.find(&SERVER_PORT)) {
        (Some(_), _) => "--port on the command line".to_owned(),
        (None, Some(setting)) => format!("{} from {}", SERVER_PORT.name, setting.origin),
        (None, None) => format!("the default of {}", SERVER_PORT.name),
    }
}

fn refused(address: SocketAddr, source: io::Error) -> Error {
    if source.kind() != io::ErrorKind::AddrInUse {
        return Error::new(ErrorKind::Unavailable, "the server cannot listen")
            .with_code("GAL-BIND")
            .with("cause", format!("{address}: {source}"))
            .with_fix("choose another port with `--port` or SERVER_PORT")
            .with_source(source);
    }
    let who = owner::of(address).unwrap_or_else(|| "another process".to_owned());
    Error::new(ErrorKind::Conflict, format!("port {} is taken by {who}", address.port()))
        .with_code("GAL-PORT")
        .with("cause", format!("something listens on {address} already"))
        .with_fix("stop that process, or choose another port with `--port` or SERVER_PORT")
}

#[cfg(test)]
mod tests;
