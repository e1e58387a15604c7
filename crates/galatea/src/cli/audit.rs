//! `galatea audit`: counts the outcomes of all messages in the database.

use clap::Args;
use galatea_core::{
    Timestamp,
    store::{AuditLine, Exceptions, InboxItem, Missing, OutboxItem},
};
use serde_json::json;
use std::{fmt::Write as _, process::ExitCode};

pub(super) use super::utc::utc;
use crate::{
    cli::{
        flags::Json,
        outbox::{failure, short},
    },
    context::Context,
    report::{exit::Exit, failure::Result, output::Style},
};
use galatea_host::{
    look::{Color, Look},
    storage::{data_dir::DataDir, database},
};

/// Prove that no message is missing: received = answered + … + pending
#[derive(Debug, Clone, Args)]
pub(crate) struct Audit {
    /// List at most this many exceptions of each sort
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u32,
    #[command(flatten)]
    json: Json,
}

impl Audit {
    /// Counts and prints. Works beside a running process. Exit 7 if a message is missing or has no
    /// reason.
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        let settings = &context.configuration()?.settings;
        let database =
            database::open_beside(settings, &DataDir::locate(settings, &context.working_dir))
                .await?;
        let store = database.store();
        let lines = store.audit().await?;
        let exceptions = store.exceptions(self.limit).await?;
        let missing = store.missing().await?;
        database.close().await;
        let sound = lines.iter().all(AuditLine::balances) && exceptions.unexplained.is_empty();
        if self.json.json {
            context.output.json("galatea.audit/1", json!({ "sound": sound, "sources": lines, "exceptions": listed(&exceptions), "missing": missing }));
        } else {
            context
                .output
                .data(render(&lines, &exceptions, &missing, context.output.style).trim_end());
        }
        Ok(if sound { ExitCode::SUCCESS } else { Exit::Findings.into() })
    }
}

/// The exceptions as JSON, without message text.
fn listed(exceptions: &Exceptions) -> serde_json::Value {
    let message = |item: &InboxItem| {
        json!({ "message": item.entry.memory.id, "source": item.entry.source, "room": item.entry.room_remote, "remote": item.entry.remote,
            "state": item.state, "reason": reason(item) })
    };
    let part = |item: &OutboxItem| {
        json!({ "id": item.delivery.id, "source": item.delivery.address.source, "room": item.delivery.address.remote, "part": item.delivery.part,
            "state": item.state, "attempts": item.delivery.attempt, "error": item.error })
    };
    json!({
        "messages": exceptions.messages.iter().map(message).collect::<Vec<_>>(),
        "parts": exceptions.parts.iter().map(part).collect::<Vec<_>>(),
        "unexplained": exceptions.unexplained.iter().map(message).collect::<Vec<_>>(),
        "more": exceptions.more,
    })
}

fn reason(item: &InboxItem) -> &str {
    item.verdict
        .as_ref()
        .and_then(|verdict| verdict.steps.last())
        .map_or("no reason is stored", |step| &step.reason)
}

fn counts(line: &AuditLine) -> [u64; 8] {
    [
        line.received,
        line.answered,
        line.answering,
        line.undelivered,
        line.skipped,
        line.expired,
        line.dead,
        line.pending,
    ]
}

fn table(heads: &[&str], lines: &[AuditLine]) -> String {
    let mut text = String::new();
    for (n, head) in heads.iter().enumerate() {
        let _ = if n == 0 {
            write!(text, "{head:<10}")
        } else {
            write!(text, "  {head:>width$}", width = head.len())
        };
    }
    text.push('\n');
    for line in lines {
        let _ = write!(text, "{:<10}", line.source.as_str());
        for (head, count) in heads[1..].iter().zip(counts(line)) {
            let _ = write!(text, "  {count:>width$}", width = head.len());
        }
        text.push('\n');
    }
    text
}

/// The counts as a list, for terminals narrower than the table.
fn list(heads: &[&str], lines: &[AuditLine]) -> String {
    let mut text = String::new();
    for line in lines {
        let _ = writeln!(text, "{}", line.source.as_str());
        for (head, count) in heads[1..].iter().zip(counts(line)) {
            let _ = writeln!(text, "  {head:<11}  {count:>6}");
        }
    }
    text
}

