//! `galatea explain`: why a message was or was not answered, or what an error code means.

mod story;

use clap::Args;
use galatea_core::{Error, MemoryId, RemoteId, Source, Store};
use galatea_runtime::explain::{ExplainQuery, Explanation, explain};
use serde_json::json;
use std::process::ExitCode;

use crate::{
    cli::{flags::Json, status},
    context::Context,
    report::{breakers, failure::Result, findings},
};
use galatea_host::{
    catalogue,
    platforms::PLATFORMS,
    storage::{data_dir::DataDir, database},
};

/// Tell why a message was or was not answered, or what an error code means
#[derive(Debug, Clone, Args)]
pub(crate) struct Explain {
    /// A code such as GAL-TG-409, a message's id or its beginning, its link, or
    /// CHAT:MESSAGE
    #[arg(value_name = "WHAT", allow_hyphen_values = true)]
    what: String,
    #[command(flatten)]
    json: Json,
}

/// The argument, parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Asked {
    Code(String),
    /// Queries to try in order until one finds a message.
    Message(Vec<ExplainQuery>),
}

impl Explain {
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        match parse(&self.what) {
            Asked::Code(code) => self.code(&code, context),
            Asked::Message(queries) => self.message(&queries, context).await,
        }
    }

    fn code(&self, code: &str, context: &Context) -> Result<ExitCode> {
        let entry = catalogue::find(code).ok_or_else(|| catalogue::unknown(code))?;
        if self.json.json {
            context.output.json("galatea.explain.code/1", json!(entry));
        } else {
            context.output.data(entry.render(context.output.style).trim_end());
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn message(&self, queries: &[ExplainQuery], context: &Context) -> Result<ExitCode> {
        let settings = &context.configuration()?.settings;
        let database =
            database::open_beside(settings, &DataDir::locate(settings, &context.working_dir))
                .await?;
        let store = database.store();
        let mut found: Vec<Explanation> = Vec::new();
        for query in public(&*store, &self.what).await?.iter().chain(queries) {
            found = explain(&*store, query).await?;
            if !found.is_empty() {
                break;
            }
        }
        if found.is_empty()
            && let Some(id) = begins(&*store, &self.what).await?
        {
            found = explain(&*store, &ExplainQuery::Memory(id)).await?;
        }
        database.close().await;
        // Unfinished work may wait for a circuit breaker, whose state only the running process
        // knows.
        let under_way =
            |e: &Explanation| e.lane.is_some() || e.deliveries.iter().any(|d| d.state.is_open());
        let breakers = if found.iter().any(under_way) {
            let data_dir = DataDir::locate(settings, &context.working_dir);
            status::readiness(&data_dir)
                .await
                .map(|readiness| readiness.breakers)
                .unwrap_or_default()
        } else {
            Vec::new()
        };
        if found.is_empty() {
            return Err(unknown_message(&self.what).into());
        }
        if self.json.json {
            context
                .output
                .json("galatea.explain/1", json!({ "messages": found, "breakers": breakers }));
        } else {
            let stories: Vec<_> = found
                .iter()
                .map(|explanation| story::render(explanation, context.output.style))
                .collect();
            let left_alone = findings::render(&breakers::findings(&breakers), context.output.style);
            context.output.data(format!("{}\n{left_alone}", stories.join("\n")).trim_end());
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn parse(what: &str) -> Asked {
    let what = what.trim();
    if what.to_ascii_uppercase().starts_with("GAL-") {
        return Asked::Code(what.to_ascii_uppercase());
    }
    if let Ok(memory) = what.parse::<MemoryId>() {
        return Asked::Message(vec![ExplainQuery::Memory(memory)]);
    }
    let remote = |source: &Source, room, message| ExplainQuery::Remote {
        source: source.clone(),
        room,
        message,
    };
    let links = PLATFORMS.iter().filter_map(|p| {
        (p.parse_link)(what).map(|(room, message)| remote(&p.source, room, message))
    });
    // Ids as they stand in logs and in `explain --json`.
    let plain = PLATFORMS.iter().map(|p| remote(&p.source, None, RemoteId::new(what)));
    Asked::Message(links.chain(plain).collect())
}

/// Minimum number of digits accepted as the beginning of an id.
const LEAST: usize = 4;
/// Number of ids listed if several begin alike.
const MOST: u32 = 5;

/// The only message whose id begins with `what`.
///
/// # Errors
/// `Invalid` (`GAL-EXPLAIN-SEVERAL`) with the candidates if there are several.
pub(super) async fn begins(store: &dyn Store, what: &str) -> Result<Option<MemoryId>> {
    let Some((first, last)) = range(what.trim()) else { return Ok(None) };
    let ids = store.memory_ids(first, last, MOST + 1).await?;
    if ids.len() < 2 {
        return Ok(ids.first().copied());
    }
    let mut shown: Vec<String> = ids.iter().take(MOST as usize).map(ToString::to_string).collect();
    if ids.len() > MOST as usize {
        shown.push("…".to_owned());
    }
    Err(Error::invalid("several messages begin like this")
        .with_code("GAL-EXPLAIN-SEVERAL")
        .with("they are", shown.join(", "))
        .with_fix("give more of the id")
        .into())
}

/// The first and last id that begin with `what`. `None` if it is not the beginning of an id.
fn range(what: &str) -> Option<(MemoryId, MemoryId)> {
    let is_at_dash = |(n, c): (usize, char)| {
        if matches!(n, 8 | 13 | 18 | 23) { c == '-' } else { c.is_ascii_hexdigit() }
    };
    let digits: String = what.chars().filter(|c| *c != '-').collect();
    if !(LEAST..32).contains(&digits.len())
        || !(what.chars().enumerate().all(is_at_dash)
            || what.chars().all(|c| c.is_ascii_hexdigit()))
    {
        return None;
    }
    let padded = |with: char| {
        format!("{digits}{}", String::from(with).repeat(32 - digits.len())).parse().ok()
    };
    Some((padded('0')?, padded('f')?))
}

/// Queries for a link that contains a public name, if an agent knows a place of that name. Case is
/// ignored.
async fn public(store: &dyn Store, what: &str) -> galatea_core::Result<Vec<ExplainQuery>> {
    let mut queries = Vec::new();
    for platform in PLATFORMS {
        let Some((name, _)) = (platform.parse_public_link)(what) else { continue };
        for (agent, _) in store.agents().await? {
            for world in store
                .worlds(agent)
                .await?
                .into_iter()
                .filter(|world| world.source == platform.source)
            {
                let named = world
                    .metadata
                    .extra
                    .get("username")
                    .and_then(|known| known.as_str())
                    .is_some_and(|known| known.eq_ignore_ascii_case(&name));
                let link = (platform.parse_public_link)(what)
                    .filter(|_| named)
                    .and_then(|(_, read)| read(&world.remote));
                queries.extend(link.map(|(room, message)| ExplainQuery::Remote {
                    source: platform.source.clone(),
                    room,
                    message,
                }));
            }
        }
    }
    Ok(queries)
}

fn unknown_message(what: &str) -> Error {
    Error::not_found("this message is not stored here")
        .with_code("GAL-EXPLAIN-UNKNOWN")
        .with("asked for", what)
        .with_fix("give its link, CHAT:MESSAGE, or the memory id from the log (its beginning is enough). If that is what you gave, it never arrived: `galatea status` shows whether its platform is connected")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queries(what: &str) -> Vec<ExplainQuery> {
        match parse(what) {
            Asked::Message(queries) => queries,
            Asked::Code(code) => panic!("{code}"),
        }
    }

    #[test]
    fn codes_ids_and_links_are_distinguished() {
        assert_eq!(parse(" gal-tg-409 "), Asked::Code("GAL-TG-409".into()));
        let memory = MemoryId::fresh();
        assert_eq!(queries(&memory.to_string()), [ExplainQuery::Memory(memory)]);
        for link in ["https://t.me/c/1234/7", "-1001234:7"] {
            let ExplainQuery::Remote { source, room, .. } = queries(link).remove(0) else {
                panic!()
            };
            assert_eq!(
                (source.as_str(), room.unwrap().as_str()),
                ("telegram", "-1001234"),
                "{link}"
            );
        }
    }

    #[test]
    fn anything_else_may_be_a_platforms_own_id() {
        let all = queries("terminal-maria/a-1");
        assert!(all.contains(&ExplainQuery::Remote {
            source: galatea_terminal::SOURCE,
            room: None,
            message: RemoteId::new("terminal-maria/a-1")
        }));
        assert_eq!(all.len(), PLATFORMS.len());
    }
}
