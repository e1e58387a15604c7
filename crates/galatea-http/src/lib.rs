//! HTTP for connectors and model clients: the outgoing client, and the listener for webhooks and
//! the health port.
//!
//! The client adds timeouts, proxies, redaction, `Retry-After`, the mapping of statuses to
//! [`galatea_core::Error`], and a guard for addresses that strangers supply.
//!
//! Errors made here name the host. They never contain a URL's path or query, a header or a body,
//! since these can hold platform tokens.

mod address;
pub mod client;
pub mod error;
pub mod guard;
pub mod json;
pub mod listen;
pub mod origins;
pub mod platform;
pub mod redact;
pub mod request;
mod resolver;
pub mod response;
pub mod retry_after;
mod tls;
pub mod tunnel;
pub mod untrusted;
pub mod upload;

pub use address::address;
pub use client::{HttpClient, HttpOptions};
pub use error::{codes, status_error};
pub use guard::denied;
pub use origins::Origins;
pub use platform::Platform;
pub use redact::{plain, redact, shorten};
pub use request::Request;
pub use reqwest::{
    Method,
    multipart::{Form, Part},
};
pub use response::Response;
pub use retry_after::parse_retry_after;
pub use tls::warm_up;
pub use tunnel::Tunnels;
pub use untrusted::{FetchLimits, Fetched};
pub use upload::read_attachment;
