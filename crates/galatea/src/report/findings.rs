//! Formats the findings of checks for people.

use galatea_core::{Finding, Severity};
use std::{collections::BTreeSet, fmt::Write as _};

use crate::report::output::Style;
use galatea_host::{
    look::{Color, Look, wrap},
    report::{Level, Report},
};

/// Renders the findings. Each starts with its mark; cause, origin and fix follow below. Every line
/// ends with a newline.
pub(crate) fn render(findings: &[Finding], style: Style) -> String {
    let mut text = String::new();
    for finding in findings {
        let (mark, color) = match finding.severity {
            Severity::Ok => ("✓", Color::Green),
            Severity::Info => ("·", Color::Cyan),
            Severity::Warning => ("!", Color::Yellow),
            Severity::Error => ("✗", Color::Red),
        };
        let code = if finding.severity >= Severity::Warning && !finding.id.is_empty() {
            format!("  {}", finding.id)
        } else {
            String::new()
        };
        let width = style.width();
        let lines = wrap(&format!("{}{code}", finding.message), width - 2, width - 2);
        let _ = writeln!(text, "{} {}", style.paint(color, mark), lines.join("\n  "));
        if finding.severity == Severity::Ok {
            continue;
        }
        for (label, body) in
            [("cause", &finding.cause), ("where", &finding.origin), ("fix", &finding.fix)]
        {
            let Some(body) = body else { continue };
            let head = format!("    {:<7}", format!("{label}:"));
            let lines: Vec<_> = body
                .lines()
                .flat_map(|l| wrap(l, width - head.len(), width - head.len()))
                .collect();
            let _ = writeln!(
                text,
                "{}{}",
                style.paint(Color::Cyan, &head),
                lines.join(&format!("\n{}", " ".repeat(head.len())))
            );
        }
    }
    text
}

/// The last line: number of errors and warnings, and where to read more. `asked` says whether models
/// and platforms were asked; otherwise nothing is known of whether they work.
pub(crate) fn summary(findings: &[Finding], asked: bool) -> String {
    let count = |severity| findings.iter().filter(|f| f.severity == severity).count();
    let some = |n: usize, one: &str, many: &str| {
        (n > 0).then(|| format!("{n} {}", if n == 1 { one } else { many }))
    };
    let parts: Vec<_> = [
        some(count(Severity::Error), "error", "errors"),
        some(count(Severity::Warning), "warning", "warnings"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if parts.is_empty() && asked {
        return "Everything that is used works.".to_owned();
    }
    let unasked =
        if asked { "" } else { " Models and platforms were not asked: leave out --offline." };
    if parts.is_empty() {
        return format!("Nothing is wrong on this machine.{unasked}");
    }
    let codes: BTreeSet<_> = findings
        .iter()
        .filter(|f| {
            f.severity >= Severity::Warning && galatea_host::catalogue::find(&f.id).is_some()
        })
        .map(|f| f.id.as_str())
        .collect();
    let more = codes
        .first()
        .map(|code| format!(" More about a code: galatea explain {code}"))
        .unwrap_or_default();
    format!("{}.{more}{unasked}", parts.join(", "))
}

/// Converts a report into a finding.
pub(crate) fn from_report(subject: &str, report: &Report) -> Finding {
    let severity = match report.level {
        Level::Error => Severity::Error,
        Level::Warning => Severity::Warning,
        Level::Note => Severity::Info,
    };
    let line = |label: &str| {
        report.lines.iter().find(|(known, _)| known == label).map(|(_, text)| text.clone())
    };
    let place = report.place.as_ref().map(|p| format!("{}:{}:{}", p.file, p.line, p.column));
    Finding {
        cause: line("cause"),
        origin: place.or_else(|| line("where")),
        fix: line("fix"),
        ..Finding::new(
            severity,
            report.code.clone().unwrap_or_else(|| "GAL-UNEXPECTED".to_owned()),
            subject,
            report.message.clone(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_host::look::WIDTH;

    #[test]
    fn marks_codes_and_lines_fit_the_width() {
        let findings = [
            Finding::ok("GAL-TG-TOKEN", "connector", "@acme_helper_bot")
                .with_cause("getMe answered"),
            Finding::new(
                Severity::Warning,
                "GAL-CFG-UNKNOWN",
                "file",
                "TELEGRAM_BOT_TOKN is not a setting of Galatea",
            )
            .with_fix("did you mean TELEGRAM_BOT_TOKEN?"),
            Finding::new(
                Severity::Error,
                "GAL-MODEL-401",
                "model",
                "OpenAI rejected OPENAI_API_KEY",
            )
            .with_cause("a long sentence ".repeat(8)),
        ];
        let text = render(&findings, Style::plain());
        assert!(text.lines().all(|l| l.chars().count() <= WIDTH), "{text}");
        insta::assert_snapshot!(format!("{text}{}", summary(&findings, true)), @r###"
✓ @acme_helper_bot
! TELEGRAM_BOT_TOKN is not a setting of Galatea GAL-CFG-UNKNOWN
    fix:   did you mean TELEGRAM_BOT_TOKEN?
✗ OpenAI rejected OPENAI_API_KEY GAL-MODEL-401
    cause: a long sentence a long sentence a long sentence a long sentence a
           long sentence a long sentence a long sentence a long sentence
1 error, 1 warning. More about a code: galatea explain GAL-CFG-UNKNOWN
"###);
    }

    #[test]
    fn nothing_wrong_says_so() {
        let good = [Finding::ok("X", "x", "x")];
        assert_eq!(summary(&good, true), "Everything that is used works.");
        let unasked = summary(&good, false);
        assert!(!unasked.contains("works") && unasked.contains("--offline"), "{unasked}");
    }
}
