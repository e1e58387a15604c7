//! A text splitter for the toy connector: by words, closing and reopening code fences.

/// Longest part in code points.
pub(crate) const MAX: usize = 120;
/// Room for `\n```` at the end and "```\n" at the start.
const FENCES: usize = 8;

/// Splits a text; `fences` keeps code in fences.
pub(crate) fn split(text: &str, fences: bool) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut open = false;
    for line in text.split_inclusive('\n') {
        if line.starts_with("```") {
            open = !open;
        }
        for word in split_words(line) {
            let current = parts.last_mut().unwrap();
            if current.chars().count() + word.chars().count() + FENCES > MAX {
                let inside = open && fences && !line.starts_with("```");
                if inside {
                    current.push_str("\n```");
                }
                parts.push(if inside { "```\n".to_owned() } else { String::new() });
            }
            parts.last_mut().unwrap().push_str(&word);
        }
    }
    parts.retain(|p| !p.trim().is_empty());
    parts
}

fn split_words(line: &str) -> Vec<String> {
    let mut out = Vec::new();
    for word in line.split_inclusive(char::is_whitespace) {
        let chars: Vec<char> = word.chars().collect();
        out.extend(chars.chunks(MAX - 2 * FENCES).map(|c| c.iter().collect::<String>()));
    }
    out
}
