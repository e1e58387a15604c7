//! Reads the bytes of a document: a text, a file, or what lies at an address.

use galatea_core::Result;
use galatea_http::FetchLimits;
use url::Url;

use crate::{
    document::{too_large, unreadable},
    format::Format,
    library::Library,
    scan::{Item, What},
};

/// Bytes of a document, and what they are.
pub(super) struct Bytes {
    pub(super) bytes: Vec<u8>,
    pub(super) name: String,
    pub(super) format: Option<Format>,
}

/// Reads a document, within the parser's limit.
///
/// # Errors
/// It is too large, cannot be read, or its host is not listed.
pub(super) async fn read(library: &Library, item: &Item) -> Result<Bytes> {
    let parts = &library.parts;
    match &item.what {
        What::Lines(text) => Ok(Bytes {
            bytes: text.clone().into_bytes(),
            name: "What the character knows.txt".to_owned(),
            format: Some(Format::Text),
        }),
        What::File { path, size, .. } => {
            if *size > parts.parser.limits().bytes as u64 {
                return Err(too_large("the file is larger than what is read")
                    .with("limit", format!("{} MiB", parts.parser.limits().bytes >> 20)));
            }
            let bytes = tokio::fs::read(path).await.map_err(|error| {
                unreadable("the file cannot be read")
                    .with("cause", error)
                    .with_fix("let this user read it")
            })?;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Ok(Bytes { bytes, name, format: None })
        }
        What::Url(address) => fetch(library, address).await,
    }
}

async fn fetch(library: &Library, address: &str) -> Result<Bytes> {
    let parts = &library.parts;
    let url = allowed(&parts.hosts, address)?;
    let host = url.host_str().unwrap_or_default();
    // No redirects: they would lead to hosts that are not on the list.
    let limits = FetchLimits {
        max_bytes: parts.parser.limits().bytes,
        max_redirects: 0,
        ..FetchLimits::default()
    };
    let fetched = parts.http.fetch_untrusted(address, &limits).await.map_err(|error| {
        if error.fix().is_some() {
            return error;
        }
        error.with_fix(
            "open the address in a browser; if it is right, save the page and add the file",
        )
    })?;
    let name = url
        .path_segments()
        .and_then(|mut segments| segments.next_back())
        .filter(|name| !name.is_empty())
        .unwrap_or(host)
        .to_owned();
    Ok(Bytes {
        bytes: fetched.bytes.to_vec(),
        name,
        format: Format::of_media_type(&fetched.media_type),
    })
}

/// An address that may be read.
///
/// # Errors
/// For a malformed address, and for a host that is not listed.
pub(super) fn allowed(hosts: &[String], address: &str) -> Result<Url> {
    let url = Url::parse(address).map_err(|error| {
        unreadable("this is not a valid address").with("cause", error).with_fix("correct it")
    })?;
    let host = url.host_str().unwrap_or_default();
    if allows(hosts, host) {
        return Ok(url);
    }
    Err(unreadable("the host is not on the list of those that may be read")
        .with("host", host)
        .with_fix(format!("add it: KNOWLEDGE_HOSTS={host}")))
}

/// Whether a host is listed, by itself or as part of a listed domain (`*.example.org`).
fn allows(hosts: &[String], host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    hosts.iter().map(|listed| listed.to_ascii_lowercase()).any(|listed| {
        match listed.strip_prefix("*.") {
            Some(domain) => {
                host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            }
            None => listed == host,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::allows;

    #[test]
    fn hosts_are_listed_by_name_or_domain() {
        let hosts = ["docs.example.org".to_owned(), "*.Example.com".to_owned()];
        for (host, expected) in [
            ("docs.example.org", true),
            ("DOCS.example.org", true),
            ("example.org", false),
            ("evil-docs.example.org", false),
            ("a.example.com", true),
            ("A.EXAMPLE.com", true),
            ("example.com", true),
            ("badexample.com", false),
        ] {
            assert_eq!(allows(&hosts, host), expected, "{host}");
        }
    }
}
