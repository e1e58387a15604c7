//! Replaces `${NAME}` and `${NAME:-default}` in the texts of a configuration.

/// Looks a variable up: a setting of the agent, or the environment.
pub(super) type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The text with its variables replaced, or the name of the first one that is not set. A value is not
/// looked through for further variables.
pub(super) fn fill(text: &str, lookup: Lookup<'_>) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        let inside = &after[2..];
        let Some(end) = inside.find('}') else {
            out.push_str(after);
            return Ok(out);
        };
        let (name, default) = match inside[..end].split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (&inside[..end], None),
        };
        // VS Code writes `${env:NAME}`.
        let name = name.trim().trim_start_matches("env:");
        if is_name(name) {
            match lookup(name).filter(|value| !value.is_empty()) {
                Some(value) => out.push_str(&value),
                None => out.push_str(default.ok_or_else(|| name.to_owned())?),
            }
        } else {
            out.push_str(&after[..end + 3]);
        }
        rest = &inside[end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced_once_and_a_missing_one_is_named() {
        let lookup = |name: &str| match name {
            "KEY" => Some("${OTHER}".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let fill = |text: &str| fill(text, &lookup);
        assert_eq!(fill("a ${KEY} b").unwrap(), "a ${OTHER} b");
        assert_eq!(fill("${env:KEY}").unwrap(), "${OTHER}");
        assert_eq!(fill("${EMPTY:-x}${MISSING:-}").unwrap(), "x");
        assert_eq!(fill("${MISSING}"), Err("MISSING".to_owned()));
        assert_eq!(fill("${a b} ${KEY").unwrap(), "${a b} ${KEY");
    }
}
