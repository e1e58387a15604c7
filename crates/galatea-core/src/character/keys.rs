//! The names a character file may use, and the nearest one to a misspelt name.

/// Fields of a character, in the order `convert` writes them.
pub(super) const FIELDS: &[&str] = &[
    "$schema",
    "id",
    "name",
    "username",
    "system",
    "templates",
    "bio",
    "messageExamples",
    "postExamples",
    "topics",
    "adjectives",
    "knowledge",
    "plugins",
    "settings",
    "secrets",
    "style",
];

/// Prompt templates that are used, by elizaOS name.
pub(super) const TEMPLATES: &[&str] = &[
    "shouldRespondTemplate",
    "messageHandlerTemplate",
    "multiStepDecisionTemplate",
    "multiStepSummaryTemplate",
    "replyTemplate",
    "reflectionTemplate",
    "postCreationTemplate",
    "imageGenerationTemplate",
    "quoteTweetTemplate",
    "replyTweetTemplate",
    "twitterActionTemplate",
];

/// Fields of `style`.
pub(super) const STYLE: &[&str] = &["all", "chat", "post"];

/// The known name that was probably meant: the same but for case and underscores, or few edits away
/// (a swap of neighbours is one).
pub(super) fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    // An edit distance takes time in proportion to the product of the lengths; no known name is
    // this long.
    if name.len() > 64 {
        return None;
    }
    let plain = |text: &str| {
        text.chars()
            .filter(|c| !matches!(c, '_' | '-' | ' '))
            .flat_map(char::to_lowercase)
            .collect::<String>()
    };
    let wanted = plain(name);
    if wanted.is_empty() {
        return None;
    }
    known
        .iter()
        .map(|k| (strsim::damerau_levenshtein(&wanted, &plain(k)), *k))
        .filter(|(distance, k)| {
            *distance <= 1.max(k.len() / 4) || (wanted.len() >= 4 && plain(k).starts_with(&wanted))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, k)| k)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_names_find_their_neighbour() {
        for (wrong, right) in [
            ("boi", "bio"),
            ("nmae", "name"),
            ("message_examples", "messageExamples"),
            ("MessageExample", "messageExamples"),
            ("plugin", "plugins"),
            ("adjetives", "adjectives"),
            ("sytem", "system"),
        ] {
            assert_eq!(nearest(wrong, FIELDS), Some(right), "{wrong}");
        }
        assert_eq!(nearest("shouldRespond", TEMPLATES), Some("shouldRespondTemplate"));
    }

    #[test]
    fn other_names_find_none() {
        for name in ["favouriteColour", "", "_", "x", &"n".repeat(100_000)] {
            assert_eq!(nearest(name, FIELDS), None, "{name}");
        }
    }
}
