//! Shows a trace to people, and as JSON.

use galatea_core::{
    store::{StepKind, StepTexts},
    visible::one_line,
};
use galatea_host::{
    look::{Color, Look, wrap},
    ops::traces::{ShownStep, TracedTurn, TurnTrace, outcome, reason},
};
use serde_json::{Value, json};
use std::fmt::Write as _;

use crate::{
    cli::utc::utc,
    report::output::{Style, hang},
};

/// Most characters of a message in a list.
const LONGEST: usize = 60;
/// Characters of an id that tell messages apart.
const SHORT: usize = 13;

/// A turn as a line.
pub(super) fn line(turn: &TracedTurn, style: Style) -> String {
    let item = &turn.item;
    let what = outcome(item);
    let color = match what {
        "replied" => Color::Green,
        "failed" => Color::Red,
        _ => Color::Yellow,
    };
    let id = item.entry.memory.id.to_string();
    let text: String = one_line(&item.entry.memory.content.text).chars().take(LONGEST).collect();
    let mut line = format!(
        "{}  {}  {}  {}  {}: {text}",
        utc(item.received_at),
        id.get(..SHORT).unwrap_or(&id),
        style.paint(color, what),
        item.entry.source,
        if turn.person.is_empty() { "someone" } else { &turn.person },
    );
    if let Some(took) = turn.figures.took {
        let _ = write!(line, "  {took} ms");
    }
    let used = turn.figures.used;
    if used.input + used.output > 0 {
        let _ = write!(line, "  {} tokens", used.input + used.output);
    }
    if let Some(micros) = used.micros.filter(|micros| *micros > 0) {
        let _ = write!(line, "  ${}", dollars(micros));
    }
    if what != "replied"
        && let Some(reason) = reason(item)
    {
        let _ = write!(line, "  {}", one_line(reason));
    }
    line
}

/// Dollars with six digits.
fn dollars(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

/// A turn of a list as JSON.
pub(super) fn to_json(turn: &TracedTurn) -> Value {
    let item = &turn.item;
    json!({
        "message": item.entry.memory.id,
        "turn": item.turn,
        "at": utc(item.received_at),
        "agent": turn.agent,
        "platform": item.entry.source,
        "room": turn.room,
        "person": turn.person,
        "text": item.entry.memory.content.text,
        "outcome": outcome(item),
        "reason": reason(item),
        "model": turn.model,
        "figures": turn.figures,
    })
}

/// A trace as JSON.
pub(super) fn whole(trace: &TurnTrace) -> Value {
    json!({
        "turn": to_json(&trace.turn),
        "verdict": trace.turn.item.verdict,
        "recorded": !trace.is_bare,
        "steps": trace.steps,
        "texts": trace.texts,
    })
}

/// A trace for people.
pub(super) fn render(trace: &TurnTrace, texts: bool, style: Style) -> String {
    let turn = &trace.turn;
    let item = &turn.item;
    let mut text = format!("{}\n\n", style.bold(Color::Blue, &headline(turn)));
    let mut fact = |label: &str, value: &str| {
        let label = style.paint(Color::Cyan, &format!("{label:<9}"));
        let _ = writeln!(text, "  {label} {}", hang(12, value, style));
    };
    fact("message", &item.entry.memory.id.to_string());
    fact("said", &one_line(&item.entry.memory.content.text));
    if let Some(reason) = reason(item) {
        fact("because", reason);
    }
    if let Some(model) = &turn.model {
        fact("model", model);
    }
    let used = turn.figures.used;
    if used.input + used.output > 0 {
        let share = (used.cached * 100).checked_div(used.input).unwrap_or(0);
        let cost = used.micros.map_or("cost unknown".to_owned(), |m| format!("${}", dollars(m)));
        fact(
            "used",
            &format!("{} tokens in ({share} % cached), {} out, {cost}", used.input, used.output),
        );
    }
    if let Some(took) = turn.figures.took {
        fact("took", &format!("{took} ms, of which {} ms in the queue", turn.figures.waited));
    }
    text.push('\n');
    for shown in &trace.steps {
        text.push_str(&step(shown, item.received_at.0, style));
        if texts && let Some(of) = trace.texts.iter().find(|of| of.step == shown.n) {
            text.push_str(&said(of, style));
        }
    }
    let note = if trace.is_bare && outcome(item) == "replied" {
        Some(
            "Of its steps only the verdict and the sends are left: traces are kept for TRACE_DAYS, and fewer under flood.",
        )
    } else if !trace.has_texts && !trace.is_bare {
        Some("Prompts and answers are not kept (TRACES=steps, a flood, or somebody was forgotten).")
    } else if trace.has_texts && !texts {
        Some("`--prompt` shows prompts and answers.")
    } else {
        None
    };
    if let Some(note) = note {
        let _ = writeln!(text, "\n{}", wrap(note, style.width(), style.width()).join("\n"));
    }
    if let Some(change) = item.verdict.as_ref().and_then(|verdict| verdict.change.as_ref()) {
        let what = format!("{}={}", change.setting, change.value);
        let _ = writeln!(text, "\nTo change it: {}", style.bold(Color::Yellow, &what));
    }
    text
}

fn headline(turn: &TracedTurn) -> String {
    let who = if turn.person.is_empty() { "A message" } else { turn.person.as_str() };
    let place = if turn.room.is_empty() {
        turn.item.entry.source.to_string()
    } else {
        format!("{} ({})", turn.room, turn.item.entry.source)
    };
    let what = match outcome(&turn.item) {
        "replied" => "was answered",
        "ignored" => "was not answered",
        "failed" => "could not be answered",
        _ => "waits for its turn",
    };
    format!("{} in {place} {what}", one_line(who))
}

fn step(shown: &ShownStep, received: i64, style: Style) -> String {
    let step = &shown.step;
    let offset = step.at.0.saturating_sub(received);
    let mark = if step.failed {
        style.paint(Color::Red, "✕")
    } else if shown.is_open {
        style.paint(Color::Yellow, "…")
    } else {
        style.paint(Color::Green, "·")
    };
    let mut facts = Vec::new();
    if step.millis > 0 {
        facts.push(format!("{} ms", step.millis));
    }
    facts.extend(step.bytes.map(|bytes| format!("{bytes} bytes")));
    if let Some(used) = step.used {
        facts.push(format!("{} + {} tokens", used.input, used.output));
        if used.cached > 0 {
            facts.push(format!("{} cached", used.cached));
        }
        facts.extend(used.micros.map(|micros| format!("${}", dollars(micros))));
    }
    facts.extend(step.note.clone());
    let kind = format!("{:<8}", kind(step.kind));
    format!(
        "  {offset:>7} ms {mark} {}  {}\n",
        style.paint(Color::Cyan, &kind),
        hang(24, &format!("{}  {}", step.name, facts.join(", ")), style).trim_end()
    )
}

fn kind(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Receive => "received",
        StepKind::Wait => "waited",
        StepKind::Backoff => "paused",
        StepKind::Evaluate => "learnt",
        other => other.as_str(),
    }
}

/// Texts of a step, each line below the step.
fn said(texts: &StepTexts, style: Style) -> String {
    let mut out = String::new();
    let mut block = |name: &str, text: &str| {
        let _ = writeln!(out, "             {}", style.paint(Color::Yellow, name));
        for line in text.lines() {
            let _ = writeln!(out, "             | {line}");
        }
    };
    if let Some(input) = &texts.input {
        block("parameters", input);
    }
    for part in &texts.prompt {
        block(&format!("{} ({})", part.from, part.role), &part.text);
    }
    if let Some(output) = &texts.output {
        block("answer", output);
    }
    out
}