fn render(
    lines: &[AuditLine],
    exceptions: &Exceptions,
    missing: &[Missing],
    style: Style,
) -> String {
    if lines.is_empty() && missing.is_empty() {
        return "no message has been received yet".to_owned();
    }
    let heads = [
        "source",
        "received",
        "answered",
        "answering",
        "undelivered",
        "skipped",
        "expired",
        "dead",
        "pending",
    ];
    let table = table(&heads, lines);
    let too_wide = |columns: usize| table.lines().any(|line| line.chars().count() > columns);
    let mut text = if style.columns().is_some_and(too_wide) { list(&heads, lines) } else { table };
    let off: Vec<_> =
        lines.iter().filter(|line| !line.balances()).map(|line| line.source.as_str()).collect();
    if off.is_empty() {
        let _ = writeln!(
            text,
            "\n{} {}",
            style.bold(Color::Green, "✓"),
            crate::report::output::hang(
                2,
                "every message received is in exactly one column",
                style
            )
        );
    } else {
        let _ = writeln!(
            text,
            "\n{} the columns of {} do not add up to what was received",
            style.bold(Color::Red, "✗"),
            off.join(", ")
        );
    }
    sort(
        &mut text,
        "Finished without a reason",
        exceptions.unexplained.iter().map(describe),
        style,
    );
    sort(&mut text, "Not delivered, or unknown", exceptions.parts.iter().map(part), style);
    sort(&mut text, "Given up, or too old", exceptions.messages.iter().map(describe), style);
    sort(
        &mut text,
        "Never received, and cannot be read back (GAL-GAP)",
        missing.iter().map(gap),
        style,
    );
    if exceptions.more {
        text.push_str("\nThere are more; --limit N lists them.\n");
    }
    text
}

fn sort(text: &mut String, head: &str, lines: impl Iterator<Item = String>, style: Style) {
    let lines: Vec<String> = lines.collect();
    if !lines.is_empty() {
        let _ = writeln!(text, "\n{}\n  {}", style.bold(Color::Yellow, head), lines.join("\n  "));
    }
}

fn describe(item: &InboxItem) -> String {
    format!(
        "{}  {} {}  {}: {}",
        item.entry.memory.id,
        item.entry.source,
        item.entry.room_remote,
        item.state.as_str(),
        reason(item)
    )
}

fn part(item: &OutboxItem) -> String {
    let address = &item.delivery.address;
    let error = failure(item).unwrap_or_else(|| "no failure is stored".to_owned());
    format!(
        "{}  {} {}  part {}  {}: {error}",
        short(item),
        address.source,
        address.remote,
        item.delivery.part + 1,
        item.state.as_str()
    )
}

fn gap(missing: &Missing) -> String {
    let Missing { source, account, gap } = missing;
    let count = gap.count.map_or_else(String::new, |n| format!("{n} events, "));
    let place = gap.place.as_ref().map_or_else(String::new, |place| format!(" {place}"));
    let time = |at: Option<Timestamp>| at.map_or_else(|| "?".to_owned(), utc);
    format!(
        "{source}:{account}{place}  {count}{} to {}: {}",
        time(gap.from),
        time(gap.to),
        gap.reason
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::Source;

    fn line() -> AuditLine {
        AuditLine {
            source: Source::new("telegram"),
            received: 12,
            answered: 7,
            answering: 1,
            undelivered: 0,
            skipped: 3,
            expired: 0,
            dead: 0,
            pending: 1,
        }
    }

    fn none() -> Exceptions {
        Exceptions { messages: Vec::new(), parts: Vec::new(), unexplained: Vec::new(), more: false }
    }

    #[test]
    fn what_is_over_does_not_advise_to_wait() {
        let expired = crate::cli::outbox::tests::flooded(galatea_core::store::OutboxState::Expired);
        let exceptions = Exceptions { parts: vec![expired], ..none() };
        let text = render(&[line()], &exceptions, &[], Style::plain());
        assert!(
            text.contains("expired: Telegram asks to wait (GAL-TG-429)\n")
                && !text.contains("nothing to do"),
            "{text}"
        );
    }

    #[test]
    fn the_table_says_whether_it_adds_up() {
        let text = render(&[line()], &none(), &[], Style::plain());
        assert_eq!(
            text,
            "source      received  answered  answering  undelivered  skipped  expired  dead  pending\n\
             telegram          12         7          1            0        3        0     0        1\n\n\
             ✓ every message received is in exactly one column\n"
        );
        let off = render(&[AuditLine { received: 13, ..line() }], &none(), &[], Style::plain());
        assert!(off.contains("✗ the columns of telegram do not add up"), "{off}");
        let gap = galatea_core::Gap {
            from: Some(Timestamp(1_767_225_600_000)),
            count: Some(3),
            ..galatea_core::Gap::new(Timestamp(5), "dropped")
        };
        let missing = Missing {
            source: Source::new("telegram"),
            account: galatea_core::Account("7".into()),
            gap,
        };
        let text = render(&[], &none(), &[missing], Style::plain());
        assert!(
            text.contains("telegram:7  3 events, 2026-01-01T00:00:00Z to ?: dropped"),
            "{text}"
        );
    }
}
