//! `galatea usage`: shows what answers cost, from the usage ledger.

use clap::{Args, ValueEnum};
use galatea_core::{
    AgentId, Clock, EntityId, Error, RoomId, Store, SystemClock, Timestamp,
    store::{Amount, Day, UsageRow},
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap, hash_map::Entry},
    fmt::Write as _,
    process::ExitCode,
};

use crate::{cli::flags::Json, context::Context, report::failure::Result};
use galatea_host::storage::{data_dir::DataDir, database};

/// Show what answers cost: tokens, money, answers and refusals
#[derive(Debug, Clone, Args)]
#[command(
    before_help = "Examples:\n  galatea usage\n  galatea usage --by person --since 1d\n  galatea usage --by day,model --since 2026-01-01 --json"
)]
pub(crate) struct Usage {
    /// What a line stands for: one or more of agent, platform, room, person, model, day
    #[arg(long, value_name = "WHAT", value_delimiter = ',', default_values_t = [By::Day, By::Platform])]
    by: Vec<By>,
    /// From this day on (UTC): a date such as 2026-01-31, or so many days back, such as 7d
    #[arg(long, value_name = "DAY", default_value = "7d")]
    since: String,
    #[command(flatten)]
    json: Json,
}

/// What a line stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    Agent,
    Platform,
    Room,
    Person,
    Model,
    Day,
}

impl By {
    fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Platform => "platform",
            Self::Room => "room",
            Self::Person => "person",
            Self::Model => "model",
            Self::Day => "day",
        }
    }
}

