//! `galatea outbox`: lists messages that wait or could not be delivered, and resends or drops them.

use clap::{Args, Subcommand, ValueEnum};
use galatea_core::{
    Clock, DeliveryId, Error, SystemClock,
    store::{OutboxItem, OutboxQuery, OutboxState, OutboxStore, Resolution},
};
use serde_json::json;
use std::{fmt::Write as _, process::ExitCode};

use crate::{
    cli::{flags::Json, utc::utc},
    context::Context,
    report::{failure::Result, output::Style},
};
use galatea_host::{
    look::{Color, Look},
    report::Trouble,
    storage::{data_dir::DataDir, database},
};

/// Limit of rows, for `--all` too. Far more than a person reads.
const MANY: u32 = 100_000;
/// Number of characters at the end of an id that identify it in lists. Version 7 ids begin with the
/// time, so their beginnings are alike (RFC 9562 §5.7).
const SHORT: usize = 8;

/// Look at what is to be sent; send again or drop what could not be
#[derive(Debug, Clone, Args)]
pub(crate) struct Outbox {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Clone, Subcommand)]
enum Verb {
    /// List parts that wait or were not delivered, newest first
    #[command(
        before_help = "Examples:\n  galatea outbox ls\n  galatea outbox ls --state dead --json"
    )]
    Ls {
        /// Only parts in this state; repeatable
        #[arg(long = "state", value_name = "STATE")]
        states: Vec<State>,
        /// At most this many
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: u32,
        #[command(flatten)]
        json: Json,
    },
    /// Show one part: where it goes, its attempts, its last failure
    #[command(before_help = "Examples:\n  galatea outbox show 5f0a92c1")]
    Show {
        /// The part's id, or its last 8 characters
        id: String,
        #[command(flatten)]
        json: Json,
    },
    /// Send again what was ambiguous, expired or dead
    #[command(
        before_help = "Examples:\n  galatea outbox retry 5f0a92c1\n  galatea outbox retry --all"
    )]
    Retry(Which),
    /// Never send what waits or is ambiguous
    #[command(
        before_help = "Examples:\n  galatea outbox drop 5f0a92c1\n  galatea outbox drop --all"
    )]
    Drop(Which),
}

#[derive(Debug, Clone, Args)]
#[group(required = true, multiple = false)]
struct Which {
    /// The part's id, or its last 8 characters; repeatable
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Every part it can be done to
    #[arg(long)]
    all: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum State {
    Pending,
    Sending,
    Sent,
    Ambiguous,
    Expired,
    Dead,
}

impl State {
    fn stored(self) -> OutboxState {
        match self {
            Self::Pending => OutboxState::Pending,
            Self::Sending => OutboxState::Sending,
            Self::Sent => OutboxState::Sent,
            Self::Ambiguous => OutboxState::Ambiguous,
            Self::Expired => OutboxState::Expired,
            Self::Dead => OutboxState::Dead,
        }
    }
}

impl Outbox {
    /// Works beside a running process, which picks up resent messages within seconds.
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        let settings = &context.configuration()?.settings;
        let database =
            database::open_beside(settings, &DataDir::locate(settings, &context.working_dir))
                .await?;
        let store = database.store();
        let outcome = self.with(&*store, context).await;
        database.close().await;
        outcome
    }

