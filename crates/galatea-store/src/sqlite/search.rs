//! Full-text search: indexed when a search runs, so that storing a message costs nothing for it.

use galatea_core::Result;

use super::Sqlite;
use crate::{
    change::{Change, Write},
    dialect::{Dialects, values},
};

/// Memories indexed in one commit (some 20 ms), so that a search after a long time does not hold up
/// messages.
const STEP: u32 = 2_000;

/// The texts of the next so many memories, then how far the index has come.
pub(crate) const INDEX: Dialects = Dialects {
    sqlite: "INSERT INTO memories_fts (rowid, text) SELECT seq, text FROM memory_text WHERE seq > (SELECT seq FROM search_progress) ORDER BY seq LIMIT +$1",
    postgres: "",
};
pub(crate) const PROGRESS: Dialects = Dialects {
    sqlite: "UPDATE search_progress SET seq = coalesce( \
             (SELECT max(seq) FROM (SELECT m.seq FROM memories m WHERE m.seq > search_progress.seq ORDER BY m.seq LIMIT +$1)), seq)",
    postgres: "",
};
pub(crate) const BEHIND: Dialects = Dialects {
    sqlite: "SELECT coalesce((SELECT max(seq) FROM memories), 0) > seq FROM search_progress",
    postgres: "",
};

/// The same for the index of terms, which the program makes of the texts.
pub(crate) const INDEX_TERMS: Dialects = Dialects {
    sqlite: "INSERT INTO recall_terms (rowid, terms) SELECT seq, terms FROM memory_terms \
             WHERE seq > (SELECT seq FROM terms_progress) ORDER BY seq LIMIT +$1",
    postgres: "",
};
pub(crate) const TERMS_PROGRESS: Dialects = Dialects {
    sqlite: "UPDATE terms_progress SET seq = coalesce( \
             (SELECT max(seq) FROM (SELECT m.seq FROM memories m WHERE m.seq > terms_progress.seq ORDER BY m.seq LIMIT +$1)), seq)",
    postgres: "",
};
pub(crate) const TERMS_BEHIND: Dialects = Dialects {
    sqlite: "SELECT coalesce((SELECT max(seq) FROM memories), 0) - seq FROM terms_progress",
    postgres: "",
};

/// Rows of terms indexed in one commit (some 20 ms).
const TERMS_STEP: u32 = 500;
/// Steps for which one search waits; what is behind them is indexed in the background.
const TERMS_STEPS: usize = 4;

impl Sqlite {
    /// Brings the index of terms up to what has been stored so far, or a good step towards it:
    /// false if rows are left.
    pub(crate) async fn index_terms(&self) -> Result<bool> {
        for _ in 0..TERMS_STEPS {
            let behind = self.one::<(i64,)>(TERMS_BEHIND.with(values![])).await?;
            if behind.is_none_or(|(behind,)| behind == 0) {
                return Ok(true);
            }
            let statements =
                [INDEX_TERMS, TERMS_PROGRESS].map(|step| step.with(values![TERMS_STEP])).into();
            let mut change = Change::default();
            change.push(Write::Other { statements, counted: None })?;
            self.write(change).await?;
        }
        Ok(false)
    }

    /// Brings the index up to what has been stored so far.
    pub(crate) async fn index_text(&self) -> Result<()> {
        while self.one::<(bool,)>(BEHIND.with(values![])).await?.is_some_and(|(behind,)| behind) {
            let statements = [INDEX, PROGRESS].map(|step| step.with(values![STEP])).into();
            let mut change = Change::default();
            change.push(Write::Other { statements, counted: None })?;
            self.write(change).await?;
        }
        Ok(())
    }
}

/// Words as an FTS5 expression that asks for all of them; none when there is no word in it. Quoting
/// takes the meaning from FTS5's operators
/// (<https://www.sqlite.org/fts5.html#full_text_query_syntax>).
pub(crate) fn expression(words: &str) -> Option<String> {
    let words: Vec<String> = words
        .split(|c: char| !c.is_alphanumeric() && c != '\'')
        .filter(|word| word.contains(char::is_alphanumeric))
        .map(|word| format!("\"{word}\""))
        .collect();
    (!words.is_empty()).then(|| words.join(" AND "))
}

#[cfg(test)]
mod tests {
    use super::expression;

    #[test]
    fn operators_become_words() {
        assert_eq!(expression("red OR blue").as_deref(), Some(r#""red" AND "OR" AND "blue""#));
        assert_eq!(
            expression(r#"a" NOT (b* -c^ text:d"#).as_deref(),
            Some(r#""a" AND "NOT" AND "b" AND "c" AND "text" AND "d""#)
        );
        assert_eq!(expression(" ,.'! "), None);
    }
}
