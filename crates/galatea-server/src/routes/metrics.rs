//! The page of figures: what was counted, and gauges as they are now.

use galatea_core::{Health, Result, breaker::Phase};
use galatea_host::ops::Operator;
use prometheus_client::{
    encoding::text::encode,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::{Registry, Unit},
};

use crate::{
    app::App,
    metrics::{Counters, Labels},
};

/// A gauge of whole numbers.
type Gauges = Family<Labels, Gauge>;

/// The page in the text format of OpenMetrics.
///
/// # Errors
/// Failures of the store.
pub(super) async fn page(app: &App) -> Result<String> {
    let mut registry = Registry::with_prefix("galatea");
    app.metrics.register(&mut registry);
    gauges(app, &mut registry).await?;
    let mut text = String::with_capacity(16 * 1024);
    // Writing to a string cannot fail.
    let _ = encode(&mut text, &registry);
    Ok(app.redactor.clean(&text).into_owned())
}

async fn gauges(app: &App, registry: &mut Registry) -> Result<()> {
    let by = Operator::command_line();
    let set = |gauges: &Gauges, labels: Labels, value: u64| {
        gauges.get_or_create(&labels).set(i64::try_from(value).unwrap_or(i64::MAX));
    };
    let build = Gauges::default();
    let commit = app.version.commit.unwrap_or("unknown").to_owned();
    set(&build, vec![("version", app.version.version.to_owned()), ("commit", commit)], 1);
    registry.register("build_info", "The program that runs", build);

    let counts = app.ops.counts(&by).await?;
    let (inbox, outbox) = (Gauges::default(), Gauges::default());
    for (state, depth) in [
        ("new", counts.waiting_messages),
        ("dead", counts.failed_messages),
        ("expired", counts.expired_messages),
    ] {
        set(&inbox, vec![("state", state.to_owned())], depth);
    }
    for (state, depth) in [
        ("pending", counts.pending),
        ("sending", counts.sending),
        ("ambiguous", counts.ambiguous),
        ("expired", counts.expired),
        ("dead", counts.dead),
    ] {
        set(&outbox, vec![("state", state.to_owned())], depth);
    }
    registry.register("inbox_depth", "Messages that wait or were given up", inbox);
    registry.register("outbox_depth", "Parts that wait or were given up", outbox);

    let readiness = (app.probe)().await;
    let ready: Gauge = Gauge::default();
    ready.set(i64::from(readiness.ready));
    registry.register("ready", "1 if /readyz answers 200", ready);
    let breakers = Gauges::default();
    for breaker in &readiness.breakers {
        let state = match breaker.phase {
            Phase::Closed => 0,
            Phase::HalfOpen => 1,
            Phase::Open => 2,
            Phase::Latched => 3,
        };
        set(&breakers, vec![("name", breaker.name.clone())], state);
    }
    let states = "State of a circuit breaker: 0 closed, 1 half-open, 2 open, 3 latched";
    registry.register("breaker_state", states, breakers);
    let budgets = Gauges::default();
    for budget in &readiness.budgets {
        let labels = vec![("agent", budget.agent.clone()), ("setting", budget.setting.clone())];
        set(&budgets, labels, budget.percent);
    }
    registry.register("budget_used_percent", "Caps of which at least 80 % are used", budgets);
    let uptime: Gauge = Gauge::default();
    uptime.set(i64::try_from(readiness.uptime).unwrap_or(i64::MAX));
    registry.register_with_unit("uptime", "Age of the process", Unit::Seconds, uptime);
    let statements = Counter::<u64>::default();
    statements.inc_by(readiness.statements);
    registry.register("store_statements", "SQL statements since the process began", statements);
    agents(app, registry, &by);
    Ok(())
}

/// A process without agents has none of these.
fn agents(app: &App, registry: &mut Registry, by: &Operator) {
    let (info, connectors) = (Gauges::default(), Gauges::default());
    for agent in app.ops.agents(by).unwrap_or_default() {
        let labels = vec![("agent", agent.id.to_string()), ("name", agent.name.clone())];
        info.get_or_create(&labels).set(1);
    }
    registry.register("agent_info", "Agents of the database", info);
    for status in app.ops.connectors(by).unwrap_or_default() {
        let up = matches!(status.health, Health::Up { .. } | Health::Degraded { .. });
        let labels = vec![
            ("agent", status.agent.to_string()),
            ("platform", status.info.source.as_str().to_owned()),
            ("account", status.info.account.0.clone()),
        ];
        connectors.get_or_create(&labels).set(i64::from(up));
    }
    registry.register("connector_up", "1 if an account is connected", connectors);
    let [kept, shortened, dropped] = app.ops.trace_counts();
    let traces = Counters::default();
    for (outcome, count) in [("kept", kept), ("shortened", shortened), ("dropped", dropped)] {
        traces.get_or_create(&vec![("outcome", outcome.to_owned())]).inc_by(count);
    }
    registry.register("traces", "Traces of turns, by what became of them", traces);
    let lines = Counters::default();
    for (level, count) in app.ops.log_ring().counts() {
        lines.get_or_create(&vec![("level", level.as_str().to_owned())]).inc_by(count);
    }
    registry.register("log_lines", "Lines of the log, by level", lines);
}
