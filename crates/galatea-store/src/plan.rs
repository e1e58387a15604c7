//! All hints to the query planners, each with its reason. Other conditions need none. `tests/plans.rs` shows that no growing table is read whole.
//!
//! Measured on 100,000 messages of one agent in 100 Rooms, of which one has half (2026-11-26).

/// SQLite: a column that chooses no index (<https://www.sqlite.org/optoverview.html#disqualify>).
///
/// SQLite keeps no statistics, so that its plans are the same in every database. It then takes the
/// index of an agent for as good as that of a Room or a list of ids, though nearly all rows are the
/// agent's. Without the sign three memories by id take 74 ms in place of 0.09, the newest 501 of a
/// Room of 500 messages 43 ms in place of 1.2, the messages beside five others 4.2 ms in place of
/// 0.12. PostgreSQL has statistics (`postgres/statistics.rs`): there the plain condition has the
/// right plan (0.02 to 0.8 ms for the same).
macro_rules! no_index {
    ($column:literal) => {
        concat!("+", $column)
    };
}
pub(crate) use no_index;

/// SQLite: the index of the ledger's rows by person.
///
/// SQLite takes the primary key for better, since it has all columns of a row, though it begins with
/// the day and not with the person: then all rows of all earlier days are read for each person. With
/// 40,000 rows the sum of 100 strangers takes 10 s in place of 0.4 ms.
macro_rules! index_of_person {
    () => {
        " INDEXED BY usage_of_entity"
    };
}
pub(crate) use index_of_person;

/// PostgreSQL: conditions that choose no index, for rows that the index of words names.
///
/// A plan for any values cannot know how rare a word is. With plain conditions the server also reads
/// the index of the Room, whole, to intersect both: a word of 20 messages takes 8 to 12 ms in place
/// of 0.4 in a Room of 50,000.
pub(crate) fn after_words(conditions: &str) -> String {
    format!("CASE WHEN {conditions} THEN true END")
}

/// PostgreSQL: the order of rows that the index of words names. A sum is in no index: the server
/// would rather walk all messages in their order until enough have the word, 25 to 33 ms in place of
/// 0.4.
pub(crate) const AFTER_WORDS_NEWEST: &str = "m.seq + 0 DESC";
