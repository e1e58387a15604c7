//! Brings the index of terms up to date while nothing waits for it. SQLite indexes messages after
//! they were stored; PostgreSQL analyses and packs what an earlier version wrote.

use galatea_core::Result;

use crate::{
    Backend, Database,
    change::{Change, Write},
    dialect::{Dialects, Value, values},
    index::place,
    terms,
};

/// Rows of one step: some 20 ms.
const STEP: u32 = 200;

/// Rows whose words an earlier version analysed, the newest first.
pub(crate) const EARLIER: Dialects = Dialects {
    sqlite: "",
    postgres: "SELECT m.seq, m.content::text FROM memories m WHERE NOT m.words @@ '''galateaterms1'''::tsquery ORDER BY m.seq DESC LIMIT $1",
};
/// Not if the text was replaced meanwhile: then its words are those of this version.
pub(crate) const ANALYSE: Dialects = Dialects {
    sqlite: "",
    postgres: concat!(
        "UPDATE memories SET words = to_tsvector('simple', ",
        place!("valid_until"),
        " || ' ' || n.terms) FROM unnest($1::bigint[], $2::text[]) n (number, terms) \
         WHERE seq = n.number AND NOT words @@ '''galateaterms1'''::tsquery"
    ),
};

/// Embeddings that an earlier version wrote, the newest first.
pub(crate) const UNPACKED: Dialects = Dialects {
    sqlite: "",
    postgres: "SELECT e.seq FROM embeddings e WHERE e.numbers IS NULL ORDER BY e.seq DESC LIMIT $1",
};
/// Packs them as [`crate::convert::packed`] does.
pub(crate) const PACK: Dialects = Dialects {
    sqlite: "",
    postgres: "UPDATE embeddings SET numbers = (SELECT string_agg(float4send(n.number), ''::bytea ORDER BY n.place) \
               FROM unnest(vector) WITH ORDINALITY n (number, place)), vector = '{}' WHERE seq = ANY ($1) AND numbers IS NULL",
};

impl Database {
    /// Indexes some memories; true if others are left.
    pub(crate) async fn index_step(&self) -> Result<bool> {
        match &self.0.backend {
            Backend::Sqlite(sqlite) => Ok(!sqlite.index_terms().await?),
            Backend::Postgres(_) => Ok(self.analyse_earlier().await? || self.pack_earlier().await?),
        }
    }

    async fn pack_earlier(&self) -> Result<bool> {
        let rows: Vec<(i64,)> = self.all(UNPACKED.with(values![STEP])).await?;
        if rows.is_empty() {
            return Ok(false);
        }
        let seqs = rows.into_iter().map(|(seq,)| seq).collect();
        self.write_one(PACK.with(vec![Value::Ints(seqs)])).await?;
        Ok(true)
    }

    async fn analyse_earlier(&self) -> Result<bool> {
        let rows: Vec<(i64, String)> = self.all(EARLIER.with(values![STEP])).await?;
        if rows.is_empty() {
            return Ok(false);
        }
        let text = |content: &str| {
            let content: serde_json::Value = serde_json::from_str(content).unwrap_or_default();
            content
                .get("text")
                .and_then(|text| text.as_str())
                .map(terms::of_text)
                .unwrap_or_default()
        };
        let analysed = rows
            .iter()
            .map(|(_, content)| format!("{} {}", terms::VERSION, text(content)))
            .collect();
        let seqs = rows.iter().map(|(seq, _)| *seq).collect();
        let values = vec![Value::Ints(seqs), Value::Texts(analysed)];
        let mut change = Change::default();
        change.push(Write::statement(ANALYSE.with(values)))?;
        self.write(change).await?;
        Ok(true)
    }
}
