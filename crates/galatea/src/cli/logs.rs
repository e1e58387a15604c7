//! `galatea logs`: the newest lines of the running process.

use clap::Args;
use galatea_core::Timestamp;
use galatea_host::look::{Color, Look};
use serde_json::{Value, json};
use std::{process::ExitCode, time::Duration};

use crate::{
    cli::{flags::Json, local_api::LocalApi, utc::utc},
    context::Context,
    report::{failure::Result, output::Style},
};

/// Pause between two looks of `-f`.
const LOOK: Duration = Duration::from_millis(400);

/// Show the newest lines of the running process's log
#[derive(Debug, Clone, Args)]
pub(crate) struct Logs {
    /// Go on with each new line until interrupted
    #[arg(short, long)]
    follow: bool,
    /// The least level
    #[arg(long, default_value = "info", value_parser = ["trace", "debug", "info", "warn", "error"])]
    level: String,
    /// How many lines
    #[arg(short = 'n', long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: u32,
    #[command(flatten)]
    json: Json,
}

impl Logs {
    /// Asks the running process, which keeps some thousand lines in memory.
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        let api = LocalApi::open(context, "galatea logs").await?;
        let outcome = self.with(&api, context).await;
        api.close().await;
        outcome
    }

    async fn with(&self, api: &LocalApi, context: &Context) -> Result<ExitCode> {
        let mut last = None;
        let first = self.read(api, last).await?;
        if self.json.json && !self.follow {
            context.output.json("galatea.logs/1", json!({ "lines": first }));
            return Ok(ExitCode::SUCCESS);
        }
        self.print(context, &first, &mut last);
        if !self.follow {
            return Ok(ExitCode::SUCCESS);
        }
        loop {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => return Ok(ExitCode::SUCCESS),
                () = tokio::time::sleep(LOOK) => {}
            }
            let lines = self.read(api, last).await?;
            self.print(context, &lines, &mut last);
        }
    }

    async fn read(&self, api: &LocalApi, after: Option<u64>) -> Result<Vec<Value>> {
        let limit = if after.is_some() { 200 } else { self.limit };
        let mut path = format!("/api/v1/logs?level={}&limit={limit}", self.level);
        if let Some(after) = after {
            path.push_str(&format!("&after={after}"));
        }
        let page = api.get(&path).await?;
        Ok(page.get("items").and_then(Value::as_array).cloned().unwrap_or_default())
    }

    fn print(&self, context: &Context, lines: &[Value], last: &mut Option<u64>) {
        for line in lines {
            if self.json.json {
                context.output.data(line);
            } else {
                context.output.data(shown(line, context.output.style));
            }
            *last = line.get("seq").and_then(Value::as_u64).or(*last);
        }
        // Nothing has been logged yet: all that comes is new.
        last.get_or_insert(0);
    }
}

fn shown(line: &Value, style: Style) -> String {
    let text = |name: &str| line.get(name).and_then(Value::as_str).unwrap_or_default();
    let at = line.get("at").and_then(Value::as_i64).unwrap_or_default();
    let level = text("level");
    let color = match level {
        "error" => Color::Red,
        "warn" => Color::Yellow,
        _ => Color::Green,
    };
    let level = style.paint(color, &format!("{:<5}", level.to_uppercase()));
    format!("{}  {level}  {}", utc(Timestamp(at)), text("text"))
}