    async fn with(&self, store: &dyn OutboxStore, context: &Context) -> Result<ExitCode> {
        match &self.verb {
            Verb::Ls { states, limit, json } => {
                let chosen = if states.is_empty() {
                    everything_but_sent()
                } else {
                    states.iter().map(|s| s.stored()).collect()
                };
                let mut items = store
                    .outbox(&OutboxQuery { states: chosen, limit: limit.saturating_add(1) })
                    .await?;
                let more = items.len() > *limit as usize;
                items.truncate(*limit as usize);
                if json.json {
                    context.output.json("galatea.outbox/1", json!({ "parts": items.iter().map(to_json).collect::<Vec<_>>(), "more": more }));
                    return Ok(ExitCode::SUCCESS);
                }
                items.iter().for_each(|item| context.output.data(line(item)));
                match (more, items.is_empty(), states.is_empty()) {
                    (true, ..) => context.output.say("there are more; --limit N lists them"),
                    (false, true, true) => {
                        context.output.say("nothing waits, and nothing was left undelivered")
                    }
                    (false, true, false) => context.output.say("no part is in this state"),
                    (false, false, _) => {}
                }
            }
            Verb::Show { id, json } => {
                let item = find(store, id).await?;
                if json.json {
                    context.output.json("galatea.outbox.part/1", to_json(&item));
                } else {
                    context.output.data(page(&item, context.output.style).trim_end());
                }
            }
            Verb::Retry(which) => decide(store, which, Resolution::Retry, context).await?,
            Verb::Drop(which) => decide(store, which, Resolution::Drop, context).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn everything_but_sent() -> Vec<OutboxState> {
    OutboxState::ALL.into_iter().filter(|state| *state != OutboxState::Sent).collect()
}

async fn decide(
    store: &dyn OutboxStore,
    which: &Which,
    resolution: Resolution,
    context: &Context,
) -> Result<()> {
    let chosen = if which.all {
        let states = OutboxState::ALL.into_iter().filter(|state| resolution.fits(*state)).collect();
        store.outbox(&OutboxQuery { states, limit: MANY }).await?
    } else {
        let mut items = Vec::new();
        for id in &which.ids {
            items.push(find(store, id).await?);
        }
        items
    };
    let (mut done, word) =
        (0, if resolution == Resolution::Retry { "to be sent again" } else { "dropped" });
    // Oldest first, so that resent messages keep their order.
    for item in chosen.iter().rev() {
        if store.resolve(item.delivery.id, resolution, SystemClock.now()).await? {
            done += 1;
        } else if !which.all {
            return Err(does_not_fit(item, resolution).into());
        }
    }
    let parts = if done == 1 { "1 part is".to_owned() } else { format!("{done} parts are") };
    context.output.say(format!("{parts} {word}"));
    Ok(())
}

async fn find(store: &dyn OutboxStore, id: &str) -> Result<OutboxItem> {
    let id = id.trim();
    if let Ok(id) = id.parse::<DeliveryId>()
        && let Some(item) = store.outbox_item(id).await?
    {
        return Ok(item);
    }
    let wanted = id.to_ascii_lowercase();
    let all = store.outbox(&OutboxQuery { states: Vec::new(), limit: MANY }).await?;
    let mut named = all
        .into_iter()
        .filter(|item| wanted.len() >= SHORT && item.delivery.id.to_string().ends_with(&wanted));
    match (named.next(), named.next()) {
        (Some(item), None) => Ok(item),
        (Some(_), Some(_)) => Err(Error::invalid("this names more than one part")
            .with_code("GAL-OUTBOX-UNKNOWN")
            .with_fix("give the whole id")
            .into()),
        (None, _) => Err(Error::not_found("there is no such part in the outbox")
            .with_code("GAL-OUTBOX-UNKNOWN")
            .with("asked for", id)
            .with_fix("`galatea outbox ls` lists what waits or was not delivered, each with its id")
            .into()),
    }
}

fn does_not_fit(item: &OutboxItem, resolution: Resolution) -> Error {
    let (message, fix) = match resolution {
        Resolution::Retry => (
            "only what is ambiguous, expired or dead can be sent again",
            "what is pending or sending goes out by itself",
        ),
        Resolution::Drop => (
            "only what is pending or ambiguous can be dropped",
            "what is being sent can't be held any more",
        ),
    };
    Error::invalid(message)
        .with_code("GAL-OUTBOX-STATE")
        .with("part", short(item))
        .with("state", item.state.as_str())
        .with_fix(fix)
}

/// The end of an id, which distinguishes parts.
pub(crate) fn short(item: &OutboxItem) -> String {
    let id = item.delivery.id.to_string();
    id.get(id.len().saturating_sub(SHORT)..).unwrap_or(&id).to_owned()
}

/// What went wrong with a part in one line, and what to do about it now.
pub(crate) fn failure(item: &OutboxItem) -> Option<String> {
    let error = item.error.as_deref()?;
    Some(Trouble::of_text(error).line(!item.state.is_open()))
}

fn line(item: &OutboxItem) -> String {
    let address = &item.delivery.address;
    let error = failure(item).map(|failure| format!("  {failure}")).unwrap_or_default();
    let attempts = item.delivery.attempt;
    format!(
        "{}  {:<9}  {} {}  part {}  {attempts}×{error}",
        short(item),
        item.state.as_str(),
        address.source,
        address.remote,
        item.delivery.part + 1
    )
}

/// A part as JSON without its text, because the outbox is about delivery.
fn to_json(item: &OutboxItem) -> serde_json::Value {
    let address = &item.delivery.address;
    json!({
        "id": item.delivery.id,
        "turn": item.delivery.turn,
        "part": item.delivery.part,
        "source": address.source,
        "account": address.account,
        "room": address.remote,
        "state": item.state,
        "attempts": item.delivery.attempt,
        "notBefore": item.not_before,
        "expires": item.expires,
        "remote": item.remote,
        "error": item.error,
        "outcome_unknown": item.outcome_unknown,
    })
}

fn page(item: &OutboxItem, style: Style) -> String {
    let address = &item.delivery.address;
    let mut text = String::new();
    let mut fact = |label: &str, value: &str| {
        let _ = writeln!(text, "{} {value}", style.paint(Color::Cyan, &format!("{label:<9}")));
    };
    fact("part", &format!("{} ({} of its turn)", item.delivery.id, item.delivery.part + 1));
    fact("turn", &item.delivery.turn.to_string());
    fact("to", &format!("{} {} as {}", address.source, address.remote, address.account));
    let attempts = item.delivery.attempt;
    fact(
        "state",
        &format!(
            "{} after {attempts} attempt{}",
            item.state.as_str(),
            if attempts == 1 { "" } else { "s" }
        ),
    );
    if item.state.is_open() {
        fact("next", &format!("not before {}", utc(item.not_before)));
        if let Some(end) = item.expires {
            fact("expires", &utc(end));
        }
    }
    if let Some(remote) = &item.remote {
        fact("sent as", remote.as_str());
    }
    if item.outcome_unknown {
        fact(
            "outcome_unknown",
            "an earlier attempt may have arrived, and the platform could not tell",
        );
    }
    if let Some(error) = failure(item) {
        fact("failure", &error);
    }
    let trouble = item.error.as_deref().map(Trouble::of_text).unwrap_or_default();
    for (label, text) in [("cause", trouble.cause), ("where", trouble.origin)] {
        if let Some(text) = text {
            fact(label, &text);
        }
    }
    text
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use galatea_core::{
        Account, Address, AgentId, Delivery, Encoded, RemoteId, RoomId, Source, Timestamp, TurnId,
    };

    /// A part in this state after a rate limit of Telegram.
    pub(crate) fn flooded(state: OutboxState) -> OutboxItem {
        let address = Address {
            source: Source::new("telegram"),
            account: Account("7".into()),
            room: RoomId::fresh(),
            remote: RemoteId::new(-100),
        };
        let delivery = Delivery {
            id: DeliveryId::fresh(),
            agent: AgentId::fresh(),
            turn: TurnId::fresh(),
            part: 0,
            address,
            key: String::new(),
            body: Encoded(serde_json::Value::Null),
            attempt: 3,
            created_at: Timestamp(0),
            previous: None,
        };
        OutboxItem {
            delivery,
            memory: None,
            state,
            not_before: Timestamp(0),
            expires: None,
            remote: None,
            error: Some(
                "Telegram asks to wait (code=GAL-TG-429, cause=sendMessage answered 429, \
                 fix=nothing to do: it is sent after that time)"
                    .into(),
            ),
            outcome_unknown: false,
        }
    }

    #[test]
    fn what_is_over_does_not_advise_to_wait() {
        let waits = "it is sent after that time";
        let shown = |state| (line(&flooded(state)), page(&flooded(state), Style::plain()));
        let (line, page) = shown(OutboxState::Pending);
        assert!(line.contains(waits) && page.contains(waits), "{line}\n{page}");
        for state in [OutboxState::Expired, OutboxState::Dead, OutboxState::Ambiguous] {
            let (line, page) = shown(state);
            assert!(!line.contains(waits) && !page.contains(waits), "{line}\n{page}");
            assert!(line.ends_with("Telegram asks to wait (GAL-TG-429)"), "{line}");
            assert!(page.contains("cause     sendMessage answered 429\n"), "{page}");
        }
    }
}
