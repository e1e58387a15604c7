//! Reads a body of `multipart/form-data` (RFC 7578) as a JSON object.

use axum::http::HeaderMap;
use serde_json::{Map, Value, json};

/// The boundary, if the content type is a form.
pub(super) fn boundary(headers: &HeaderMap) -> Option<&str> {
    let kind = headers.get("content-type")?.to_str().ok()?;
    kind.strip_prefix("multipart/form-data; boundary=")
}

/// The fields: a text as a string, a file as `{name, type, bytes}`. None for a malformed body.
pub(super) fn parse(boundary: &str, body: &[u8]) -> Option<Value> {
    let mark = format!("--{boundary}");
    let mut rest = body.strip_prefix(mark.as_bytes())?;
    let mut fields = Map::new();
    while let Some(part) = rest.strip_prefix(b"\r\n") {
        let end = find(part, format!("\r\n{mark}").as_bytes())?;
        let (head, content) = part[..end].split_at(find(&part[..end], b"\r\n\r\n")?);
        let content = &content[4..];
        let head = std::str::from_utf8(head).ok()?;
        let quoted = |key: &str| {
            let (_, rest) = head.split_once(&format!("{key}=\""))?;
            Some(rest.split_once('"')?.0.to_owned())
        };
        let header = |key: &str| {
            head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case(key).then(|| value.trim().to_owned())
            })
        };
        let value = match quoted("filename") {
            Some(name) => {
                json!({ "name": name, "type": header("content-type")?, "bytes": content.len() })
            }
            None => Value::String(std::str::from_utf8(content).ok()?.to_owned()),
        };
        fields.insert(quoted(" name")?, value);
        rest = &part[end + 2 + mark.len()..];
    }
    (rest.strip_prefix(b"--")? == b"\r\n").then_some(Value::Object(fields))
}

fn find(bytes: &[u8], word: &[u8]) -> Option<usize> {
    bytes.windows(word.len()).position(|window| window == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_read_and_a_torn_one_is_not() {
        let body = b"--x\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nm\r\n\
            --x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.ogg\"\r\nContent-Type: audio/ogg\r\n\r\nOggS\r\n--x--\r\n";
        let expected =
            json!({ "model": "m", "file": { "name": "a.ogg", "type": "audio/ogg", "bytes": 4 } });
        assert_eq!(parse("x", body), Some(expected));
        assert_eq!(parse("x", &body[..body.len() - 6]), None);
        assert_eq!(parse("y", body), None);
    }
}
