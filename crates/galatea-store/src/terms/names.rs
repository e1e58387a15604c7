//! The names in a question, as terms of the texts that contain them.

use super::{
    clipped, folded,
    split::{Piece, head, pieces},
};

/// The terms of each name. A text that has all terms of one contains it, but for their order.
#[derive(Debug, Default)]
pub(crate) struct Names(Vec<Vec<String>>);

impl Names {
    pub(crate) fn new(names: &[String]) -> Self {
        let terms = |name: &String| terms(name);
        Self(names.iter().map(terms).filter(|terms| !terms.is_empty()).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a text contains one of the names.
    pub(crate) fn are_in(&self, text: &str) -> bool {
        let terms = terms(text);
        self.0.iter().any(|name| name.iter().all(|term| terms.contains(term)))
    }

    /// The names as PostgreSQL's query. Terms are letters and digits only.
    pub(crate) fn as_query(&self) -> String {
        let name = |terms: &Vec<String>| {
            let quoted: Vec<String> = terms.iter().map(|term| format!("'{term}'")).collect();
            format!("({})", quoted.join(" & "))
        };
        self.0.iter().map(name).collect::<Vec<_>>().join(" | ")
    }
}

/// Words as they are written, and pairs of characters of scripts without spaces.
fn terms(text: &str) -> Vec<String> {
    let folded = folded(clipped(text));
    let mut out = Vec::new();
    for piece in pieces(&folded) {
        match piece {
            Piece::Word(word) => out.push(head(word).to_owned()),
            Piece::Run(run) => out.extend(super::both(run)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains(name: &str, text: &str) -> bool {
        Names::new(&[name.to_owned()]).are_in(text)
    }

    #[test]
    fn a_text_contains_a_name_as_a_whole_word_in_any_case() {
        for (name, text, expected) in [
            ("Kenji", "I met KENJI's landlord", true),
            ("kenji", "Kenjiro called", false),
            ("Élodie", "elodie, your bike", true),
            ("Ada Lovelace", "where is Ada? Lovelace!", true),
            ("Ada Lovelace", "where is Ada?", false),
            ("王小明", "我看见王小明的自行车", true),
            ("王小明", "小明在家", false),
            ("Νίκος", "ο Νίκος ήρθε", true),
        ] {
            assert_eq!(contains(name, text), expected, "{name}: {text}");
        }
        assert!(Names::new(&["!".to_owned()]).is_empty());
        let query = Names::new(&["Ada Lovelace".to_owned(), "Bo".to_owned()]).as_query();
        assert_eq!(query, "('ada' & 'lovelace') | ('bo')");
    }
}
