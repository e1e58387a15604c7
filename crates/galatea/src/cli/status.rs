//! `galatea status`: asks the running process for its state.

use clap::Args;
use galatea_core::{Error, ErrorKind, Finding, Severity, event::ServiceState};
use galatea_http::{HttpClient, HttpOptions};
use galatea_runtime::BudgetState;
use serde_json::json;
use std::{fmt::Write as _, process::ExitCode, time::Duration};

use crate::{
    cli::flags::Json,
    context::Context,
    report::{
        breakers,
        exit::Exit,
        failure::Result,
        findings,
        output::{Style, hang},
    },
};
use galatea_host::{
    look::{Color, Look},
    readiness::{Readiness, Reason},
    storage::{
        data_dir::DataDir,
        lock::{self, Holder},
    },
};

/// Longest wait for the answer. The process only queries its own database.
const PATIENCE: Duration = Duration::from_secs(5);
/// Limit of the answer in bytes, far more than needed.
const MAX_ANSWER: usize = 1 << 20;

/// Tell how the running galatea does: exit 0 when it is ready
#[derive(Debug, Clone, Args)]
pub(crate) struct Status {
    /// Exit 0 as long as it answers, ready or not: what decides about a restart
    #[arg(long)]
    alive: bool,
    #[command(flatten)]
    json: Json,
}

impl Status {
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        let data_dir = DataDir::locate(&context.configuration()?.settings, &context.working_dir);
        let readiness = match readiness(&data_dir).await {
            Ok(readiness) => readiness,
            Err(error) => {
                if self.json.json {
                    let fault = json!({ "code": error.code(), "message": error.message(), "fix": error.fix() });
                    context.output.json(
                        "galatea.status/1",
                        json!({ "running": false, "ready": false, "error": fault }),
                    );
                }
                return Err(error.into());
            }
        };
        if self.json.json {
            let mut body = json!(readiness);
            body["running"] = json!(true);
            context.output.json("galatea.status/1", body);
        } else {
            context.output.data(render(&readiness, context.output.style).trim_end());
        }
        Ok(if readiness.ready || self.alive { ExitCode::SUCCESS } else { Exit::Failure.into() })
    }
}

/// Asks the process that runs with this data folder.
///
/// # Errors
/// `Unavailable` if no process runs, or one without a health server; errors of the HTTP call.
pub(crate) async fn readiness(data_dir: &DataDir) -> galatea_core::Result<Readiness> {
    let holder = lock::holder(data_dir.path())?.ok_or_else(|| not_running(data_dir))?;
    let address = holder.health.ok_or_else(|| no_health(holder))?;
    let http = HttpClient::new(HttpOptions {
        total_timeout: PATIENCE,
        max_body: MAX_ANSWER,
        ..HttpOptions::default()
    })?;
    // An unready process answers 503 with its reasons, so the status is ignored.
    http.get(&format!("http://{address}/readyz")).send().await?.json().await
}

fn render(readiness: &Readiness, style: Style) -> String {
    let mut text = String::new();
    let word = if readiness.ready {
        style.bold(Color::Green, "ready")
    } else {
        style.bold(Color::Red, "not ready")
    };
    let process = format!(
        "galatea {}, process {}, up {}",
        readiness.version,
        readiness.pid,
        duration(readiness.uptime)
    );
    let _ =
        writeln!(text, "{word}  {}", hang(if readiness.ready { 7 } else { 11 }, &process, style));
    for agent in &readiness.agents {
        let model = hang(4 + agent.name.chars().count(), &agent.model, style);
        let _ = writeln!(text, "\n  {}  {model}", style.bold(Color::Cyan, &agent.name));
        for connector in &agent.connectors {
            let several =
                agent.connectors.iter().filter(|c| c.source == connector.source).count() > 1;
            let name = if several {
                format!("{}:{}", connector.source, connector.account)
            } else {
                connector.source.clone()
            };
            let _ = writeln!(
                text,
                "    {name:<9}  {:<9} {}",
                connector.state,
                hang(25, &connector.detail, style)
            );
        }
        let (ready, others): (Vec<_>, Vec<_>) =
            agent.services.iter().partition(|service| service.state == ServiceState::Ready);
        if !ready.is_empty() {
            let names: Vec<_> = ready.iter().map(|service| service.name.as_str()).collect();
            let _ = writeln!(text, "    services   {} ready", names.join(", "));
        }
        for service in others {
            let line = format!("{} {}", service.name, service.state);
            let _ = writeln!(text, "    service    {}", hang(15, &line, style));
        }
    }
    if !readiness.servers.is_empty() {
        let _ = writeln!(text, "\n  {}", style.bold(Color::Cyan, "MCP servers"));
    }
    for server in &readiness.servers {
        let mut detail = server.detail.clone();
        if server.phase == galatea_mcp::Phase::Ready {
            let tools = if server.offered == 1 { "tool" } else { "tools" };
            detail = format!("{} {tools}; {detail}", server.offered);
        }
        if let Some(words) = &server.not_enforced {
            detail.push_str(&format!("; {words}"));
        }
        let phase = server.phase.as_str();
        let indent = 17 + phase.len().max(9);
        let _ =
            writeln!(text, "    {:<9}  {phase:<9}  {}", server.name, hang(indent, &detail, style));
    }
    if let Some(cluster) = &readiness.cluster {
        let processes = if cluster.alive == 1 {
            "1 process is alive".to_owned()
        } else {
            format!("{} processes are alive", cluster.alive)
        };
        let _ = writeln!(
            text,
            "\n  {processes} on this database; `galatea cluster status` shows who does what"
        );
    }
    let mut found: Vec<_> = readiness.reasons.iter().map(finding).collect();
    let notes = readiness.cluster.iter().flat_map(|cluster| &cluster.notes);
    found.extend(notes.map(|note| {
        Finding::new(Severity::Warning, note.code.clone(), "cluster", note.message.clone())
    }));
    found.extend(readiness.remarks.iter().map(remark));
    found.extend(breakers::findings(&readiness.breakers));
    found.extend(readiness.budgets.iter().map(spent));
    if !found.is_empty() {
        text.push('\n');
    }
    text + &findings::render(&found, style)
}

