//! The TLS connector that all clients of a process share. Reading the system's certificates takes
//! tens of milliseconds and megabytes of memory each time.

use galatea_core::{Error, Result};
use native_tls::TlsConnector;
use std::sync::OnceLock;

use crate::error::codes;

// Holds the machine's certificates; set once and never changed.
static CONNECTOR: OnceLock<std::result::Result<TlsConnector, String>> = OnceLock::new();

/// The shared connector. The first call reads the system's certificates (from `SSL_CERT_FILE` and
/// `SSL_CERT_DIR` if set); concurrent calls wait for it.
///
/// # Errors
/// `Unexpected` when TLS cannot be set up.
pub(crate) fn connector() -> Result<TlsConnector> {
    let built = CONNECTOR.get_or_init(|| {
        // Offers HTTP/2 to servers that support it (RFC 7301 protocol names).
        TlsConnector::builder()
            .request_alpns(&["h2", "http/1.1"])
            .build()
            .map_err(|error| error.to_string())
    });
    built.clone().map_err(|cause| {
        Error::unexpected("TLS could not be set up")
            .with_code(codes::SETUP)
            .with("cause", cause)
            .with_fix("check the certificate file named by SSL_CERT_FILE")
    })
}

/// Reads the certificates in the background, so that the first request does not wait for it. Call
/// it at start.
pub fn warm_up() {
    // The first user of the connector reports a failure. Without a thread, that user reads the
    // certificates.
    let _ = std::thread::Builder::new().name("certificates".to_owned()).spawn(connector);
}
