//! The page of figures: its format, its bounds, and the files that name its figures.

use axum::http::StatusCode;
use galatea_core::{AgentId, Decision, DeliveryId, Event, MemoryId, RoomId, TurnId, model::Usage};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

use crate::support::{Server, ask};

/// A sample: name, labels, value.
type Sample = (String, BTreeMap<String, String>, f64);

/// Reads OpenMetrics text strictly (OpenMetrics 1.0, "ABNF"): every sample belongs to a described
/// family, counters end in `_total`, buckets grow, no series stands twice, and the page ends with `# EOF`.
fn parse(text: &str) -> Vec<Sample> {
    let mut kinds: BTreeMap<String, String> = BTreeMap::new();
    let (mut samples, mut seen, mut ended) = (Vec::new(), BTreeSet::new(), false);
    for line in text.lines() {
        assert!(!ended, "a line behind the end: {line}");
        if line == "# EOF" {
            ended = true;
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(is_name(name), "{line}");
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert!(kinds.insert(name.to_owned(), kind.to_owned()).is_none(), "twice: {line}");
        } else if let Some(rest) = line.strip_prefix("# HELP ") {
            assert!(rest.split_once(' ').is_some_and(|(_, help)| help.ends_with('.')), "{line}");
        } else if let Some(rest) = line.strip_prefix("# UNIT ") {
            let (name, unit) = rest.split_once(' ').unwrap();
            assert!(name.ends_with(&format!("_{unit}")), "{line}");
        } else {
            let sample = sample(line);
            let (family, kind) = kinds
                .iter()
                .find(|(family, kind)| belongs(&sample.0, family, kind))
                .unwrap_or_else(|| panic!("no family: {line}"));
            assert!(sample.2.is_finite(), "{line}");
            assert!(kind == "gauge" || sample.2 >= 0.0, "{family}: {line}");
            assert!(seen.insert((sample.0.clone(), sample.1.clone())), "twice: {line}");
            samples.push(sample);
        }
    }
    assert!(ended, "no end");
    let mut last: BTreeMap<(String, BTreeMap<String, String>), f64> = BTreeMap::new();
    for (name, labels, value) in samples.iter().filter(|(name, ..)| name.ends_with("_bucket")) {
        let mut key = labels.clone();
        assert!(key.remove("le").is_some(), "{name}");
        let before = last.insert((name.clone(), key), *value).unwrap_or(0.0);
        assert!(*value >= before, "buckets of {name} do not grow");
    }
    samples
}

