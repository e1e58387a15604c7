//! Finds tools by words of their names and descriptions (BM25), where a prompt has no room for all.

use std::collections::{BTreeMap, BTreeSet};

/// Saturation and length parameters of BM25 (Robertson and Zaragoza, "The Probabilistic Relevance
/// Framework", 2009: 1.2 and 0.75).
const K1: f64 = 1.2;
const B: f64 = 0.75;
/// A word of a name says more than one of a description.
const NAME: f64 = 3.0;

/// An index of tools.
#[derive(Debug, Clone, Default)]
pub(crate) struct Index {
    /// Weights of the words of each tool.
    tools: Vec<BTreeMap<String, f64>>,
    /// Number of tools with each word.
    known: BTreeMap<String, usize>,
    average: f64,
}

impl Index {
    /// From names, descriptions and names of arguments.
    pub(crate) fn new<'a>(tools: impl Iterator<Item = (&'a str, &'a str, Vec<&'a str>)>) -> Self {
        let mut index = Self::default();
        for (name, description, arguments) in tools {
            let mut words = BTreeMap::new();
            let mut add = |text: &str, weight: f64| {
                for word in stems(text) {
                    *words.entry(word).or_insert(0.0) += weight;
                }
            };
            add(name, NAME);
            add(description, 1.0);
            arguments.iter().for_each(|argument| add(argument, 0.5));
            for word in words.keys() {
                *index.known.entry(word.clone()).or_insert(0) += 1;
            }
            index.tools.push(words);
        }
        let total: f64 = index.tools.iter().flat_map(BTreeMap::values).sum();
        #[allow(clippy::cast_precision_loss, reason = "a count of tools")]
        let number = index.tools.len().max(1) as f64;
        index.average = (total / number).max(1.0);
        index
    }

    /// Positions of the best tools for a question, best first.
    pub(crate) fn find(&self, question: &str, most: usize) -> Vec<usize> {
        let asked: BTreeSet<String> = stems(question).into_iter().collect();
        let mut scored: Vec<(f64, usize)> = self
            .tools
            .iter()
            .enumerate()
            .map(|(at, words)| (asked.iter().map(|word| self.score(word, words)).sum(), at))
            .filter(|(score, _)| *score > 0.0)
            .collect();
        scored.sort_by(|(a, at), (b, bt)| b.total_cmp(a).then(at.cmp(bt)));
        scored.into_iter().take(most).map(|(_, at)| at).collect()
    }

    #[allow(clippy::cast_precision_loss, reason = "counts of tools")]
    fn score(&self, word: &str, words: &BTreeMap<String, f64>) -> f64 {
        // The beginning of a word counts too, for half.
        let found = words.get(word).map(|weight| (word, *weight)).or_else(|| {
            let longer = |known: &&String| {
                known.len() >= 4
                    && word.len() >= 4
                    && (known.starts_with(word) || word.starts_with(known.as_str()))
            };
            words
                .keys()
                .find(longer)
                .and_then(|known| Some((known.as_str(), words.get(known)? / 2.0)))
        });
        let Some((word, weight)) = found else { return 0.0 };
        let with = self.known.get(word).copied().unwrap_or(1) as f64;
        let number = self.tools.len() as f64;
        let rare = (1.0 + (number - with + 0.5) / (with + 0.5)).ln();
        let length: f64 = words.values().sum();
        rare * weight * (K1 + 1.0) / (weight + K1 * (1.0 - B + B * length / self.average))
    }
}

/// Words that every description has.
const COMMON: &[&str] = &[
    "a", "an", "the", "of", "to", "in", "on", "for", "and", "or", "with", "by", "from", "is",
    "are", "be", "it", "its", "this", "that", "as", "at", "if", "into", "can", "will", "you",
    "your", "my", "me", "i", "we", "what", "which", "please", "do", "does", "use", "tool", "given",
    "all", "any", "how", "who",
];

/// Words of a text without endings, lower-cased. `camelCase` and `snake_case` are taken apart.
fn stems(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before = ' ';
    for c in text.chars().chain([' ']) {
        let breaks = !c.is_alphanumeric() || (c.is_uppercase() && before.is_lowercase());
        if breaks && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|word| !COMMON.contains(&word.as_str()));
    words.iter().map(|word| stem(word)).collect()
}

fn stem(word: &str) -> String {
    for (ending, instead) in
        [("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""), ("e", "")]
    {
        if let Some(kept) = word.strip_suffix(ending)
            && kept.chars().count() >= 3
            && !(ending == "s" && kept.ends_with('s'))
        {
            return format!("{kept}{instead}");
        }
    }
    word.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_names_weigh_most_and_nothing_is_found_by_common_ones() {
        let tools = [
            ("github_create_issue", "Create a new issue in a repository.", vec!["title"]),
            ("github_list_issues", "List issues of a repository.", vec!["state"]),
            ("time_getCurrentTime", "The time in a zone.", vec!["timezone"]),
        ];
        let index = Index::new(tools.into_iter());
        assert_eq!(index.find("creating issues", 1), [0]);
        assert_eq!(index.find("What is the current time in Tokyo?", 1), [2]);
        assert_eq!(index.find("the of and", 5), [0_usize; 0]);
    }
}
