//! Logs one line for each handled message and each change of a connector. Lines contain ids and
//! numbers, never message text.

mod turns;

use galatea_core::{
    Account, AgentId, Health, RoomId, Source, Store, event::EventReceiver, model::Usage,
};
use std::{collections::HashMap, sync::Arc, time::Duration};
use tokio::{
    sync::{broadcast::error::RecvError, oneshot},
    task::JoinHandle,
    time::{sleep, timeout},
};

use self::turns::{Handled, Note, Turns};
use crate::report::output::Output;
use galatea_host::{models::watch::ModelHealth, report::Trouble};

/// Rooms whose platform is known; beyond that all are looked up again.
const ROOMS: usize = 1024;
/// How long events are gathered. A turn publishes some six, and each would wake this task between the
/// steps of the turn. The bus keeps 1,024: six times what a flood publishes meanwhile.
const GATHER: Duration = Duration::from_millis(10);

/// How long the end of the program waits for the last log lines.
const ENDING: Duration = Duration::from_secs(1);

/// The task that logs events.
pub(crate) struct Watch {
    task: JoinHandle<()>,
    end: oneshot::Sender<()>,
}

impl Watch {
    /// Starts to log events. Each room is looked up once, outside of turns. Errors are shown to people
    /// as reports on `people`. If `people` is `None`, programs read the log, and errors are log lines.
    pub(crate) fn start(
        events: EventReceiver,
        store: Arc<dyn Store>,
        models: Vec<(AgentId, ModelHealth)>,
        people: Option<Output>,
    ) -> Self {
        let (end, ended) = oneshot::channel();
        Self { task: tokio::spawn(watch(events, store, models, people, ended)), end }
    }

    /// Logs what was published so far, and ends.
    pub(crate) async fn end(self) {
        drop(self.end);
        if timeout(ENDING, self.task).await.is_err() {
            tracing::debug!("the activity log did not end in time; some messages get no log line");
        }
    }
}

/// Logs events until the bus closes, or until `ended` completes and nothing waits.
async fn watch(
    mut events: EventReceiver,
    store: Arc<dyn Store>,
    models: Vec<(AgentId, ModelHealth)>,
    people: Option<Output>,
    mut ended: oneshot::Receiver<()>,
) {
    let mut ends = false;
    let mut turns = Turns::default();
    let mut reported: HashMap<AgentId, Trouble> = HashMap::new();
    let mut down: HashMap<(AgentId, Source, Account), Trouble> = HashMap::new();
    let mut sources: HashMap<RoomId, String> = HashMap::new();
    loop {
        if events.is_empty() {
            if ends {
                return;
            }
            tokio::select! {
                () = sleep(GATHER) => {}
                _ = &mut ended => ends = true,
            }
        }
        let received = tokio::select! {
            biased;
            received = events.recv() => received,
            _ = &mut ended, if !ends => {
                ends = true;
                continue;
            }
        };
        let event = match received {
            Ok(event) => event,
            Err(RecvError::Lagged(missed)) => {
                tracing::debug!(
                    missed,
                    "the activity log lagged behind; some messages get no log line"
                );
                continue;
            }
            Err(RecvError::Closed) => return,
        };
        match turns.take(event) {
            Some(Note::Handled(handled)) => {
                if sources.len() > ROOMS {
                    sources.clear();
                }
                let source = match sources.get(&handled.room) {
                    Some(source) => source.clone(),
                    None => match store.room(handled.room).await {
                        Ok(Some(room)) => {
                            sources.entry(handled.room).or_insert(room.source.to_string()).clone()
                        }
                        _ => "?".to_owned(),
                    },
                };
                log(&source, &handled);
                let trouble = models
                    .iter()
                    .find(|(agent, _)| *agent == handled.agent)
                    .and_then(|(_, health)| health.trouble());
                // Logged once per distinct error, because every message fails with the same one.
                if let Some(trouble) = &trouble
                    && reported.get(&handled.agent) != Some(trouble)
                {
                    log_model(trouble, people.as_ref());
                }
                match trouble {
                    Some(trouble) => reported.insert(handled.agent, trouble),
                    None => reported.remove(&handled.agent),
                };
            }
            Some(Note::Connector { agent, source, account, health }) => {
                let trouble = Trouble::of_connector(&health);
                let known = match (&trouble, &health) {
                    // These states do not tell how the attempt will end.
                    (None, Health::Starting | Health::Elsewhere) => continue,
                    (None, _) => down.remove(&(agent, source.clone(), account)),
                    (Some(trouble), _) => down.insert(
                        (agent, source.clone(), account),
                        Trouble { next: None, ..trouble.clone() },
                    ),
                };
                match trouble {
                    // Logged once per distinct error, because every attempt fails with the same
                    // one.
                    Some(trouble) if known == Some(Trouble { next: None, ..trouble.clone() }) => {
                        tracing::debug!(
                            next = trouble.next,
                            "{source}  still not connected: {}",
                            trouble.message
                        );
                    }
                    Some(trouble) => log_trouble(&source, &health, &trouble, people.as_ref()),
                    None => log_health(&source, &health),
                }
            }
            None => {}
        }
    }
}

fn log(source: &str, handled: &Handled) {
    let took = handled.millis.map(|millis| format!("  {}", duration(millis))).unwrap_or_default();
    let Usage { input, output, .. } = handled.usage;
    let tokens =
        if input + output == 0 { String::new() } else { format!("  {input}+{output} tok") };
    tracing::info!(room = %handled.room, memory = %handled.memory, "{source}  {}{took}{tokens}", handled.outcome);
}

fn duration(millis: u64) -> String {
    if millis < 1000 {
        format!("{millis} ms")
    } else {
        format!("{}.{} s", millis / 1000, millis % 1000 / 100)
    }
}

fn log_health(source: &Source, health: &Health) {
    match health {
        Health::Up { detail } => tracing::info!("{source}  {detail}"),
        Health::Degraded { reason } => tracing::warn!("{source}  works in part: {reason}"),
        Health::Starting | Health::Elsewhere | Health::Retrying { .. } | Health::Down { .. } => {}
    }
}

fn log_model(trouble: &Trouble, people: Option<&Output>) {
    let Trouble { message, code, cause, origin, fix, .. } = trouble;
    match people {
        Some(people) => people.report(&trouble.report("model")),
        None => {
            tracing::error!(code, cause, "where" = origin, fix, "model  does not answer: {message}")
        }
    }
}

fn log_trouble(source: &Source, health: &Health, trouble: &Trouble, people: Option<&Output>) {
    if let Some(people) = people {
        return people.report(&trouble.report(source.as_str()));
    }
    let Trouble { message, code, cause, origin, fix, next } = trouble;
    if matches!(health, Health::Down { .. }) {
        tracing::error!(code, cause, "where" = origin, fix, "{source}  stopped: {message}");
    } else {
        tracing::warn!(
            code,
            cause,
            "where" = origin,
            fix,
            next,
            "{source}  not connected: {message}"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well() {
        assert_eq!([0, 999, 1000, 1949].map(duration), ["0 ms", "999 ms", "1.0 s", "1.9 s"]);
    }
}
