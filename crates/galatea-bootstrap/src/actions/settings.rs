//! UPDATE_SETTINGS: lets an admin change settings of this room in plain language, and those of its
//! World that the character declares; and its World's owner how long messages are kept.

use async_trait::async_trait;
use galatea_core::{
    Action, ActionDocs, ActionResult, QuietHours, Result, Turn,
    quiet_hours::WORLD_QUIET_HOURS,
    rights::{Scope, Standing},
    speakers, standing,
    store::RequestedChange,
    world::{self, MOST_RETENTION_DAYS},
    world_settings::{self, LONGEST_WORLD_SETTING, WorldSetting},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{rights, words};

pub(crate) struct UpdateSettings;

/// Limits: settings per room, characters per value.
const MOST: usize = 50;
const LONGEST: usize = 500;

/// The setting that has an effect by itself.
const RETENTION: &str = "retention_days";

/// Which and what.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct SettingsParams {
    /// Name of the setting.
    key: String,
    /// Its new value; empty removes it.
    value: String,
}

#[async_trait]
impl Action for UpdateSettings {
    const NAME: &'static str = "UPDATE_SETTINGS";
    const SCOPE: Scope = Scope::Room;
    type Params = SettingsParams;
    fn docs(&self) -> ActionDocs {
        ActionDocs::of::<Self>(
            "Note down a setting or rule for this room. Only when an admin asks. The key retention_days, for the owner only, says after how many days all messages in all rooms of this place are deleted: a whole number of days; 0 keeps them. Keys for this whole place: quiet_hours (22:00-07:00), missed, welcome, goodbye, hand_over, flag (on or off), moderators_room.",
            &["CHANGE_SETTING", "SET_RULE"],
        )
    }
    async fn validate(&self, turn: &Turn<'_>) -> Result<bool> {
        rights::is_change_offered(turn)
    }
    async fn run(
        &self,
        turn: &Turn<'_>,
        params: SettingsParams,
        _: &[ActionResult],
    ) -> Result<ActionResult> {
        if !rights::may_change_room(turn)? {
            return Ok(
                ActionResult::failed("only admins of this room may change its settings").own()
            );
        }
        let key = words::name(&params.key);
        if key.is_empty() {
            return Ok(ActionResult::failed("the setting has no name").own());
        }
        let normal = world_settings::normal(&key);
        if normal == RETENTION {
            return retention(turn, &params.value);
        }
        if world_settings::is_own(&normal) && !turn.room.kind.is_direct() {
            return own(turn, &normal, &params.value);
        }
        let declared = world_settings::declared(&turn.agent.character.settings);
        if let Some(setting) = declared.iter().find(|setting| setting.key == normal)
            && !turn.room.kind.is_direct()
        {
            return of_world(turn, setting, &params.value);
        }
        let settings = turn.room.metadata.get("settings").and_then(Value::as_object);
        let value = if params.value.trim().is_empty() {
            // Merging removes a key whose value is null.
            Value::Null
        } else if settings.is_some_and(|known| known.len() >= MOST && !known.contains_key(&key)) {
            return Ok(ActionResult::failed("this room has too many settings already").own());
        } else {
            json!(words::line(&params.value, LONGEST))
        };
        let changed = Map::from_iter([(key.clone(), value)]);
        let metadata = Map::from_iter([("settings".to_owned(), Value::Object(changed))]);
        Ok(ActionResult::ok(format!("noted: {key}"))
            .own()
            .effect(RequestedChange::MergeRoomMetadata { room: turn.room.id, metadata }))
    }
}

/// Sets what has an effect of its own in a World.
fn own(turn: &Turn<'_>, key: &str, value: &str) -> Result<ActionResult> {
    let value = words::line(value, LONGEST_WORLD_SETTING);
    let is_off = ["", "off", "no", "none"].contains(&value.to_lowercase().as_str());
    if key == WORLD_QUIET_HOURS && !is_off && QuietHours::read(&value).is_none() {
        return Ok(ActionResult::failed(
            "quiet_hours are written as 22:00-07:00 or 22:00-07:00 Europe/Berlin, or off",
        ));
    }
    let setting = WorldSetting {
        key: key.to_owned(),
        name: key.to_owned(),
        question: String::new(),
        required: false,
        options: Vec::new(),
        depends_on: Vec::new(),
    };
    of_world(turn, &setting, if is_off { "off" } else { &value })
}

/// Sets what the character wants to know of each World.
fn of_world(turn: &Turn<'_>, setting: &WorldSetting, value: &str) -> Result<ActionResult> {
    if standing::standing(turn, turn.world)? < Standing::Admin {
        return Ok(ActionResult::failed("only admins of this place may change its settings").own());
    }
    let value = words::line(value, LONGEST_WORLD_SETTING);
    let value = match setting.accept(&value) {
        _ if value.trim().is_empty() => None,
        Some(accepted) => Some(accepted),
        None => {
            return Ok(ActionResult::failed(format!(
                "{} is one of: {}",
                setting.name,
                setting.options.join(", ")
            )));
        }
    };
    let (world, key) = (turn.room.world_id, setting.key.clone());
    let done = match &value {
        Some(value) => format!("noted for all rooms: {} is {value}", setting.name),
        None => format!("removed: {}", setting.name),
    };
    let change = RequestedChange::SetWorldSetting { world, key, value };
    Ok(ActionResult::ok(done).own().effect(change))
}

/// Sets how long the World keeps its messages.
fn retention(turn: &Turn<'_>, value: &str) -> Result<ActionResult> {
    if turn.room.kind.is_direct() {
        return Ok(ActionResult::failed(
            "this is set in groups only; here /privacy forget me deletes what a person wrote",
        )
        .own());
    }
    if standing::standing(turn, turn.world)? < Standing::Owner {
        return Ok(
            ActionResult::failed("only the owner says how long messages are kept here").own()
        );
    }
    let Some(days) = days(value).filter(|days| *days <= MOST_RETENTION_DAYS) else {
        return Ok(ActionResult::failed(format!(
            "retention_days is a whole number of days from 1 to {MOST_RETENTION_DAYS}, such as 30, without another unit, or 0 to keep messages"
        )));
    };
    let place = match turn.world.map(|world| speakers::display(&world.name)) {
        Some(name) if !name.is_empty() => format!("all rooms of {name}"),
        _ => "all rooms of this place".to_owned(),
    };
    let done = match days {
        0 => format!("messages in {place} are kept"),
        days => format!(
            "after {} messages in {place} are deleted, with what was noted from them",
            world::days(days)
        ),
    };
    let change = RequestedChange::SetRetention { world: turn.room.world_id, days };
    Ok(ActionResult::ok(done).own().effect(change))
}

/// Days as `30`, `30 days` or `1 day`. Any other unit is refused: "1 year" is not a day.
fn days(value: &str) -> Option<u32> {
    let mut words = value.split_whitespace();
    let number = words.next()?;
    let unit = words.next().is_none_or(|unit| ["day", "days"].contains(&unit));
    let plain = number.bytes().all(|byte| byte.is_ascii_digit());
    if unit && plain && words.next().is_none() { number.parse().ok() } else { None }
}
