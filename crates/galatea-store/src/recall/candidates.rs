//! Candidates: by words, by meaning, or the newest.

use galatea_core::{
    Result,
    store::{Meaning, RecallQuery},
    visibility::View,
};
use std::collections::HashMap;

use super::view::{Builder, Dialect, place_terms};
use crate::{
    Backend, Database, convert,
    dialect::{Dialects, Statement, Value},
    postgres::PGVECTOR,
    terms::Asked,
};

/// Embeddings of memories by number.
pub(crate) const MEANINGS: Dialects = Dialects {
    sqlite: "SELECT e.seq, e.vector FROM embeddings e WHERE e.seq IN (SELECT value FROM json_each($1)) AND e.model = $2 AND e.width = $3",
    postgres: "SELECT e.seq, e.vector FROM embeddings e WHERE e.seq = ANY ($1) AND e.model = $2 AND e.width = $3",
};

fn limit(most: usize) -> Value {
    Value::Int(Some(i64::try_from(most).unwrap_or(i64::MAX)))
}

/// The newest of what may be seen.
fn newest(dialect: Dialect, query: &RecallQuery, most: usize) -> Statement {
    let mut builder = Builder::new(dialect, query);
    let parts = builder.parts();
    let most = builder.bind(limit(most));
    let parts: Vec<String> = parts
        .iter()
        .map(|part| {
            format!(
                "SELECT * FROM (SELECT m.seq, m.created_at FROM memories m WHERE {part} ORDER BY m.created_at DESC, m.seq DESC LIMIT +{most}) p"
            )
        })
        .collect();
    let text = format!(
        "SELECT n.seq FROM ({}) n ORDER BY n.created_at DESC, n.seq DESC LIMIT +{most}",
        parts.join(" UNION ALL ")
    );
    builder.finish(text)
}

/// Those of these numbers that the query may show.
fn visible(dialect: Dialect, query: &RecallQuery, seqs: &[i64]) -> Statement {
    let mut builder = Builder::new(dialect, query);
    let seqs = builder.among(seqs);
    let parts: Vec<String> = builder.parts().iter().map(|part| format!("({part})")).collect();
    let which = match dialect {
        // The numbers are few; no other index is better.
        Dialect::Sqlite => "memories m NOT INDEXED",
        Dialect::Postgres => "memories m",
    };
    let text = format!("SELECT m.seq FROM {which} WHERE m.seq {seqs} AND ({})", parts.join(" OR "));
    builder.finish(text)
}

fn quoted(terms: &[String]) -> String {
    terms.iter().map(|term| format!("\"{term}\"")).collect::<Vec<_>>().join(" OR ")
}

/// SQLite: the index finds place and words, and ranks by BM25; rows are looked at only where the
/// query has conditions beside them.
fn words_in_sqlite(query: &RecallQuery, asked: &[Asked], most: usize) -> Statement {
    let mut builder = Builder::new(Dialect::Sqlite, query);
    let places = place_terms(query);
    let words: Vec<String> = asked
        .iter()
        .flat_map(|asked| {
            let star = if asked.prefix { "*" } else { "" };
            std::iter::once(format!("\"{}\"{star}", asked.exact))
                .chain(asked.stems.iter().map(|stem| format!("\"{stem}\"")))
        })
        .collect();
    let words = format!("{{terms}} : ({})", words.join(" OR "));
    let expression = if places.is_empty() {
        words
    } else {
        format!("{{place}} : ({}) AND {words}", quoted(&places))
    };
    let matching = builder.bind(expression);
    let mut conditions = builder.further();
    let operator = *query.visible.view() == View::Operator;
    if operator {
        conditions.push(builder.sorts());
        conditions.extend(builder.validity());
        conditions.extend(builder.places());
    }
    let most = builder.bind(limit(most));
    let text = if conditions.is_empty() {
        format!(
            "SELECT f.rowid, -f.rank FROM recall_terms f WHERE f.recall_terms MATCH {matching} ORDER BY f.rank LIMIT +{most}"
        )
    } else {
        format!(
            "SELECT f.rowid, -f.rank FROM recall_terms f CROSS JOIN memories m ON m.seq = f.rowid \
             WHERE f.recall_terms MATCH {matching} AND {} ORDER BY f.rank LIMIT +{most}",
            conditions.join(" AND ")
        )
    };
    builder.finish(text)
}

