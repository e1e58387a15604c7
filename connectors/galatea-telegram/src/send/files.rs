//! Bytes of attachments that go along with a call.

use bytes::Bytes;
use galatea_core::{Error, Result};
use galatea_http::{Form, Part as FormPart};
use serde_json::{Map, Value};
use std::path::Path;
use url::Url;

use crate::{
    encode::{MAX_UPLOAD, Upload},
    error::codes,
};

/// Parameters and files as a form.
///
/// # Errors
/// `Invalid` for a file that is missing, too large, not ours, or a broken `data:` address.
pub(super) async fn form(params: &Map<String, Value>, files: &[Upload], folder: &Path) -> Result<Form> {
    let mut form = Form::new();
    for (name, value) in params {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        form = form.text(name.clone(), text);
    }
    for file in files {
        let bytes = bytes(file, folder).await?;
        let length = bytes.len() as u64;
        let mut part = FormPart::stream_with_length(bytes, length).file_name(file.name.clone());
        if let Some(mime) = &file.mime {
            part = part.mime_str(mime).map_err(|_| invalid("an attachment has a media type that is none", file))?;
        }
        form = form.part(file.field.clone(), part);
    }
    Ok(form)
}

fn invalid(message: &'static str, file: &Upload) -> Error {
    Error::invalid(message).with_code(codes::INVALID).with("attachment", &file.field)
}

async fn bytes(file: &Upload, folder: &Path) -> Result<Bytes> {
    let bytes = match file.url.get(..5) {
        Some(scheme) if scheme.eq_ignore_ascii_case("data:") => {
            data(&file.url[5..]).ok_or_else(|| invalid("an attachment has a broken data: address", file))?
        }
        _ => local(file, folder).await?,
    };
    match bytes.len() {
        0 => Err(invalid("an attachment is empty", file)),
        n if n > MAX_UPLOAD => Err(invalid("an attachment is larger than the 50 MB a Telegram bot may upload", file)),
        _ => Ok(bytes),
    }
}

/// A file of ours. What a model or a stranger wrote must not name any file of the machine, so it has to lie in the connector's folder.
async fn local(file: &Upload, folder: &Path) -> Result<Bytes> {
    let missing = || invalid("an attachment's file cannot be read", file);
    let path = Url::parse(&file.url).ok().and_then(|u| u.to_file_path().ok()).ok_or_else(missing)?;
    let path = tokio::fs::canonicalize(path).await.map_err(|_| missing())?;
    let folder = tokio::fs::canonicalize(folder).await.map_err(|_| missing())?;
    if !path.starts_with(&folder) {
        return Err(invalid("an attachment's file lies outside the connector's folder", file)
            .with_fix("send it as a data: address, or write it into the connector's data folder"));
    }
    let about = tokio::fs::metadata(&path).await.map_err(|_| missing())?;
    if !about.is_file() {
        return Err(missing());
    }
    if about.len() > MAX_UPLOAD as u64 {
        return Err(invalid("an attachment is larger than the 50 MB a Telegram bot may upload", file));
    }
    tokio::fs::read(&path).await.map(Bytes::from).map_err(|_| missing())
}

/// The part of a `data:` address after the scheme (RFC 2397).
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

    fn upload(url: String) -> Upload {
        Upload { field: "document".into(), url, name: "x.txt".into(), mime: None }
    }

    #[tokio::test]
    async fn data_addresses_are_read_in_both_forms() {
        let folder = tempfile::tempdir().unwrap();
        for (url, expect) in
            [("data:text/plain;base64,aGVsbG8=", "hello"), ("data:text/plain;base64,aGVsbG8", "hello"), ("data:,a%20b%21", "a b!"), ("DATA:;base64,aGk=", "hi")]
        {
            assert_eq!(bytes(&upload(url.into()), folder.path()).await.unwrap(), expect.as_bytes(), "{url}");
        }
        for wrong in ["data:nothing", "data:;base64,***", "data:,%zz", "data:,", "ftp://x"] {
            assert!(bytes(&upload(wrong.into()), folder.path()).await.is_err(), "{wrong}");
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
        assert_eq!(bytes(&upload(url(&inside)), folder.path()).await.unwrap(), "ours");
        assert!(bytes(&upload(url(&secret)), folder.path()).await.is_err());
        #[cfg(unix)]
        {
            let link = folder.path().join("link");
            std::os::unix::fs::symlink(&secret, &link).unwrap();
            assert!(bytes(&upload(url(&link)), folder.path()).await.is_err(), "a link must not lead out");
        }
        assert!(bytes(&upload(url(&folder.path().join("missing"))), folder.path()).await.is_err());
        assert!(bytes(&upload(url(folder.path())), folder.path()).await.is_err(), "a folder is no file");
    }
}
