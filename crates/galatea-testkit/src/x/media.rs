//! Media upload (X API v2): initialize, append in order, finalize, status, alt text.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Value, json};

use super::problem::Problem;
use crate::{telegram::multipart, x::params::id_in};

/// Largest piece in bytes (X API v2, media upload, APPEND).
const PIECE: usize = 5 << 20;

#[derive(Debug, Default)]
pub(super) struct Uploads {
    files: BTreeMap<u64, File>,
    next: u64,
}

/// A file during or after its upload.
#[derive(Debug, Clone)]
pub(super) struct File {
    pub(super) mime: String,
    category: String,
    total: usize,
    pieces: BTreeMap<usize, Bytes>,
    finished: bool,
    /// Number of further status requests answered "in progress".
    busy: u32,
    pub(super) alt: Option<String>,
}

impl File {
    pub(super) fn bytes(&self) -> Bytes {
        Bytes::from(self.pieces.values().flat_map(|p| p.iter().copied()).collect::<Vec<u8>>())
    }
}

impl Uploads {
    /// `POST /2/media/upload/initialize`.
    pub(super) fn initialize(&mut self, body: &Value) -> Result<(u16, Value), Problem> {
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        let (mime, category) = (text("media_type"), text("media_category"));
        let limit = match (category.as_str(), mime.as_str()) {
            (
                "tweet_image",
                "image/jpeg" | "image/png" | "image/webp" | "image/bmp" | "image/tiff",
            ) => 5 << 20,
            ("tweet_gif", "image/gif") => 15 << 20,
            ("tweet_video", "video/mp4" | "video/quicktime" | "video/webm" | "video/mp2t") => {
                512 << 20
            }
            _ => return Err(Problem::invalid("media_type and media_category do not fit together")),
        };
        let total = body["total_bytes"]
            .as_u64()
            .and_then(|n| usize::try_from(n).ok())
            .filter(|n| (1..=limit).contains(n));
        let Some(total) = total else {
            return Err(Problem::invalid("total_bytes is missing or over the limit"));
        };
        self.next += 1;
        let id = 1_800_000_000_000_000_000 + self.next;
        let busy = u32::from(category == "tweet_video");
        self.files.insert(
            id,
            File {
                mime,
                category,
                total,
                pieces: BTreeMap::new(),
                finished: false,
                busy,
                alt: None,
            },
        );
        Ok((
            200,
            json!({ "data": { "id": id.to_string(), "media_key": format!("3_{id}"), "expires_after_secs": 86_400 } }),
        ))
    }

    /// `POST /2/media/upload/:id/append`.
    pub(super) fn append(
        &mut self,
        id: u64,
        content_type: &str,
        body: &Bytes,
    ) -> Result<(u16, Value), Problem> {
        let parts = multipart::boundary(content_type)
            .and_then(|b| multipart::parts(body, b))
            .ok_or_else(|| Problem::invalid("the body is not a form"))?;
        let field = |name: &str| parts.iter().find(|p| p.name == name);
        let index = field("segment_index")
            .and_then(|p| std::str::from_utf8(&p.bytes).ok()?.parse::<usize>().ok())
            .filter(|n| *n < 1000);
        let (Some(index), Some(media)) = (index, field("media")) else {
            return Err(Problem::invalid("segment_index or media is missing"));
        };
        let file = self.files.get_mut(&id).ok_or_else(|| Problem::invalid("no such media id"))?;
        if file.finished
            || index != file.pieces.len()
            || media.bytes.is_empty()
            || media.bytes.len() > PIECE
        {
            return Err(Problem::invalid(
                "a piece is empty, too large, out of order, or comes after finalize",
            ));
        }
        file.pieces.insert(index, media.bytes.clone());
        Ok((200, json!({ "data": { "expires_at": 0 } })))
    }

    /// `POST /2/media/upload/:id/finalize`.
    pub(super) fn finalize(&mut self, id: u64) -> Result<(u16, Value), Problem> {
        let file = self.files.get_mut(&id).ok_or_else(|| Problem::invalid("no such media id"))?;
        if file.finished || file.pieces.values().map(Bytes::len).sum::<usize>() != file.total {
            return Err(Problem::invalid(
                "finalized twice, or the pieces are not total_bytes together",
            ));
        }
        file.finished = true;
        Ok((200, answer(id, file)))
    }

    /// `GET /2/media/upload?command=STATUS`.
    pub(super) fn status(&mut self, id: u64) -> Result<(u16, Value), Problem> {
        let file = self
            .files
            .get_mut(&id)
            .filter(|f| f.finished)
            .ok_or_else(|| Problem::invalid("no such media id, or not finalized"))?;
        file.busy = file.busy.saturating_sub(1);
        Ok((200, answer(id, file)))
    }

    /// `POST /2/media/metadata`.
    pub(super) fn describe(&mut self, body: &Value) -> Result<(u16, Value), Problem> {
        let alt = body["metadata"]["alt_text"]["text"]
            .as_str()
            .filter(|t| (1..=1000).contains(&t.chars().count()));
        let Some(alt) = alt else {
            return Err(Problem::invalid("alt_text has to have 1 to 1000 characters"));
        };
        let file = self
            .files
            .get_mut(&id_in(body.get("id"), "$.id")?)
            .ok_or_else(|| Problem::invalid("no such media id"))?;
        file.alt = Some(alt.to_owned());
        Ok((200, json!({ "data": { "id": body["id"], "associated_metadata": body["metadata"] } })))
    }

    /// Checks that a post may refer to the file.
    pub(super) fn check(&self, id: u64) -> Result<(), Problem> {
        match self.files.get(&id) {
            Some(file) if file.finished && file.busy == 0 => Ok(()),
            _ => Err(Problem::invalid("Your media IDs are invalid.")),
        }
    }

    /// Checks the combination: up to four pictures, or one animation or video.
    pub(super) fn mix(&self, ids: &[u64]) -> Result<(), Problem> {
        let pictures =
            ids.iter().filter_map(|id| self.files.get(id)).all(|f| f.category == "tweet_image");
        if ids.len() > 1 && !pictures {
            Err(Problem::invalid("films and animations stand alone"))
        } else {
            Ok(())
        }
    }

    /// Marks the file as part of a post.
    pub(super) fn attach(&mut self, id: u64) -> Result<(), Problem> {
        self.check(id)
    }

    pub(super) fn file(&self, id: u64) -> Option<&File> {
        self.files.get(&id)
    }

    /// Object of the file in `includes.media`.
    pub(super) fn json(&self, id: u64) -> Value {
        let alt = self.files.get(&id).and_then(|f| f.alt.clone()).unwrap_or_default();
        json!({ "media_key": format!("3_{id}"), "type": "photo", "url": format!("https://pbs.twimg.com/media/{id}.jpg"), "alt_text": alt })
    }
}

fn answer(id: u64, file: &File) -> Value {
    let mut data =
        json!({ "id": id.to_string(), "media_key": format!("3_{id}"), "size": file.total });
    if file.category == "tweet_video" {
        data["processing_info"] = if file.busy > 0 {
            json!({ "state": "pending", "check_after_secs": 0 })
        } else {
            json!({ "state": "succeeded", "progress_percent": 100 })
        };
    }
    json!({ "data": data })
}
