//! Uploads the media of a post before the post is made: initialize, append, finalize, wait,
//! describe (X API v2, media upload). An upload is not visible until a post uses it.

use bytes::Bytes;
use galatea_core::{Error, ErrorKind, Result, Retry, Sent};
use galatea_http::{FetchLimits, read_attachment};
use serde_json::{Value, json};
use std::{path::Path, time::Duration};

use super::{
    api::{Api, ApiCall, CallBody, Class},
    calls::media_id,
};
use crate::{encode::Upload, error::codes};

/// Bytes of one chunk; X takes at most 5 MB (X API v2, media upload, APPEND).
const CHUNK: usize = 4 << 20;
/// Most checks of whether a video is processed, and the longest pause between two. After that the
/// attempt fails and the outbox retries it.
const CHECKS: u32 = 5;
const LONGEST_CHECK: Duration = Duration::from_secs(5);

/// Uploads every file of a post and returns their ids.
///
/// # Errors
/// `Invalid` for a file that X does not accept. Every error has [`Sent::No`]: nothing was posted.
pub(crate) async fn upload(api: &Api, uploads: &[Upload], folder: &Path) -> Result<Vec<String>> {
    let mut ids = Vec::with_capacity(uploads.len());
    for one in uploads {
        ids.push(single(api, one, folder).await.map_err(|e| e.with_sent(Sent::No))?);
    }
    Ok(ids)
}

async fn single(api: &Api, upload: &Upload, folder: &Path) -> Result<String> {
    let bytes = bytes(api, upload, folder).await?;
    let begin = json!({ "media_type": upload.mime, "total_bytes": bytes.len(), "media_category": upload.category.as_str() });
    let answer = call(api, "/2/media/upload/initialize", CallBody::Json(begin)).await?;
    let id = media_id(api, &answer)?;
    let append = format!("/2/media/upload/{id}/append");
    for (index, start) in (0..bytes.len()).step_by(CHUNK).enumerate() {
        let piece = bytes.slice(start..bytes.len().min(start + CHUNK));
        call(api, &append, CallBody::Chunk(piece, index)).await?;
    }
    let mut state = call(api, &format!("/2/media/upload/{id}/finalize"), CallBody::None).await?;
    for _ in 0..CHECKS {
        let Some(pause) = pending(&state)? else { break };
        api.clock().sleep(pause).await;
        let status = ApiCall::get("/2/media/upload", Class::Media)
            .with("command", "STATUS")
            .with("media_id", &id);
        state = api.call(status).await.map_err(|f| api.error(f, "media/upload"))?;
    }
    if pending(&state)?.is_some() {
        return Err(Error::new(ErrorKind::Unavailable, "X is still working on an attachment")
            .with_code(codes::MEDIA)
            .with_retry(Retry::After(LONGEST_CHECK)));
    }
    if let Some(alt) = &upload.alt {
        let describe = json!({ "id": id, "metadata": { "alt_text": { "text": alt } } });
        call(api, "/2/media/metadata", CallBody::Json(describe)).await?;
    }
    Ok(id)
}

async fn call(api: &Api, path: &str, body: CallBody) -> Result<Value> {
    api.call(ApiCall::post(path, body, Class::Media))
        .await
        .map_err(|f| api.error(f, "media/upload"))
}

/// The pause before the next check; `None` when X has finished processing.
fn pending(answer: &Value) -> Result<Option<Duration>> {
    let info = &answer["data"]["processing_info"];
    match info["state"].as_str() {
        Some("failed") => {
            Err(Error::invalid("X cannot use an attachment").with_code(codes::MEDIA).with(
                "x",
                galatea_http::shorten(
                    info["error"]["message"].as_str().unwrap_or("no reason given"),
                    120,
                ),
            ))
        }
        Some("pending" | "in_progress") => {
            let seconds = info["check_after_secs"]
                .as_f64()
                .filter(|s| s.is_finite() && *s >= 0.0)
                .unwrap_or(1.0);
            Ok(Some(Duration::from_secs_f64(seconds.min(LONGEST_CHECK.as_secs_f64()))))
        }
        _ => Ok(None),
    }
}

async fn bytes(api: &Api, upload: &Upload, folder: &Path) -> Result<Bytes> {
    let limit = upload.category.limit();
    let public = upload.url.get(..4).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http"));
    let bytes = if public {
        let limits = FetchLimits { max_bytes: limit, ..FetchLimits::default() };
        api.http().fetch_untrusted(&upload.url, &limits).await?.bytes
    } else {
        read_attachment(&upload.url, folder, limit).await.map_err(|e| e.with_code(codes::MEDIA))?
    };
    if bytes.is_empty() {
        return Err(Error::invalid("an attachment is empty").with_code(codes::MEDIA));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_of_processing() {
        let state = |state: &str| json!({"data": {"processing_info": {"state": state, "check_after_secs": 2, "error": {"message": "bad"}}}});
        assert_eq!(pending(&state("pending")).unwrap(), Some(Duration::from_secs(2)));
        assert_eq!(pending(&state("succeeded")).unwrap(), None);
        assert_eq!(pending(&json!({"data": {"id": "1"}})).unwrap(), None);
        assert_eq!(pending(&state("failed")).unwrap_err().code(), Some(codes::MEDIA));
        let long =
            json!({"data": {"processing_info": {"state": "pending", "check_after_secs": 1e300}}});
        assert_eq!(pending(&long).unwrap(), Some(LONGEST_CHECK));
    }
}