/// A problem that prevents work.
pub(crate) fn finding(reason: &Reason) -> Finding {
    let whose = reason.agent.as_ref().map(|agent| format!(" of {agent}")).unwrap_or_default();
    let message = format!("{}{whose}: {}", reason.subject, reason.message);
    let found = Finding::new(
        Severity::Error,
        reason.code.clone().unwrap_or_default(),
        reason.subject.clone(),
        message,
    );
    Finding {
        cause: reason.cause.clone(),
        origin: reason.origin.clone(),
        fix: reason.fix.clone(),
        ..found
    }
}

/// A finding that does not prevent work, because other models answer.
pub(crate) fn remark(reason: &Reason) -> Finding {
    Finding { severity: Severity::Warning, ..finding(reason) }
}

fn spent(budget: &BudgetState) -> Finding {
    let BudgetState { agent, whose, setting, percent } = budget;
    let message = format!(
        "{percent} % of what {whose} may cost today (UTC) is used: the small model answers, and no model once it is used up"
    );
    let found = Finding::new(Severity::Warning, "GAL-LIMIT", agent.clone(), message);
    Finding {
        fix: Some(format!(
            "raise {setting}, or wait for tomorrow; `galatea usage` shows what it went to"
        )),
        ..found
    }
}

fn duration(seconds: u64) -> String {
    match (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}

pub(super) fn not_running(data_dir: &DataDir) -> Error {
    Error::new(ErrorKind::Unavailable, "no galatea is running with this data folder")
        .with_code("GAL-STATUS-OFF")
        .with("where", data_dir.path().display())
        .with_fix("start it with `galatea start`, or name its data folder in GALATEA_DATA_DIR")
}

fn no_health(holder: Holder) -> Error {
    let who = holder.pid.map_or_else(|| "a galatea".to_owned(), |pid| format!("process {pid}"));
    Error::new(ErrorKind::Unavailable, format!("{who} is running, but has no health server"))
        .with_code("GAL-STATUS-SILENT")
        .with_fix("it is a `galatea chat`, or one that is just starting; ask again, or end it and run `galatea start`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_host::readiness::{AgentState, ConnectorState};
    use galatea_runtime::ServiceInfo;

    #[test]
    fn what_is_in_the_way_comes_with_its_next_action() {
        let connector = ConnectorState {
            source: "telegram".into(),
            account: "1".into(),
            state: "down".into(),
            detail: "the token was refused".into(),
        };
        let readiness = Readiness {
            ready: false,
            reasons: vec![Reason {
                subject: "connector telegram".into(),
                agent: Some("Ada".into()),
                message: "the token was refused".into(),
                code: Some("GAL-TG-401".into()),
                cause: Some("getMe answered 401 Unauthorized".into()),
                origin: Some("TELEGRAM_BOT_TOKEN from .env line 1".into()),
                fix: Some("set another TELEGRAM_BOT_TOKEN".into()),
            }],
            agents: vec![AgentState {
                name: "Ada".into(),
                model: "ollama llama3.2".into(),
                connectors: vec![connector],
                services: vec![
                    ServiceInfo { name: "memory".into(), state: ServiceState::Ready },
                    ServiceInfo {
                        name: "feeds".into(),
                        state: ServiceState::Failed("the key was refused".into()),
                    },
                ],
            }],
            cluster: None,
            remarks: Vec::new(),
            breakers: Vec::new(),
            budgets: Vec::new(),
            servers: vec![galatea_mcp::ServerView {
                name: "time".into(),
                phase: galatea_mcp::Phase::NeedsApproval,
                detail: "run `galatea mcp approve time`".into(),
                offered: 0,
                waiting: 0,
                not_enforced: None,
            }],
            version: "0.1.0".into(),
            pid: 7,
            uptime: 3_700,
            statements: 9,
            rows: None,
        };
        insta::assert_snapshot!(render(&readiness, Style::plain()), @r"
        not ready  galatea 0.1.0, process 7, up 1 h 1 min

          Ada  ollama llama3.2
            telegram   down      the token was refused
            services   memory ready
            service    feeds failed: the key was refused

          MCP servers
            time       needs approval  run `galatea mcp approve time`

        ✗ connector telegram of Ada: the token was refused GAL-TG-401
            cause: getMe answered 401 Unauthorized
            where: TELEGRAM_BOT_TOKEN from .env line 1
            fix:   set another TELEGRAM_BOT_TOKEN
        ");
    }

    #[test]
    fn a_budget_that_is_nearly_used_up_is_a_warning() {
        let found = spent(&BudgetState {
            agent: "Ada".into(),
            whose: "the agent".into(),
            setting: "BUDGET_AGENT".into(),
            percent: 83,
        });
        assert_eq!(found.severity, Severity::Warning);
        assert!(
            found.message.starts_with("83 % of what the agent may cost today")
                && found.fix.unwrap().contains("BUDGET_AGENT")
        );
    }

    #[test]
    fn durations_are_short() {
        let all = [5, 60, 3_599, 3_600, 90_000].map(duration);
        assert_eq!(all, ["5 s", "1 min", "59 min", "1 h 0 min", "1 d 1 h"]);
    }
}
