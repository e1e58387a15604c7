//! Reads the bytes of outgoing attachments from `data:` addresses and from files in the connector's
//! own folder.

use base64::Engine;
use bytes::Bytes;
use galatea_core::{Error, Result};
use percent_encoding::percent_decode_str;
use std::path::Path;
use url::Url;

/// Reads the bytes of an outgoing attachment: at least one, at most `limit`.
///
/// # Errors
/// `Invalid`, without a code, for a file that is missing, too large or outside `folder`, and for a
/// malformed `data:` address.
pub async fn read_attachment(url: &str, folder: &Path, limit: usize) -> Result<Bytes> {
    let bytes = match url.get(..5) {
        Some(scheme) if scheme.eq_ignore_ascii_case("data:") => data(&url[5..])
            .ok_or_else(|| Error::invalid("an attachment has a broken data: address"))?,
        _ => local(url, folder, limit).await?,
    };
    match bytes.len() {
        0 => Err(Error::invalid("an attachment is empty")),
        n if n > limit => Err(too_large(limit)),
        _ => Ok(bytes),
    }
}

fn too_large(limit: usize) -> Error {
    Error::invalid("an attachment is larger than a bot may upload here")
        .with("megabytes", limit >> 20)
}

/// Reads a file in the connector's folder. Other files are refused, since a model or a stranger may
/// have chosen the address.
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

/// Decodes the part of a `data:` address after the scheme (RFC 2397).
fn data(rest: &str) -> Option<Bytes> {
    let (head, body) = rest.split_once(',')?;
    if head.to_ascii_lowercase().ends_with(";base64") {
        let body: String = body.chars().filter(|c| !c.is_whitespace()).collect();
        let engine = base64::engine::GeneralPurpose::new(
            &base64::alphabet::STANDARD,
            base64::engine::GeneralPurposeConfig::new()
                .with_decode_padding_mode(base64::engine::DecodePaddingMode::Indifferent),
        );
        return engine.decode(percent(&body)?).ok().map(Bytes::from);
    }
    percent(body).map(Bytes::from)
}

/// Percent-decoding (RFC 3986 §2.1). `None` if a `%` is not followed by two hexadecimal digits.
fn percent(text: &str) -> Option<Vec<u8>> {
    let bytes: Vec<u8> = percent_decode_str(text).collect();
    // The crate leaves a malformed `%` as it is; each well-formed one shortens the text by two.
    (bytes.len() + 2 * text.matches('%').count() == text.len()).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn bytes(url: String, folder: &Path) -> Result<Bytes> {
        read_attachment(&url, folder, 1 << 20).await
    }

    #[tokio::test]
    async fn data_addresses_are_read_in_both_forms() {
        let folder = tempfile::tempdir().unwrap();
        for (url, expect) in [
            ("data:text/plain;base64,aGVsbG8=", "hello"),
            ("data:text/plain;base64,aGVsbG8", "hello"),
            ("data:,a%20b%21", "a b!"),
            ("DATA:;base64,aGk=", "hi"),
        ] {
            assert_eq!(bytes(url.into(), folder.path()).await.unwrap(), expect.as_bytes(), "{url}");
        }
        for wrong in [
            "data:nothing",
            "data:;base64,***",
            "data:,%zz",
            "data:,%%41",
            "data:,%+1",
            "data:,%4",
            "data:,",
            "ftp://x",
        ] {
            assert!(bytes(wrong.into(), folder.path()).await.is_err(), "{wrong}");
        }
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
        assert_eq!(bytes(url(&inside), folder.path()).await.unwrap(), "ours");
        assert!(bytes(url(&secret), folder.path()).await.is_err());
        #[cfg(unix)]
        {
            let link = folder.path().join("link");
            std::os::unix::fs::symlink(&secret, &link).unwrap();
            assert!(
                bytes(url(&link), folder.path()).await.is_err(),
                "a link must not lead out of the folder"
            );
        }
        assert!(bytes(url(&folder.path().join("missing")), folder.path()).await.is_err());
        assert!(bytes(url(folder.path()), folder.path()).await.is_err(), "a folder is not a file");
    }
}