impl std::fmt::Display for By {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Names for the ids in the ledger.
#[derive(Debug, Default)]
struct Names {
    agents: HashMap<AgentId, String>,
    rooms: HashMap<RoomId, String>,
    people: HashMap<EntityId, String>,
}

impl Usage {
    /// Sums and prints. Works beside a running process.
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        let since = day(&self.since, SystemClock.now())?;
        let settings = &context.configuration()?.settings;
        let database =
            database::open_beside(settings, &DataDir::locate(settings, &context.working_dir))
                .await?;
        let store = database.store();
        let rows = store.usage(None, since).await?;
        let names = names(&*store, &rows, &self.by).await?;
        database.close().await;
        let lines = lines(&rows, &self.by, &names);
        if self.json.json {
            context.output.json("galatea.usage/1", to_json(&lines, &self.by, since));
        } else {
            context
                .output
                .data(render(&lines, &self.by, context.output.style.columns()).trim_end());
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Parses `7d` or a date.
fn day(text: &str, now: Timestamp) -> Result<Day> {
    let today = Day::of(now);
    let text = text.trim();
    if let Some(days) = text
        .strip_suffix('d')
        .and_then(|n| n.parse::<i64>().ok())
        .filter(|n| (0..=100_000).contains(n))
    {
        return Ok(Day(today.0 - days + 1).min(today));
    }
    let date = time::Date::parse(text, &time::format_description::well_known::Iso8601::DATE).ok();
    let day = date.map(|date| {
        Day(date.midnight().assume_utc().unix_timestamp().div_euclid(Day::MILLIS / 1000))
    });
    Ok(day.ok_or_else(|| {
        Error::invalid("--since is neither a date nor a number of days")
            .with_code("GAL-USAGE-SINCE")
            .with("asked for", text)
            .with_fix("write it as 2026-01-31 or 7d")
    })?)
}

async fn names(store: &dyn Store, rows: &[UsageRow], by: &[By]) -> galatea_core::Result<Names> {
    let mut names =
        Names { agents: store.agents().await?.into_iter().collect(), ..Names::default() };
    if by.contains(&By::Room) {
        for row in rows {
            if let Entry::Vacant(entry) = names.rooms.entry(row.room) {
                let room = store.room(row.room).await?;
                let name = room.map(|room| {
                    if room.name.is_empty() { room.remote.to_string() } else { room.name }
                });
                // What an agent uses beside its answers is in no Room.
                let name = name.unwrap_or_else(|| {
                    let is_own = row.person.0 == row.agent.0;
                    if is_own { row.source.to_string() } else { row.room.to_string() }
                });
                entry.insert(name);
            }
        }
    }
    if by.contains(&By::Person) {
        let mut ids: Vec<EntityId> = rows.iter().map(|row| row.person).collect();
        ids.sort_unstable();
        ids.dedup();
        for some in ids.chunks(500) {
            for entity in store.entities(some).await? {
                if let Some(name) = entity.names.first() {
                    names.people.insert(entity.id, name.clone());
                }
            }
        }
    }
    Ok(names)
}

/// One line: the name of each group with its id if the name may be ambiguous, and the sum.
type Line = (Vec<(String, Option<String>)>, Amount);

/// Sums per group, the most expensive first. Grouped by day, they are in the order of days.
fn lines(rows: &[UsageRow], by: &[By], names: &Names) -> Vec<Line> {
    let mut sums: BTreeMap<Vec<(String, Option<String>)>, Amount> = BTreeMap::new();
    for row in rows {
        let part = |by: &By| match by {
            By::Agent => (
                names.agents.get(&row.agent).cloned().unwrap_or_else(|| row.agent.to_string()),
                Some(row.agent.to_string()),
            ),
            By::Platform => (row.source.to_string(), None),
            By::Room => (
                names.rooms.get(&row.room).cloned().unwrap_or_else(|| row.room.to_string()),
                Some(row.room.to_string()),
            ),
            By::Person => (
                names.people.get(&row.person).cloned().unwrap_or_else(|| row.person.to_string()),
                Some(row.person.to_string()),
            ),
            By::Model => {
                (if row.model.is_empty() { "no model".to_owned() } else { row.model.clone() }, None)
            }
            By::Day => (date(row.day), None),
        };
        *sums.entry(by.iter().map(part).collect()).or_default() += row.amount;
    }
    let mut lines: Vec<Line> = sums.into_iter().collect();
    if !by.contains(&By::Day) {
        lines.sort_by_key(|(_, amount)| {
            std::cmp::Reverse((amount.micros, amount.unpriced, amount.answers))
        });
    }
    lines
}

fn date(day: Day) -> String {
    let at = time::OffsetDateTime::from_unix_timestamp(day.begins().0 / 1000).ok();
    at.map_or_else(|| day.0.to_string(), |at| at.date().to_string())
}

/// Dollars, with four decimals for sums below one dollar.
pub(crate) fn dollars(micros: u64) -> String {
    let places = if micros > 0 && micros < 1_000_000 { 4 } else { 2 };
    let unit = 10_u64.pow(6 - places);
    let rounded = micros.div_ceil(unit);
    let whole = 10_u64.pow(places);
    format!("{}.{:0width$}", rounded / whole, rounded % whole, width = places as usize)
}

fn to_json(lines: &[Line], by: &[By], since: Day) -> Value {
    let line = |(parts, amount): &Line| {
        let mut line = json!(amount);
        for (by, (name, id)) in by.iter().zip(parts) {
            line[by.name()] = json!(name);
            if let Some(id) = id {
                line[format!("{}Id", by.name())] = json!(id);
            }
        }
        line
    };
    json!({ "since": date(since), "lines": lines.iter().map(line).collect::<Vec<_>>() })
}

/// The table, or a list if the table is wider than the terminal.
fn render(lines: &[Line], by: &[By], columns: Option<usize>) -> String {
    if lines.is_empty() {
        return "nothing was used in this time".to_owned();
    }
    let mut total = Amount::default();
    lines.iter().for_each(|(_, amount)| total += *amount);
    let numbers = |amount: &Amount| {
        let cost = if amount.unpriced > 0 {
            format!("{}+", dollars(amount.micros))
        } else {
            dollars(amount.micros)
        };
        [amount.answers, amount.refused, amount.calls, amount.input, amount.cached, amount.output]
            .map(|n| n.to_string())
            .into_iter()
            .chain([cost])
            .collect::<Vec<_>>()
    };
    let mut table: Vec<Vec<String>> = vec![by.iter().map(|by| by.name().to_owned()).collect()];
    table[0].extend(
        ["answers", "refused", "calls", "read", "cached", "written", "USD"].map(str::to_owned),
    );
    for (parts, amount) in lines {
        table.push(parts.iter().map(|(name, _)| short(name)).chain(numbers(amount)).collect());
    }
    if lines.len() > 1 {
        let mut last: Vec<String> = vec![String::new(); by.len()];
        last[0] = "total".to_owned();
        table.push(last.into_iter().chain(numbers(&total)).collect());
    }
    let mut text = aligned(&table, by.len());
    if columns.is_some_and(|columns| text.lines().any(|line| line.chars().count() > columns)) {
        text = list(&table, by.len());
    }
    if total.unpriced > 0 {
        let _ =
            writeln!(text, "\n+ and {} tokens of models whose price is not known", total.unpriced);
    }
    text
}

/// Rows below their heads; `names` columns of names, then numbers.
fn aligned(table: &[Vec<String>], names: usize) -> String {
    let widths: Vec<usize> = (0..table[0].len())
        .map(|n| table.iter().map(|row| row[n].chars().count()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for row in table {
        for (n, cell) in row.iter().enumerate() {
            let gap = if n == 0 { "" } else { "  " };
            let width = widths[n];
            let _ = if n < names {
                write!(text, "{gap}{cell:<width$}")
            } else {
                write!(text, "{gap}{cell:>width$}")
            };
        }
        text.push('\n');
    }
    text
}

/// Each row as a block: its names, then a line per number.
fn list(table: &[Vec<String>], names: usize) -> String {
    let mut text = String::new();
    let Some((heads, rows)) = table.split_first() else { return text };
    for row in rows {
        for name in row[..names].iter().filter(|name| !name.is_empty()) {
            let _ = writeln!(text, "{name}");
        }
        for (head, cell) in heads.iter().zip(row).skip(names) {
            let _ = writeln!(text, "  {head:<7}  {cell:>10}");
        }
    }
    text
}

/// A name from outside, without control characters and short enough for a line.
fn short(name: &str) -> String {
    let clean: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if clean.chars().count() <= 32 {
        clean
    } else {
        clean.chars().take(31).chain(['…']).collect()
    }
}

#[cfg(test)]
mod tests;