fn belongs(name: &str, family: &str, kind: &str) -> bool {
    let suffixes: &[&str] = match kind {
        "counter" => &["_total"],
        "histogram" => &["_bucket", "_sum", "_count"],
        _ => &[""],
    };
    suffixes.iter().any(|suffix| name.strip_suffix(suffix) == Some(family))
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn sample(line: &str) -> Sample {
    let (series, value) = line.rsplit_once(' ').unwrap();
    let (name, labels) = match series.split_once('{') {
        Some((name, rest)) => (name, rest.strip_suffix('}').unwrap()),
        None => (series, ""),
    };
    assert!(is_name(name), "{line}");
    let mut found = BTreeMap::new();
    let mut rest = labels;
    while !rest.is_empty() {
        let (key, after) = rest.split_once("=\"").unwrap();
        assert!(is_name(key), "{line}");
        let mut value = String::new();
        let mut chars = after.char_indices();
        let end = loop {
            match chars.next().unwrap() {
                (_, '\\') => value.push(chars.next().unwrap().1),
                (at, '"') => break at,
                (_, c) => value.push(c),
            }
        };
        assert!(found.insert(key.to_owned(), value).is_none(), "{line}");
        rest = &after[end + 1..];
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
    (name.to_owned(), found, value.parse().unwrap())
}

/// Publishes events of so many Rooms, and waits until all are counted.
async fn busy(server: &Server, rooms: u32) -> Vec<Sample> {
    let agent = AgentId::fresh();
    for n in 0..rooms {
        let (room, turn, memory) = (RoomId::fresh(), TurnId::fresh(), MemoryId::fresh());
        let usage = Usage { input: 100, cached: 40, output: 10, ..Usage::default() };
        for event in [
            Event::MessageReceived { agent, room, memory },
            Event::TurnDecided { agent, room, turn, memory, decision: Decision::Answer },
            Event::ModelUsed {
                agent,
                turn: Some(turn),
                provider: "openai".into(),
                model: "m".into(),
                usage,
                millis: 300,
            },
            Event::ActionCompleted { agent, turn, action: format!("TOOL_{n}"), success: true },
            Event::EvaluatorCompleted { agent, turn, evaluator: "FACTS".into(), success: false },
            Event::TurnFinished { agent, room, turn, millis: 700, parts: 1 },
            Event::TurnFailed { agent, room, turn, reason: "no model".into() },
            Event::DeliverySent { agent, room, delivery: DeliveryId::fresh(), attempt: 1 },
            Event::DeliveryRetrying {
                agent,
                room,
                delivery: DeliveryId::fresh(),
                attempt: 1,
                reason: "429".into(),
                millis: 5,
            },
            Event::DeliveryFailed {
                agent,
                room,
                delivery: DeliveryId::fresh(),
                reason: "403".into(),
            },
        ] {
            server.events.publish(event);
        }
        // Slower than a real flood, so that no event is lost and the sums are exact.
        if n % 50 == 49 {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    }
    let wanted = f64::from(rooms);
    for _ in 0..2_000 {
        let answer = server.answer(ask("GET", "/metrics")).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        let samples = parse(&answer.text);
        let failed = |s: &&Sample| {
            s.0 == "galatea_send_attempts_total"
                && s.1.get("outcome").map(String::as_str) == Some("failed")
        };
        let counted = samples.iter().find(failed).map_or(0.0, |s| s.2);
        let lost = value(&samples, "galatea_events_lost_total", &[]);
        if counted >= wanted || lost > 0.0 {
            return samples;
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    panic!("the events were never counted");
}

fn value(samples: &[Sample], name: &str, labels: &[(&str, &str)]) -> f64 {
    let has = |found: &BTreeMap<String, String>| {
        labels.iter().all(|(key, value)| found.get(*key).map(String::as_str) == Some(*value))
    };
    samples.iter().filter(|(n, found, _)| n == name && has(found)).map(|(_, _, value)| value).sum()
}

#[tokio::test]
async fn the_page_counts_what_happens() {
    let server = Server::new().await;
    let samples = busy(&server, 3).await;
    for (name, labels, expected) in [
        ("galatea_messages_received_total", &[][..], 3.0),
        ("galatea_messages_total", &[("decision", "answer")], 3.0),
        ("galatea_turn_failures_total", &[], 3.0),
        ("galatea_turn_duration_seconds_count", &[], 3.0),
        ("galatea_turn_duration_seconds_bucket", &[("le", "0.5")], 0.0),
        ("galatea_turn_duration_seconds_bucket", &[("le", "1.0")], 3.0),
        ("galatea_send_attempts_total", &[("outcome", "retry")], 3.0),
        ("galatea_model_tokens_total", &[("kind", "cached"), ("model", "m")], 120.0),
        ("galatea_evaluators_total", &[("success", "false")], 3.0),
        ("galatea_breaker_state", &[], 0.0),
        ("galatea_outbox_depth", &[], 0.0),
        ("galatea_build_info", &[("version", "0.1.0")], 1.0),
    ] {
        assert_eq!(value(&samples, name, labels), expected, "{name} {labels:?}");
    }
}

#[tokio::test]
async fn ten_thousand_rooms_make_no_more_series_than_one() {
    let server = Server::new().await;
    let few = busy(&server, 200).await.len();
    let many = busy(&server, 10_000).await;
    // Another agent, whose series are as many as those of the first.
    assert!(many.len() < few + 40, "{few} series became {}", many.len());
    let other = value(&many, "galatea_actions_total", &[("action", "other")]);
    assert!(other > 0.0, "invented names are counted together");
}

#[tokio::test]
async fn secrets_are_masked_and_foreign_names_refused() {
    let server = Server::new().await;
    server.events.publish(Event::ModelUsed {
        agent: AgentId::fresh(),
        turn: None,
        provider: "correct-horse-battery".into(),
        model: "m".into(),
        usage: Usage::default(),
        millis: 1,
    });
    let samples = busy(&server, 1).await;
    let all = format!("{samples:?}");
    assert!(!all.contains("correct-horse"), "{all}");
    let foreign = ask("GET", "/metrics").header("host", "evil.example");
    assert_eq!(server.answer(foreign).await.code(), "GAL-HOST");
}

/// Names of our figures in a text.
fn named(text: &str) -> BTreeSet<String> {
    let is_of_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    text.match_indices("galatea_")
        .map(|(at, _)| text[at..].chars().take_while(|c| is_of_name(*c)).collect())
        .collect()
}

#[tokio::test]
async fn dashboard_and_alerts_name_figures_that_exist() {
    let server = Server::new().await;
    busy(&server, 1).await;
    let text = server.answer(ask("GET", "/metrics")).await.text;
    let mut families: BTreeSet<String> = BTreeSet::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').unwrap();
        let suffixes: &[&str] = match kind {
            "counter" => &["_total"],
            "histogram" => &["_bucket", "_sum", "_count"],
            _ => &[""],
        };
        families.extend(suffixes.iter().map(|suffix| format!("{name}{suffix}")));
    }
    // Figures of agents, accounts and their limits, of which this server has none.
    let source = include_str!("../../src/routes/metrics.rs");
    for name in ["agent_info", "connector_up", "breaker_state", "budget_used_percent"] {
        assert!(source.contains(&format!("\"{name}\"")), "{name} is registered");
        families.insert(format!("galatea_{name}"));
    }
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/");
    let read = |path: &str| std::fs::read_to_string(format!("{root}{path}")).unwrap();
    let (dashboard, alerts) = (read("grafana/galatea.json"), read("prometheus/alerts.json"));
    for text in [&dashboard, &alerts] {
        let used = named(text);
        assert!(used.len() > 5, "{used:?}");
        let missing: Vec<_> = used.difference(&families).collect();
        assert!(missing.is_empty(), "no such figures: {missing:?} in {families:?}");
    }
    let dashboard: Value = serde_json::from_str(&dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<i64> = panels.iter().map(|panel| panel["id"].as_i64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len(), "each panel has an id of its own");
    for panel in panels {
        assert!(panel["targets"].as_array().is_some_and(|t| !t.is_empty()), "{panel}");
        let at = &panel["gridPos"];
        assert!(at["x"].as_i64().unwrap() + at["w"].as_i64().unwrap() <= 24, "{panel}");
    }
    let alerts: Value = serde_json::from_str(&alerts).unwrap();
    for rule in alerts["groups"][0]["rules"].as_array().unwrap() {
        for field in ["alert", "expr", "for"] {
            assert!(rule[field].as_str().is_some_and(|text| !text.is_empty()), "{rule}");
        }
        let expr = rule["expr"].as_str().unwrap();
        assert_eq!(expr.matches('(').count(), expr.matches(')').count(), "{expr}");
        assert!(
            rule["annotations"]["summary"].is_string() && rule["labels"]["severity"].is_string()
        );
    }
}
