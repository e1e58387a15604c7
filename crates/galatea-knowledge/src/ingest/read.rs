//! Reads the bytes of a document: a text, a file, or what lies at an address.

use galatea_core::{Error, Result, Retry};
use galatea_http::{FetchLimits, HttpClient};
use nix::libc;
use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};
use url::Url;

use crate::{
    format::Format,
    library::Library,
    refusal::{too_large, unreadable},
    scan::{Item, What},
    source::{Place, kind_of},
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
            let most = parts.parser.limits().bytes;
            if *size > most as u64 {
                return Err(larger(most));
            }
            let is_named = matches!(&item.source.place, Place::Path(named) if named == path);
            let of_path = path.clone();
            let bytes = tokio::task::spawn_blocking(move || file(&of_path, is_named, most))
                .await
                .map_err(|crash| Error::unexpected("reading crashed").with_source(crash))??;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Ok(Bytes { bytes, name, format: None })
        }
        What::Url(address) => fetch(library, address).await,
    }
}

/// Reads a file of up to `most` bytes. What was found in a folder may be something else by now: a link
/// is followed only if a person named it, and nothing else than a file is read. Blocks on the disk.
fn file(path: &Path, is_named: bool, most: usize) -> Result<Vec<u8>> {
    let unread = |error: io::Error| {
        unreadable("the file cannot be read")
            .with("cause", error)
            .with_fix("let this user read it")
            .with_retry(Retry::Soon)
    };
    // A pipe would block until a program writes into it.
    let follow = if is_named { 0 } else { libc::O_NOFOLLOW };
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK | follow).open(path);
    let file = file.map_err(unread)?;
    let metadata = file.metadata().map_err(unread)?;
    if !metadata.is_file() {
        return Err(unreadable("this is no longer a file")
            .with("found", kind_of(&metadata))
            .with_fix("put the file back, or remove this")
            .with_retry(Retry::Soon));
    }
    let mut bytes = Vec::new();
    // It may grow while it is read.
    file.take((most as u64).saturating_add(1)).read_to_end(&mut bytes).map_err(unread)?;
    if bytes.len() > most {
        return Err(larger(most));
    }
    Ok(bytes)
}

fn larger(most: usize) -> Error {
    too_large("the file is larger than what is read").with("limit", format!("{} MiB", most >> 20))
}

async fn fetch(library: &Library, address: &str) -> Result<Bytes> {
    let parts = &library.parts;
    let url = allowed(&parts.http, &parts.hosts, address)?;
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
pub(super) fn allowed(http: &HttpClient, hosts: &[String], address: &str) -> Result<Url> {
    let url = Url::parse(address).map_err(|error| {
        unreadable("this is not a valid address").with("cause", error).with_fix("correct it")
    })?;
    let host = url.host_str().unwrap_or_default();
    if allows(hosts, host) {
        return Ok(url);
    }
    let refused =
        unreadable("the host is not on the list of those that may be read").with("host", host);
    Err(if http.refuses(&url) {
        refused
            .with_fix("hosts of an internal network are not read; save the page and add the file")
    } else {
        refused.with_fix(format!("add it: KNOWLEDGE_HOSTS={host}"))
    })
}

/// True if a host is listed, by itself or as part of a listed domain (`*.example.org`).
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
    use super::*;
    use galatea_http::HttpOptions;
    use std::{fs, os::unix::fs::symlink};

    #[test]
    fn a_host_that_would_be_refused_is_not_offered_for_the_list() {
        let http = HttpClient::new(HttpOptions::default()).unwrap();
        let fix = |address: &str| {
            allowed(&http, &[], address).unwrap_err().fix().unwrap_or_default().to_owned()
        };
        assert_eq!(fix("https://example.org/faq"), "add it: KNOWLEDGE_HOSTS=example.org");
        for address in
            ["http://127.0.0.1:8080/", "http://localhost/", "http://[::1]/", "http://10.1.2.3/"]
        {
            assert!(!fix(address).contains("KNOWLEDGE_HOSTS"), "{address}");
        }
    }

    #[test]
    fn what_took_the_place_of_a_file_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a.md"), "12345").unwrap();
        symlink(at("a.md"), at("link.md")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(at("pipe.md")).status();
        assert!(made.unwrap().success());
        let read = |name: &str, is_named: bool, most: usize| {
            file(&at(name), is_named, most).map_err(|error| error.to_string())
        };
        assert_eq!(read("a.md", false, 5).unwrap(), b"12345");
        assert!(read("a.md", false, 4).unwrap_err().contains("larger"), "it grew");
        assert!(read("link.md", false, 5).unwrap_err().contains("symbolic links"));
        assert_eq!(read("link.md", true, 5).unwrap(), b"12345");
        for is_named in [true, false] {
            assert!(read("pipe.md", is_named, 5).unwrap_err().contains("a pipe"));
        }
        assert!(file(folder.path(), true, 5).is_err());
    }

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
