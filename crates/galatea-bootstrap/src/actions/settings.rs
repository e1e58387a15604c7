//! UPDATE_SETTINGS: lets an admin change settings of this room in plain language.

use async_trait::async_trait;
use galatea_core::{
    Action, ActionDocs, ActionResult, Result, Turn, rights::Scope, store::RequestedChange,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{rights, words};

pub(crate) struct UpdateSettings;

/// Limits: settings per room, characters per value.
const MOST: usize = 50;
const LONGEST: usize = 500;

/// Which and what.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// Name of the setting.
    key: String,
    /// Its new value; empty removes it.
    value: String,
}

#[async_trait]
impl Action for UpdateSettings {
    const NAME: &'static str = "UPDATE_SETTINGS";
    const SCOPE: Scope = Scope::Room;
    type Params = Params;
    fn docs(&self) -> ActionDocs {
        ActionDocs::of::<Self>(
            "Note down a setting or rule for this room. Only when an admin asks.",
            &["CHANGE_SETTING", "SET_RULE"],
        )
    }
    async fn validate(&self, turn: &Turn<'_>) -> Result<bool> {
        Ok(rights::may_change_room(turn))
    }
    async fn run(
        &self,
        turn: &Turn<'_>,
        params: Params,
        _: &[ActionResult],
    ) -> Result<ActionResult> {
        if !rights::may_change_room(turn) {
            return Ok(ActionResult::failed("only admins of this room may change its settings"));
        }
        let key = words::name(&params.key);
        if key.is_empty() {
            return Ok(ActionResult::failed("the setting has no name"));
        }
        let mut settings: Map<String, Value> = turn
            .room
            .metadata
            .get("settings")
            .and_then(|s| s.as_object())
            .cloned()
            .unwrap_or_default();
        if params.value.trim().is_empty() {
            settings.remove(&key);
        } else if settings.len() >= MOST && !settings.contains_key(&key) {
            return Ok(ActionResult::failed("this room has too many settings already"));
        } else {
            settings.insert(key.clone(), json!(words::line(&params.value, LONGEST)));
        }
        let metadata = Map::from_iter([("settings".to_owned(), Value::Object(settings))]);
        Ok(ActionResult::ok(format!("noted: {key}"))
            .effect(RequestedChange::MergeRoomMetadata { room: turn.room.id, metadata }))
    }
}
