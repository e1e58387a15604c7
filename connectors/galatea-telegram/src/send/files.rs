//! Reads the attachments of a call and builds its upload form.

use galatea_core::{Error, Result};
use galatea_http::{Form, Part as FormPart, read_attachment};
use serde_json::{Map, Value};
use std::path::Path;

use crate::{
    encode::{MAX_UPLOAD, Upload},
    error::codes,
};

/// Builds a form from parameters and files. Files are read from `data:` addresses or from `folder`.
///
/// # Errors
/// `Invalid` for a file that is missing, too large or outside `folder`, or a malformed `data:`
/// address.
pub(super) async fn form(
    params: &Map<String, Value>,
    files: &[Upload],
    folder: &Path,
) -> Result<Form> {
    let mut form = Form::new();
    for (name, value) in params {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        form = form.text(name.clone(), text);
    }
    for file in files {
        let bytes = read_attachment(&file.url, folder, MAX_UPLOAD)
            .await
            .map_err(|e| e.with_code(codes::INVALID).with("attachment", &file.field))?;
        let length = bytes.len() as u64;
        let mut part = FormPart::stream_with_length(bytes, length).file_name(file.name.clone());
        if let Some(mime) = &file.mime {
            part = part
                .mime_str(mime)
                .map_err(|_| invalid("an attachment has an invalid media type", file))?;
        }
        form = form.part(file.field.clone(), part);
    }
    Ok(form)
}

fn invalid(message: &'static str, file: &Upload) -> Error {
    Error::invalid(message).with_code(codes::INVALID).with("attachment", &file.field)
}