/// A question as PostgreSQL's index understands it. Terms are letters and digits only.
fn tsquery(asked: &Asked) -> String {
    let star = if asked.prefix { ":*" } else { "" };
    std::iter::once(format!("'{}'{star}", asked.exact))
        .chain(asked.stems.iter().map(|stem| format!("'{stem}'")))
        .collect::<Vec<_>>()
        .join(" | ")
}

/// PostgreSQL: the index finds place and words; how rare a word is among what was found weighs it,
/// since the server's own ranks know nothing of other rows.
fn words_in_postgres(query: &RecallQuery, asked: &[Asked], most: usize) -> Statement {
    let mut builder = Builder::new(Dialect::Postgres, query);
    let places = place_terms(query);
    let groups: Vec<String> = asked.iter().map(tsquery).collect();
    let mut all = format!("({})", groups.join(" | "));
    if !places.is_empty() {
        let places: Vec<String> = places.iter().map(|place| format!("'{place}'")).collect();
        all = format!("({}) & {all}", places.join(" | "));
    }
    let all = builder.bind(all);
    let terms: Vec<(String, String)> = groups
        .iter()
        .zip(asked)
        .map(|(group, asked)| {
            let group = builder.bind(group.as_str());
            let exact = format!("'{}'{}", asked.exact, if asked.prefix { ":*" } else { "" });
            (group, builder.bind(exact))
        })
        .collect();
    let mut conditions = vec![builder.sorts()];
    conditions.extend(builder.validity());
    conditions.extend(builder.further());
    let places: Vec<String> = builder.places().iter().map(|place| format!("({place})")).collect();
    conditions.push(format!("({})", places.join(" OR ")));
    let most = builder.bind(limit(most));
    let counts: Vec<String> = terms
        .iter()
        .enumerate()
        .map(|(n, (group, _))| {
            format!("count(*) FILTER (WHERE f.words @@ {group}::tsquery)::float8 AS d{n}")
        })
        .collect();
    // BM25 with each word counted once, in the exact form a third more (k1 = 1.2, b = 0.75; a row
    // has some two terms a word).
    let weights: Vec<String> = terms
        .iter()
        .enumerate()
        .map(|(n, (group, exact))| {
            format!(
                "CASE WHEN f.words @@ {exact}::tsquery THEN 1.33 WHEN f.words @@ {group}::tsquery THEN 1.0 ELSE 0 END * ln(1 + (c.total - c.d{n} + 0.5) / (c.d{n} + 0.5))"
            )
        })
        .collect();
    let text = format!(
        "WITH f AS MATERIALIZED (SELECT m.seq, m.words, m.created_at FROM memories m WHERE m.words @@ {all}::tsquery AND {}), \
         c AS (SELECT greatest(4 * count(*), 1000)::float8 AS total, greatest(avg(length(f.words)), 1)::float8 AS long, {} FROM f) \
         SELECT f.seq, (({}) * 2.2 / (1 + 1.2 * (0.25 + 0.75 * length(f.words) / c.long)))::float8 AS score FROM f, c \
         ORDER BY score DESC, f.created_at DESC, f.seq DESC LIMIT {most}",
        conditions.join(" AND "),
        counts.join(", "),
        weights.join(" + ")
    );
    builder.finish(text)
}

