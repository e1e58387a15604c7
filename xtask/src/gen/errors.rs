//! Generates the reference of error codes.

use serde::Deserialize;
use std::fmt::Write as _;

use super::ORIGIN;

/// Output of `galatea reference errors`.
#[derive(Deserialize)]
pub(super) struct Reference {
    errors: Vec<Explanation>,
}

/// The explanation of a code.
#[derive(Deserialize)]
struct Explanation {
    code: String,
    title: String,
    cause: String,
    fix: String,
}

/// A section per code, sorted, so that links to a code are stable.
pub(super) fn markdown(reference: &Reference) -> String {
    let mut errors: Vec<_> = reference.errors.iter().collect();
    errors.sort_by(|a, b| a.code.cmp(&b.code));
    let mut out = format!(
        "<!-- {ORIGIN} -->\n\n# Error codes\n\n`galatea explain CODE` prints the same in the terminal.\n"
    );
    for error in errors {
        let _ = write!(
            out,
            "\n## {}\n\n**{}.** {}\n\n*Fix:* {}\n",
            error.code,
            error.title.trim_end_matches('.'),
            error.cause.trim(),
            error.fix.trim()
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted_and_complete() {
        let reference: Reference = serde_json::from_str(
            r#"{"errors":[{"code":"GAL-B","title":"B.","cause":"b.","fix":"do b"},{"code":"GAL-A","title":"A","cause":"a","fix":"do a"}]}"#,
        )
        .unwrap();
        let text = markdown(&reference);
        assert!(text.contains("\n## GAL-B\n\n**B.** b.\n\n*Fix:* do b\n"), "{text}");
        assert!(text.find("GAL-A").unwrap() < text.find("GAL-B").unwrap());
    }
}
