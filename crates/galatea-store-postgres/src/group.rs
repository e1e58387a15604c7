//! A group of changes as steps: what is about messages and turns goes together, one statement for all rows of a kind; the rest follows.

use std::collections::HashSet;

use crate::change::Row;

/// Carried out first, in this order, each for all its rows at once.
const TOGETHER: [&str; 6] = ["fence", "message", "finish", "memory", "delivery", "settle"];
/// May change places with those: they touch other tables, or rows whose key says so.
const BESIDE: [&str; 6] = ["world", "room", "entity", "participant", "cursor", "settle_answered"];

/// The steps of rows, in JSON. What comes later about the same message or delivery comes later here, and nothing goes past a row of any
/// other kind.
pub(crate) fn steps<'a>(rows: impl Iterator<Item = &'a Row>) -> String {
    let mut together = TOGETHER.map(|op| Step { op, rows: String::new() });
    let mut rest: Vec<Step> = Vec::new();
    let (mut keys, mut in_order) = (HashSet::new(), false);
    for Row { op, key, looks_for, text } in rows {
        let first = looks_for.is_none_or(|key| !keys.contains(&key)) & key.is_none_or(|key| keys.insert(key));
        let place = TOGETHER.iter().position(|known| known == op);
        in_order |= place.is_none() && !BESIDE.contains(op);
        match place {
            Some(place) if first && !in_order => together[place].add(text),
            // Rows that go together are each about another message.
            None if rest.last().is_some_and(|last| last.op == *op) => rest.last_mut().into_iter().for_each(|last| last.add(text)),
            _ => rest.push(Step { op, rows: text.clone() }),
        }
    }
    let steps: Vec<String> = together.iter().chain(&rest).filter(|step| !step.rows.is_empty()).map(Step::json).collect();
    format!("[{}]", steps.join(","))
}

struct Step {
    op: &'static str,
    rows: String,
}

impl Step {
    fn add(&mut self, row: &str) {
        if !self.rows.is_empty() {
            self.rows.push(',');
        }
        self.rows.push_str(row);
    }

    fn json(&self) -> String {
        format!(r#"{{"op":"{}","rows":[{}]}}"#, self.op, self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn row(op: &'static str, key: u128, text: &str) -> Row {
        Row { op, key: (key > 0).then(|| Uuid::from_u128(key)), looks_for: None, text: text.to_owned() }
    }

    fn told(rows: &[Row]) -> String {
        steps(rows.iter()).replace(r#"{"op":"#, "").replace(r#","rows":"#, "").replace(['"', '}'], "")
    }

    #[test]
    fn rows_of_a_kind_go_together_before_the_rest() {
        let rows = [row("fence", 0, "1"), row("room", 0, "2"), row("room", 0, "3"), row("message", 7, "4"), row("fence", 0, "5"), row("message", 8, "6")];
        assert_eq!(told(&rows), "[fence[1,5],message[4,6],room[2,3]]");
        assert_eq!(told(&[]), "[]");
    }

    #[test]
    fn what_is_about_the_same_one_keeps_its_order() {
        let rows = [row("settle_answered", 7, "1"), row("settle", 7, "2"), row("settle", 8, "3"), row("settle", 8, "4"), row("settle", 8, "5")];
        assert_eq!(told(&rows), "[settle[3],settle_answered[1],settle[2],settle[4],settle[5]]");
    }

    #[test]
    fn a_message_follows_the_one_it_looks_for() {
        let mut rows = [row("message", 7, "1"), row("message", 8, "2"), row("message", 9, "3")];
        rows[1].looks_for = Some(Uuid::from_u128(7));
        rows[2].looks_for = Some(Uuid::from_u128(10));
        assert_eq!(told(&rows), "[message[1,3],message[2]]");
    }

    #[test]
    fn nothing_goes_past_what_may_concern_it() {
        let rows = [row("message", 7, "1"), row("forget_person", 0, "2"), row("message", 8, "3"), row("fence", 0, "4")];
        assert_eq!(told(&rows), "[message[1],forget_person[2],message[3],fence[4]]");
    }
}
