//! `/reminders`: lists what waits for a person, or in a group what waits there, with buttons to remove
//! it; and sets the person's time zone.

use galatea_core::{
    Button, Content, Press, Result, Store, Task, Turn, Zone,
    store::{RequestedChange, TaskQuery, TaskState},
    visible::one_line,
};
use serde_json::{Map, json};

use super::{
    done::{Done, say},
    may::may_rule,
};

/// Tasks that are listed: their buttons fit under one message.
const LISTED: u32 = 20;
/// Most characters of a task's words in a list.
const LONGEST: usize = 80;
/// Characters at the end of an id, which tell tasks apart.
const SHORT: usize = 8;
/// Key of an entity's metadata: the name of the person's time zone.
const ZONE: &str = "timeZone";

pub(super) async fn run(turn: &Turn<'_>, store: &dyn Store, args: &str) -> Result<Done> {
    let (verb, rest) = args.trim().split_once(char::is_whitespace).unwrap_or((args.trim(), ""));
    let rest = rest.trim();
    match verb.to_lowercase().as_str() {
        "remove" | "delete" | "cancel" => {
            change(turn, store, rest, |task| {
                let text = format!("Removed: {}", shown(task));
                (text, RequestedChange::DeleteTask { task: task.id })
            })
            .await
        }
        "again" | "resume" => {
            let now = turn.now();
            change(turn, store, rest, |task| {
                let mut task = task.clone();
                task.due = now;
                if let Some(run) = task.run.as_deref_mut() {
                    (run.state, run.attempts) = (TaskState::Waiting, 0);
                }
                let text = format!("I try it again now: {}", shown(&task));
                (text, RequestedChange::SaveTask { task: Box::new(task) })
            })
            .await
        }
        "zone" => Ok(zone(turn, rest)),
        _ => list(turn, store).await,
    }
}

/// What the person may see and change here: in a direct chat all that is theirs, in a group what is
/// theirs there, and for its admins all that waits there.
async fn own(turn: &Turn<'_>, store: &dyn Store) -> Result<Vec<Task>> {
    let (agent, person) = (turn.agent.identity.id(), turn.message.entity_id);
    if turn.room.kind.is_direct() {
        let mut tasks = store.scheduled(agent, TaskQuery::Person(person), LISTED).await?;
        // Those without a person, such as a daily report.
        let here = store.scheduled(agent, TaskQuery::Room(turn.room.id), LISTED).await?;
        tasks.extend(here.into_iter().filter(|task| task.entity_id.is_none()));
        return Ok(tasks);
    }
    let mut tasks = store.scheduled(agent, TaskQuery::Room(turn.room.id), LISTED).await?;
    if !may_rule(turn)? {
        tasks.retain(|task| task.entity_id == Some(person));
    }
    Ok(tasks)
}

async fn list(turn: &Turn<'_>, store: &dyn Store) -> Result<Done> {
    let (tasks, zone) = (own(turn, store).await?, person_zone(turn, store).await?);
    if tasks.is_empty() {
        return Ok(say(
            "Nothing waits for you here. Ask me to remind you of something, such as: remind me in 30 minutes to call mum.",
        ));
    }
    let (mut text, mut buttons) = (String::new(), Vec::new());
    for (n, task) in (1..).zip(&tasks) {
        text.push_str(&format!("{n}. {}\n", line(task, &zone)));
        let button = |text: String, verb: &str| Button {
            text,
            press: Press::Data(format!("/reminders {verb} {}", short(task))),
        };
        let mut row = vec![button(format!("Remove {n}"), "remove")];
        if !task.is_waiting() {
            row.push(button(format!("Try {n} again"), "again"));
        }
        buttons.push(row);
    }
    text.push_str(&format!(
        "\nTimes are in {}. Send /reminders remove NUMBER to remove one, /reminders zone CITY to set your time zone.",
        zone.name()
    ));
    Ok(Done { reply: Content { buttons, ..Content::text(text) }, ..Done::default() })
}

fn line(task: &Task, zone: &Zone) -> String {
    let Some(run) = task.run.as_deref() else { return shown(task) };
    let when = zone.local(task.due).moment();
    let rule = if run.schedule.repeats() {
        format!(" ({})", run.schedule.describe())
    } else {
        String::new()
    };
    match run.state {
        TaskState::Waiting => format!("{when}{rule}: {}", shown(task)),
        TaskState::Paused => {
            let why = run.last_error.as_deref().unwrap_or_default();
            format!("paused{rule}: {} — {}", shown(task), one_line(why))
        }
    }
}

fn shown(task: &Task) -> String {
    let text = one_line(&task.description);
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or(&text)),
        None => text.to_string(),
    }
}

fn short(task: &Task) -> String {
    let id = task.id.to_string();
    id.get(id.len().saturating_sub(SHORT)..).unwrap_or(&id).to_owned()
}

/// Changes the task that a number of the list or the end of an id names.
async fn change(
    turn: &Turn<'_>,
    store: &dyn Store,
    which: &str,
    how: impl FnOnce(&Task) -> (String, RequestedChange),
) -> Result<Done> {
    let tasks = own(turn, store).await?;
    let number = which.parse::<usize>().ok().filter(|_| which.len() < SHORT);
    let found = match number {
        Some(number) => number.checked_sub(1).and_then(|at| tasks.get(at)),
        None => {
            tasks.iter().find(|task| which.len() == SHORT && short(task) == which.to_lowercase())
        }
    };
    let Some(task) = found else {
        return Ok(say("There is no such reminder here any more. Send /reminders for the list."));
    };
    let (text, effect) = how(task);
    Ok(Done { effects: vec![effect], ..say(text) })
}

/// The time zone of the person, or else the agent's.
async fn person_zone(turn: &Turn<'_>, store: &dyn Store) -> Result<Zone> {
    let found = store.entities(&[turn.message.entity_id]).await?.pop();
    let named = found.as_ref().and_then(|person| person.metadata.get(ZONE)?.as_str());
    Ok(named.and_then(Zone::named).unwrap_or_else(|| (*turn.agent.zone).clone()))
}

fn zone(turn: &Turn<'_>, place: &str) -> Done {
    let Some(zone) = Zone::of_place(place) else {
        return say(
            "I know no time zone of this name. Send a city, such as /reminders zone Berlin, or a name such as Europe/Berlin.",
        );
    };
    let metadata = Map::from_iter([(ZONE.to_owned(), json!(zone.name()))]);
    let effect = RequestedChange::MergeEntityMetadata { entity: turn.message.entity_id, metadata };
    let now = zone.local(turn.now()).moment();
    Done {
        effects: vec![effect],
        ..say(format!("Your time zone is {}; for you it is {now}.", zone.name()))
    }
}
