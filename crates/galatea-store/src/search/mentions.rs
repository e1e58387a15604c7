//! Which candidates are by or about a person whom the question names: their own messages, and those of
//! others that contain the name.

use galatea_core::Result;

use super::{
    candidates::Known,
    rank::Seqs,
    source::{Row, Search},
    view::Dialect,
};
use crate::{
    dialect::{Dialects, Value},
    sqlite::raw::Columns,
    terms::Names,
};

/// The texts of messages by number; in PostgreSQL only the numbers of those that contain one of the
/// names.
pub(crate) const MENTIONS: Dialects = Dialects {
    sqlite: "SELECT m.seq, coalesce(m.content ->> '$.text', '') FROM memories m WHERE m.seq IN (SELECT value FROM json_each($1))",
    postgres: "SELECT m.seq FROM memories m WHERE m.seq = ANY ($1) AND m.words @@ $2::tsquery",
};

/// A message and its text.
impl Row for (i64, String) {
    fn of(row: &mut Columns<'_>) -> Option<Self> {
        Some((row.int(0)?, row.text(1)?.to_owned()))
    }
}

impl Search<'_, '_> {
    /// Those of the memories that are by a named person, or contain a name.
    pub(super) async fn naming(&self, seqs: &[i64], known: &Known) -> Result<Seqs> {
        let query = self.query;
        let is_by =
            |seq: &&i64| known.get(*seq).is_some_and(|seen| query.named.contains(&seen.person));
        let mut naming: Seqs = seqs.iter().filter(is_by).copied().collect();
        let names = Names::new(&query.mentions);
        if names.is_empty() {
            return Ok(naming);
        }
        let unknown: Vec<i64> = seqs.iter().copied().filter(|seq| !naming.contains(seq)).collect();
        if unknown.is_empty() {
            return Ok(naming);
        }
        match self.source.dialect() {
            Dialect::Sqlite => {
                let statement = MENTIONS.with(vec![Value::Ints(unknown)]);
                let texts: Vec<(i64, String)> = self.source.all(statement).await?;
                naming.extend(
                    texts.into_iter().filter(|(_, text)| names.are_in(text)).map(|(seq, _)| seq),
                );
            }
            Dialect::Postgres => {
                let values = vec![Value::Ints(unknown), names.as_query().as_str().into()];
                naming.extend(self.source.numbers(MENTIONS.with(values)).await?);
            }
        }
        Ok(naming)
    }
}
