//! Formats a conversation as text.

/// Name of the person in the transcript.
pub(crate) const YOU: &str = "you";

/// Name of the agent, with the label of its answer.
pub(crate) fn speaker(agent: &str, label: Option<&str>) -> String {
    match label {
        Some(label) if !label.is_empty() => format!("{agent} ({label})"),
        _ => agent.to_owned(),
    }
}

/// Formats a message: `name › text`, with further lines indented below the text.
pub(crate) fn format_message(speaker: &str, width: usize, text: &str) -> String {
    let head = prompt(speaker, width);
    let indent = " ".repeat(head.chars().count());
    let lines = text.trim_end().lines().enumerate().map(|(n, line)| {
        if n == 0 || line.is_empty() { line.to_owned() } else { format!("{indent}{line}") }
    });
    format!("{head}{}", lines.collect::<Vec<_>>().join("\n"))
}

/// `name › `, padded so that all names end in the same column.
pub(crate) fn prompt(speaker: &str, width: usize) -> String {
    format!("{speaker:width$} › ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_in_one_column_and_lines_stay_below_the_text() {
        let eliza = speaker("Eliza", Some("offline script"));
        let width = eliza.chars().count();
        let text = [
            format_message(&eliza, width, "Hello.\n\nWhat is on your mind?\n"),
            format_message(YOU, width, "my build is broken"),
        ]
        .join("\n");
        assert_eq!(
            text,
            "Eliza (offline script) › Hello.\n\n                         What is on your mind?\nyou                    › my build is broken"
        );
        assert_eq!(speaker("Ada", None), "Ada");
    }
}