/// Exact similarity to each embedding that may be seen.
fn near_in_sqlite(query: &RecallQuery, meaning: &Meaning, most: usize) -> Statement {
    let mut builder = Builder::new(Dialect::Sqlite, query);
    let parts = builder.parts();
    let model = builder.bind(meaning.model.as_str());
    let width = builder.bind(convert::width(meaning.embedding.width()));
    let vector = builder.bind(Value::Vector(meaning.embedding.numbers().to_vec()));
    let most = builder.bind(limit(most));
    let parts: Vec<String> = parts
        .iter()
        .map(|part| {
            format!(
                "SELECT m.seq, CASE e.width WHEN {width} THEN 1 - vec_distance_cosine(e.vector, {vector}) END AS similarity \
                 FROM memories m CROSS JOIN embeddings e ON e.seq = m.seq WHERE {part} AND e.model = {model}"
            )
        })
        .collect();
    let text = format!(
        "SELECT n.seq, n.similarity FROM ({}) n WHERE n.similarity IS NOT NULL ORDER BY n.similarity DESC, n.seq DESC LIMIT +{most}",
        parts.join(" UNION ALL ")
    );
    builder.finish(text)
}

/// By pgvector, whose objects are in `schema`; without it every vector comes here.
fn near_in_postgres(
    query: &RecallQuery,
    meaning: &Meaning,
    most: usize,
    schema: Option<&str>,
) -> Statement {
    let mut builder = Builder::new(Dialect::Postgres, query);
    let parts = builder.parts();
    let model = builder.bind(meaning.model.as_str());
    let width = builder.bind(convert::width(meaning.embedding.width()));
    let similarity = match schema {
        None => "e.vector".to_owned(),
        Some(schema) => {
            let vector = builder.bind(Value::Vector(meaning.embedding.numbers().to_vec()));
            format!(
                "CASE WHEN e.width = {width} THEN 1 - (e.vector::{schema}.vector OPERATOR({schema}.<=>) {vector}::real[]::{schema}.vector) END"
            )
        }
    };
    let parts: Vec<String> = parts
        .iter()
        .map(|part| {
            format!(
                "SELECT m.seq, {similarity} AS near FROM memories m JOIN embeddings e ON e.seq = m.seq \
                 WHERE {part} AND e.model = {model} AND e.width = {width}"
            )
        })
        .collect();
    let all = parts.join(" UNION ALL ");
    let text = if schema.is_some() {
        let most = builder.bind(limit(most));
        format!(
            "SELECT n.seq, n.near::float8 FROM ({all}) n WHERE n.near IS NOT NULL ORDER BY n.near DESC, n.seq DESC LIMIT {most}"
        )
    } else {
        all
    };
    builder.finish(text)
}

#[allow(clippy::cast_possible_truncation, reason = "scores need no more than seven digits")]
fn short(rows: Vec<(i64, f64)>) -> Vec<(i64, f32)> {
    rows.into_iter().map(|(seq, score)| (seq, score as f32)).collect()
}

impl Database {
    fn dialect(&self) -> Dialect {
        Dialect::of(&self.0.backend)
    }

    /// Numbers of the newest.
    pub(super) async fn newest(&self, query: &RecallQuery, most: usize) -> Result<Vec<i64>> {
        let rows: Vec<(i64,)> = self.all(newest(self.dialect(), query, most)).await?;
        Ok(rows.into_iter().map(|(seq,)| seq).collect())
    }

    /// Those of these that the query may show.
    pub(super) async fn visible_of(&self, query: &RecallQuery, seqs: &[i64]) -> Result<Vec<i64>> {
        if seqs.is_empty() {
            return Ok(Vec::new());
        }
        let rows: Vec<(i64,)> = self.all(visible(self.dialect(), query, seqs)).await?;
        Ok(rows.into_iter().map(|(seq,)| seq).collect())
    }

