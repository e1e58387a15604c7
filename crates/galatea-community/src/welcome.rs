//! Welcomes people who join a Room and says goodbye to those who leave, where that is switched on. The
//! setting is `on` or the words to say, in which `{name}` is the person's name.

use async_trait::async_trait;
use galatea_core::{
    AgentView, Content, EntityId, Event, EventHandler, PluginContext, Result, Room, RoomId,
    Schedule, Task, TaskContext, TaskId, TaskOutcome, TaskWorker,
    ids::uuid_of,
    room::ChannelType,
    speakers,
    store::{PluginStore, TaskRun},
};
use serde_json::json;
use std::{sync::Arc, time::Duration};

use crate::{feature, tell};

/// Watches who joins and leaves.
pub(crate) struct Door;
/// Says the words.
pub(crate) struct Greeter;

const NAME: &str = "GREET_PERSON";
const WELCOME: &str = "welcome";
const GOODBYE: &str = "goodbye";
/// Longest name and longest words, in graphemes.
const LONGEST_NAME: usize = 60;
const LONGEST: usize = 1_000;
/// A person who leaves and joins again within this time is greeted once: a day.
const ONCE_IN: Duration = Duration::from_secs(24 * 3_600);

#[async_trait]
impl EventHandler for Door {
    fn name(&self) -> &'static str {
        "WELCOME"
    }

    fn wants(&self, event: &Event) -> bool {
        matches!(event, Event::EntityJoined { .. } | Event::EntityLeft { .. })
    }

    async fn handle(&self, context: &PluginContext, event: &Event) -> Result<()> {
        note(context, event).await
    }
}

/// Stores a task that greets the person of an event, where that is switched on.
async fn note(context: &PluginContext, event: &Event) -> Result<()> {
    let PluginContext { agent, store, clock, cache, .. } = context;
    let (room, entity, feature) = match event {
        Event::EntityJoined { room, entity, .. } => (*room, *entity, WELCOME),
        Event::EntityLeft { room, entity, .. } => (*room, *entity, GOODBYE),
        _ => return Ok(()),
    };
    if entity == agent.identity.entity() {
        return Ok(());
    }
    let Some((room, words)) = place(agent, store, room, feature).await? else { return Ok(()) };
    let now = clock.now();
    let task = {
        let person = store.entities(&[entity]).await?.pop();
        let name = person.map_or_else(
            || "you".to_owned(),
            |person| tell::line(&speakers::display(&person.display_name()), LONGEST_NAME),
        );
        let text = tell::line(&words.replace("{name}", &name), LONGEST);
        greeting(agent, &room, entity, feature, &text, now)
    };
    // Once a day: the event may come again, and to several processes.
    let key = format!("greeted:{}", task.id);
    if cache.get(&key, now).await?.is_none() {
        cache.set(&key, &json!(true), Some(now.plus(ONCE_IN))).await?;
        store.save_task(&task).await?;
    }
    Ok(())
}

/// The Room, and the words for it; none where the feature is off.
async fn place(
    agent: &AgentView,
    store: &Arc<dyn PluginStore>,
    room: RoomId,
    feature: &str,
) -> Result<Option<(Room, String)>> {
    let Some(room) = store.room(room).await? else { return Ok(None) };
    if room.kind != ChannelType::Group {
        return Ok(None);
    }
    let world = store.world(room.world_id).await?;
    let usual = if feature == WELCOME { "Welcome, {name}!" } else { "Goodbye, {name}!" };
    let value = feature::value(&agent.settings, world.as_ref(), feature);
    Ok(value.map(|value| {
        let on = ["on", "yes", "true"].contains(&value.to_lowercase().as_str());
        (room, if on { usual.to_owned() } else { value })
    }))
}

fn greeting(
    agent: &AgentView,
    room: &Room,
    entity: EntityId,
    feature: &str,
    text: &str,
    now: galatea_core::Timestamp,
) -> Task {
    let id = agent.identity.id();
    let day = i64::try_from(ONCE_IN.as_millis()).map_or(0, |day| now.0.div_euclid(day));
    let run = TaskRun { quiet: true, within: Some(3_600_000), ..TaskRun::by(Schedule::Once) };
    let mut task = Task::new(id, NAME, text, now).runs(run);
    task.id = TaskId(uuid_of(&format!("greet:{id}:{}:{entity}:{feature}:{day}", room.id)));
    task.room_id = Some(room.id);
    task.world_id = Some(room.world_id);
    // Who leaves is not there any more; the words have the name all the same.
    task.entity_id = (feature == WELCOME).then_some(entity);
    // By it the words are found when the person is forgotten.
    task.metadata.insert("person".to_owned(), json!(entity));
    task.metadata.insert("feature".to_owned(), json!(feature));
    task
}

#[async_trait]
impl TaskWorker for Greeter {
    fn name(&self) -> &'static str {
        NAME
    }

    async fn run(&self, context: &TaskContext<'_>) -> Result<TaskOutcome> {
        let words = Content::text(context.task.description.clone());
        Ok(TaskOutcome::default().say_here(context, words))
    }
}
