//! The TLS set-up that all clients of a process share. Reading the system's certificates costs tens
//! of milliseconds and megabytes each time.

use galatea_core::{Error, Result};
use native_tls::TlsConnector;
use std::sync::OnceLock;

use crate::error::codes;

// Written once and then the same for good: the certificates of the machine.
static CONNECTOR: OnceLock<std::result::Result<TlsConnector, String>> = OnceLock::new();

/// The shared connector. The first call reads the system's certificates (`SSL_CERT_FILE` and
/// `SSL_CERT_DIR` are obeyed); others wait for it.
///
/// # Errors
/// `Unexpected` when TLS cannot be set up.
pub(crate) fn connector() -> Result<TlsConnector> {
    let built = CONNECTOR.get_or_init(|| {
        // HTTP/2 where the server has it (RFC 7301 protocol names).
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

/// Reads the certificates on a thread of their own, so that nobody has to wait for them later.
pub fn warm_up() {
    // Whoever needs the connector meets the failure and reports it; without a thread it is read
    // when it is needed.
    let _ = std::thread::Builder::new().name("certificates".to_owned()).spawn(connector);
}
