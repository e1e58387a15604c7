//! Messages of a Room as PostgreSQL gives them.

use galatea_core::{EntityId, MemoryId};
use serde::Deserialize;
use sqlx::{FromRow, Row, postgres::PgRow};
use std::borrow::Cow;

use super::Message;

impl FromRow<'_, PgRow> for Message {
    fn from_row(row: &PgRow) -> Result<Self, sqlx::Error> {
        let (id, person) = (MemoryId(row.try_get("id")?), EntityId(row.try_get("entity_id")?));
        let text = text_of(row.try_get("content")?);
        Ok(Self::new(row.try_get("seq")?, id, person, row.try_get("created_at")?, &text))
    }
}

/// The text in a stored content, which PostgreSQL cannot give if it has U+0000 in it.
pub(crate) fn text_of(content: &str) -> String {
    #[derive(Deserialize)]
    struct Said<'a> {
        #[serde(borrow, default)]
        text: Cow<'a, str>,
    }
    serde_json::from_str::<Said<'_>>(content).map(|said| said.text.into_owned()).unwrap_or_default()
}