    /// The best by words, with their scores.
    pub(super) async fn by_words(
        &self,
        query: &RecallQuery,
        asked: &[Asked],
        most: usize,
    ) -> Result<Vec<(i64, f32)>> {
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        let statement = match &self.0.backend {
            Backend::Sqlite(sqlite) => {
                sqlite.index_terms().await?;
                words_in_sqlite(query, asked, most)
            }
            Backend::Postgres(_) => words_in_postgres(query, asked, most),
        };
        Ok(short(self.all(statement).await?))
    }

    /// The most similar, with their similarities.
    pub(super) async fn by_meaning(
        &self,
        query: &RecallQuery,
        meaning: &Meaning,
        most: usize,
    ) -> Result<Vec<(i64, f32)>> {
        let postgres = match &self.0.backend {
            Backend::Sqlite(_) => {
                return Ok(short(self.all(near_in_sqlite(query, meaning, most)).await?));
            }
            Backend::Postgres(postgres) => postgres,
        };
        let pgvector = Statement::for_postgres(PGVECTOR, Vec::new());
        if let Some((schema, _)) = self.one::<(String, String)>(pgvector).await? {
            match self.all(near_in_postgres(query, meaning, most, Some(&schema))).await {
                Ok(found) => return Ok(short(found)),
                // Removed in between, or of a version that does not understand us.
                Err(error) => {
                    tracing::debug!(error = %error.report(), "pgvector could not be used, so embeddings are compared here");
                }
            }
        }
        let rows: Vec<(i64, Vec<f32>)> =
            postgres.all(near_in_postgres(query, meaning, most, None)).await?;
        let mut near: Vec<(i64, f32)> = rows
            .into_iter()
            .filter_map(|(seq, vector)| Some((seq, meaning.embedding.similarity(&vector)?)))
            .collect();
        near.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
        near.truncate(most);
        Ok(near)
    }

    /// Adds the similarities of candidates that were found in another way.
    pub(super) async fn complete(
        &self,
        query: &RecallQuery,
        seqs: &[i64],
        known: &mut HashMap<i64, f32>,
    ) -> Result<()> {
        let missing: Vec<i64> =
            seqs.iter().copied().filter(|seq| !known.contains_key(seq)).collect();
        for meaning in query.meanings.iter().filter(|_| !missing.is_empty()) {
            let values = vec![
                Value::Ints(missing.clone()),
                meaning.model.as_str().into(),
                convert::width(meaning.embedding.width()).into(),
            ];
            let statement = MEANINGS.with(values);
            let vectors: Vec<(i64, Vec<f32>)> = match &self.0.backend {
                Backend::Sqlite(_) => {
                    let rows: Vec<(i64, Vec<u8>)> = self.all_of_sqlite(statement).await?;
                    rows.into_iter().map(|(seq, bytes)| (seq, convert::floats(&bytes))).collect()
                }
                Backend::Postgres(postgres) => postgres.all(statement).await?,
            };
            known.extend(
                vectors.into_iter().filter_map(|(seq, vector)| {
                    Some((seq, meaning.embedding.similarity(&vector)?))
                }),
            );
        }
        Ok(())
    }
}

/// All statements of a query that every server takes.
#[cfg(test)]
pub(crate) fn statements(dialect: Dialect, query: &RecallQuery) -> Vec<String> {
    let asked = crate::terms::of_question(&query.text);
    let mut out = vec![newest(dialect, query, 10), visible(dialect, query, &[1, 2])];
    match dialect {
        Dialect::Sqlite => out.push(words_in_sqlite(query, &asked, 10)),
        Dialect::Postgres => out.push(words_in_postgres(query, &asked, 10)),
    }
    for meaning in &query.meanings {
        out.push(match dialect {
            Dialect::Sqlite => near_in_sqlite(query, meaning, 10),
            Dialect::Postgres => near_in_postgres(query, meaning, 10, None),
        });
    }
    out.into_iter()
        .map(|s| if dialect == Dialect::Sqlite { s.sqlite } else { s.postgres }.into_owned())
        .collect()
}
