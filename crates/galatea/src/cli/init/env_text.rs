//! Edits the text of a `.env`: changes the lines of settings and keeps everything else.

/// Effect of setting one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// The name was absent or empty.
    Added,
    /// The name had another value.
    Replaced,
    /// The name already had this value.
    None,
}

/// Sets a name. `known` is its current value, as a reader of `.env` sees it.
pub(super) fn set(text: &str, name: &str, value: &str, known: Option<&str>) -> (String, Change) {
    let change = match known {
        Some(known) if known == value => return (text.to_owned(), Change::None),
        None | Some("") => Change::Added,
        Some(_) => Change::Replaced,
    };
    let entry = format!("{name}={}", quoted(value));
    let mut lines: Vec<&str> = text.lines().collect();
    // The last entry of a name counts.
    match lines.iter().rposition(|line| is_entry(line, name)) {
        Some(at) => {
            lines[at] = &entry;
            // Also remove the further lines of a multi-line value.
            if change == Change::Replaced && known.is_some_and(|k| k.contains('\n')) {
                let more = known.map_or(0, |k| k.matches('\n').count()).min(lines.len() - at - 1);
                lines.drain(at + 1..=at + more);
            }
        }
        None => lines.push(&entry),
    }
    (lines.join("\n") + "\n", change)
}

fn is_entry(line: &str, name: &str) -> bool {
    let line = line.trim_start();
    let line = line.strip_prefix("export ").unwrap_or(line).trim_start();
    line.strip_prefix(name).is_some_and(|rest| rest.trim_start().starts_with('='))
}

/// A value as dotenvy, elizaOS and shells read it: plain if possible, otherwise quoted.
fn quoted(value: &str) -> String {
    let plain = |c: char| {
        c.is_ascii_alphanumeric()
            || matches!(c, '_' | '-' | '.' | '/' | ':' | '@' | '+' | '=' | ',' | '%' | '?' | '&')
    };
    if value.chars().all(plain) {
        value.to_owned()
    } else if value.contains('\'') {
        format!(
            "\"{}\"",
            value
                .replace('\\', "\\\\")
                .replace('"', "\\\"")
                .replace('$', "\\$")
                .replace('\n', "\\n")
        )
    } else {
        format!("'{value}'")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, name: &str) -> Option<String> {
        dotenvy::from_read_iter(text.as_bytes())
            .map(Result::unwrap)
            .filter(|(n, _)| n == name)
            .last()
            .map(|(_, v)| v)
    }

    #[test]
    fn everything_else_stays_and_empty_lines_are_filled() {
        let text = "# mine\nTELEGRAM_BOT_TOKEN=\nOTHER=1 # note";
        let (text, change) = set(text, "TELEGRAM_BOT_TOKEN", "1:a", Some(""));
        assert_eq!(
            (text.as_str(), change),
            ("# mine\nTELEGRAM_BOT_TOKEN=1:a\nOTHER=1 # note\n", Change::Added)
        );
        assert_eq!(
            set(&text, "TELEGRAM_BOT_TOKEN", "1:a", Some("1:a")),
            (text.clone(), Change::None)
        );
        assert_eq!(set(&text, "TELEGRAM_BOT_TOKEN", "2:b", Some("1:a")).1, Change::Replaced);
        assert_eq!(set("", "A", "1", None).0, "A=1\n");
    }

    #[test]
    fn the_last_of_several_is_changed_and_longer_names_are_left_alone() {
        let (text, _) = set("A=1\nexport A = 2\nA_B=3\n", "A", "9", Some("2"));
        assert_eq!(text, "A=1\nA=9\nA_B=3\n");
        let (text, _) = set("A=\"1\n2\"\nB=3\n", "A", "9", Some("1\n2"));
        assert_eq!(text, "A=9\nB=3\n");
    }

    #[test]
    fn any_value_is_read_back_as_it_was() {
        for value in ["sk-abc", "with space", "it's", "a$b", "it's $x \\ \"q\"", "#x", "ü", ""] {
            let (text, _) = set("", "A", value, None);
            assert_eq!(read(&text, "A").as_deref(), Some(value), "{text}");
        }
    }
}
