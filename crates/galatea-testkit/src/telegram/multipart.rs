//! Parses a multipart/form-data body (RFC 7578).

use bytes::Bytes;

/// A part of a form.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    /// Field name.
    pub(crate) name: String,
    /// File name, for a file.
    pub(crate) file_name: Option<String>,
    /// `Content-Type` of the part.
    pub(crate) mime: Option<String>,
    /// Content of the part.
    pub(crate) bytes: Bytes,
}

/// The boundary of a `Content-Type` value.
pub(crate) fn boundary(content_type: &str) -> Option<&str> {
    let value = content_type.split(';').map(str::trim).find_map(|p| p.strip_prefix("boundary="))?;
    Some(value.trim_matches('"'))
}

/// Parts in order; `None` for a malformed body.
pub(crate) fn parts(body: &Bytes, boundary: &str) -> Option<Vec<Part>> {
    let delimiter = format!("--{boundary}");
    let mut at = find(body, delimiter.as_bytes(), 0)? + delimiter.len();
    let mut parts = Vec::new();
    loop {
        if body.get(at..at + 2) == Some(b"--") {
            return Some(parts);
        }
        let head_start = at + 2;
        let head_end = find(body, b"\r\n\r\n", at)?;
        let body_start = head_end + 4;
        let end = find(body, format!("\r\n{delimiter}").as_bytes(), body_start)?;
        let head = std::str::from_utf8(body.get(head_start..head_end)?).ok()?;
        parts.push(part(head, body.slice(body_start..end))?);
        at = end + 2 + delimiter.len();
    }
}

fn part(head: &str, bytes: Bytes) -> Option<Part> {
    let mut part = Part { name: String::new(), file_name: None, mime: None, bytes };
    for line in head.split("\r\n") {
        let (key, value) = line.split_once(':')?;
        match key.trim().to_ascii_lowercase().as_str() {
            "content-disposition" => {
                part.name = parameter(value, "name")?;
                part.file_name =
                    parameter(value, "filename").or_else(|| parameter(value, "filename*"));
            }
            "content-type" => part.mime = Some(value.trim().to_owned()),
            _ => {}
        }
    }
    (!part.name.is_empty()).then_some(part)
}

fn parameter(value: &str, name: &str) -> Option<String> {
    value.split(';').skip(1).find_map(|piece| {
        let (key, value) = piece.trim().split_once('=')?;
        (key == name).then(|| value.trim_matches('"').to_owned())
    })
}

fn find(haystack: &[u8], needle: &[u8], from: usize) -> Option<usize> {
    haystack.get(from..)?.windows(needle.len()).position(|w| w == needle).map(|i| i + from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_apart_fields_and_files() {
        let body = Bytes::from_static(
            b"--x\r\nContent-Disposition: form-data; name=\"chat_id\"\r\n\r\n7\r\n--x\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\n\x89PNG\r\n\r\n--x--\r\n",
        );
        let parts = parts(&body, boundary("multipart/form-data; boundary=x").unwrap()).unwrap();
        assert_eq!((parts[0].name.as_str(), &parts[0].bytes[..]), ("chat_id", &b"7"[..]));
        assert_eq!(parts[1].file_name.as_deref(), Some("a.png"));
        assert_eq!(parts[1].mime.as_deref(), Some("image/png"));
        assert_eq!(&parts[1].bytes[..], b"\x89PNG\r\n");
    }

    #[test]
    fn a_cut_body_is_refused() {
        assert!(
            parts(
                &Bytes::from_static(b"--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n7"),
                "x"
            )
            .is_none()
        );
    }
}
