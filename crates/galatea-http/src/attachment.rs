//! Bytes of attachments that are sent: `data:` addresses and files of ours. Public addresses go through [`crate::untrusted`].

use std::path::Path;

use bytes::Bytes;
use galatea_core::{Error, Result};
use url::Url;

/// Reads a `data:` address (RFC 2397), or a `file:` address that lies in `folder`: what a model or a stranger wrote must not name any
/// file of the machine.
///
/// # Errors
/// `Invalid` for a broken address, a file that is missing or elsewhere, and more than `limit` bytes.
pub async fn read(url: &str, folder: &Path, limit: usize) -> Result<Bytes> {
    let bytes = match url.get(..5) {
        Some(scheme) if scheme.eq_ignore_ascii_case("data:") => data(&url[5..]).ok_or_else(|| Error::invalid("an attachment has a broken data: address"))?,
        _ => local(url, folder, limit).await?,
    };
    match bytes.len() {
        0 => Err(Error::invalid("an attachment is empty")),
        n if n > limit => Err(too_large(limit)),
        _ => Ok(bytes),
    }
}

fn too_large(limit: usize) -> Error {
    Error::invalid("an attachment is larger than the platform takes").with("max_bytes", limit)
}

async fn local(url: &str, folder: &Path, limit: usize) -> Result<Bytes> {
    let missing = || Error::invalid("an attachment's file cannot be read");
    let path = Url::parse(url).ok().and_then(|u| u.to_file_path().ok()).ok_or_else(missing)?;
    let path = tokio::fs::canonicalize(path).await.map_err(|_| missing())?;
    let folder = tokio::fs::canonicalize(folder).await.map_err(|_| missing())?;
    if !path.starts_with(&folder) {
        return Err(Error::invalid("an attachment's file lies outside the connector's folder")
            .with_fix("send it as a data: address, or write it into the connector's data folder"));
    }
    let about = tokio::fs::metadata(&path).await.map_err(|_| missing())?;
    if !about.is_file() {
        return Err(missing());
    }
    if about.len() > limit as u64 {
        return Err(too_large(limit));
    }
    tokio::fs::read(&path).await.map(Bytes::from).map_err(|_| missing())
}

/// The part of a `data:` address after the scheme.
fn data(rest: &str) -> Option<Bytes> {
    use base64::Engine;
    let (head, body) = rest.split_once(',')?;
    if head.to_ascii_lowercase().ends_with(";base64") {
        let body: String = body.chars().filter(|c| !c.is_whitespace()).collect();
        let engine = base64::engine::GeneralPurpose::new(
            &base64::alphabet::STANDARD,
            base64::engine::GeneralPurposeConfig::new().with_decode_padding_mode(base64::engine::DecodePaddingMode::Indifferent),
        );
        return engine.decode(percent(&body)?).ok().map(Bytes::from);
    }
    percent(body).map(Bytes::from)
}

/// Percent-decoding (RFC 3986 §2.1).
fn percent(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digit = |b: Option<u8>| char::from(b?).to_digit(16);
        let (high, low) = (digit(bytes.next())?, digit(bytes.next())?);
        out.push(u8::try_from(high * 16 + low).ok()?);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 1 << 20;

    #[tokio::test]
    async fn data_addresses_are_read_in_both_forms() {
        let folder = tempfile::tempdir().unwrap();
        for (url, expect) in
            [("data:text/plain;base64,aGVsbG8=", "hello"), ("data:text/plain;base64,aGVsbG8", "hello"), ("data:,a%20b%21", "a b!"), ("DATA:;base64,aGk=", "hi")]
        {
            assert_eq!(read(url, folder.path(), LIMIT).await.unwrap(), expect.as_bytes(), "{url}");
        }
        for wrong in ["data:nothing", "data:;base64,***", "data:,%zz", "data:,", "ftp://x"] {
            assert!(read(wrong, folder.path(), LIMIT).await.is_err(), "{wrong}");
        }
        assert!(read("data:,four", folder.path(), 3).await.is_err());
    }

    #[tokio::test]
    async fn only_files_of_the_connectors_folder_are_sent() {
        let folder = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let inside = folder.path().join("a.txt");
        let secret = outside.path().join("secret.txt");
        std::fs::write(&inside, "ours").unwrap();
        std::fs::write(&secret, "secret").unwrap();
        let url = |path: &Path| Url::from_file_path(path).unwrap().to_string();
        assert_eq!(read(&url(&inside), folder.path(), LIMIT).await.unwrap(), "ours");
        assert!(read(&url(&inside), folder.path(), 3).await.is_err());
        assert!(read(&url(&secret), folder.path(), LIMIT).await.is_err());
        #[cfg(unix)]
        {
            let link = folder.path().join("link");
            std::os::unix::fs::symlink(&secret, &link).unwrap();
            assert!(read(&url(&link), folder.path(), LIMIT).await.is_err(), "a link must not lead out");
        }
        assert!(read(&url(&folder.path().join("missing")), folder.path(), LIMIT).await.is_err());
        assert!(read(&url(folder.path()), folder.path(), LIMIT).await.is_err(), "a folder is no file");
    }
}
