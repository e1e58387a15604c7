//! A name in front of an answer: `Eliza: hello`. Models write it because every line they read has
//! one.

use super::types::Parsed;

/// Takes the agent's own name, or another that it goes by, off the front of the words.
pub(crate) fn take_name_off<'a>(parsed: &mut Parsed, names: impl Iterator<Item = &'a str> + Clone) {
    let Some(rest) = without_name(&parsed.plan.text, names).map(str::to_owned) else { return };
    parsed.repairs.push("the agent's name in front taken off");
    parsed.say(rest);
}

/// The text behind `Name:`, `**Name:**`, `@handle:` or `Name [14:05]:`; none when the text does not
/// begin so, or nothing follows.
pub(super) fn without_name<'a>(
    text: &str,
    mut names: impl Iterator<Item = &'a str>,
) -> Option<&str> {
    const MARKS: [char; 4] = ['*', '_', '`', '@'];
    let bare = text.trim_start().trim_start_matches(MARKS);
    names.find_map(|name| {
        let name = name.trim();
        let given = bare
            .get(..name.len())
            .filter(|given| !name.is_empty() && given.to_lowercase() == name.to_lowercase())?;
        let behind = &bare[given.len()..];
        // A group calls the agent so, and a weak model copies it.
        if text.trim_start().starts_with('@') && behind.starts_with([' ', ',']) {
            let words = behind.trim_start_matches([' ', ',']);
            return (!words.is_empty()).then_some(words);
        }
        let rest = behind.trim_start_matches(MARKS).trim_start_matches(' ');
        let rest = match rest.strip_prefix('[') {
            // When, as messages of others tell it.
            Some(inside) => {
                inside
                    .split_once(']')
                    .filter(|(when, _)| when.len() <= 80 && !when.contains('\n'))?
                    .1
            }
            None => rest,
        };
        let rest = rest.strip_prefix([':', '：'])?.trim_start_matches(MARKS).trim();
        (!rest.is_empty()).then_some(rest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_name_is_taken_off() {
        let off = |text| without_name(text, ["Eliza", "eliza_bot"].into_iter());
        for (text, rest) in [
            ("Eliza: hello", "hello"),
            ("ELIZA: hello\nBob: no", "hello\nBob: no"),
            ("**Eliza:** hello", "hello"),
            ("**Eliza**: *waves* hello", "*waves* hello"),
            ("@eliza_bot: hello", "hello"),
            ("Eliza [14:05]: hello", "hello"),
            ("eliza： hello", "hello"),
            ("@Eliza I'm sorry", "I'm sorry"),
            ("@eliza_bot, hello", "hello"),
        ] {
            assert_eq!(off(text), Some(rest), "{text}");
        }
        for text in [
            "Elizabeth: hello",
            "hello Eliza: x",
            "Eliza says: x",
            "@elizabeth hello",
            "Eliza is here",
            "Eliza:",
            "Eliza",
            "",
            "Bob: hello",
            "É: x",
        ] {
            assert_eq!(off(text), None, "{text}");
        }
    }
}
