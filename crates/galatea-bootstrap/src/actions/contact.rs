//! UPDATE_CONTACT: remember something about the speaker.

use async_trait::async_trait;
use galatea_core::{Action, ActionDocs, ActionResult, Result, Turn, store::Effect};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

use crate::words;

/// Remember something about the speaker.
pub(crate) struct UpdateContact;

/// Details kept at most per call, and letters per detail.
const MOST: usize = 20;
const LONGEST: usize = 500;

/// What to remember.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// Details of the speaker, such as {"city": "Lisbon"}; an empty text forgets one.
    details: BTreeMap<String, String>,
}

#[async_trait]
impl Action for UpdateContact {
    const NAME: &'static str = "UPDATE_CONTACT";
    type Params = Params;
    fn docs(&self) -> ActionDocs {
        ActionDocs::of::<Self>(
            "Remember or correct details that the speaker tells about themselves and asks to be remembered.",
            &["UPDATE_ENTITY", "REMEMBER_CONTACT"],
        )
    }
    async fn validate(&self, _: &Turn<'_>) -> Result<bool> {
        Ok(true)
    }
    async fn run(&self, turn: &Turn<'_>, params: Params, _: &[ActionResult]) -> Result<ActionResult> {
        let mut contact = Map::new();
        for (key, value) in params.details.iter().take(MOST) {
            let value = if value.trim().is_empty() { Value::Null } else { Value::String(words::line(value, LONGEST)) };
            contact.insert(words::name(key), value);
        }
        if contact.is_empty() {
            return Ok(ActionResult::failed("there is nothing to remember"));
        }
        let keys = contact.keys().cloned().collect::<Vec<_>>().join(", ");
        // Under a key of its own: what people say of themselves must never touch what platforms say of them.
        let metadata = Map::from_iter([("contact".to_owned(), Value::Object(contact))]);
        Ok(ActionResult::ok(format!("remembered: {keys}")).effect(Effect::MergeEntityMetadata { entity: turn.message.entity_id, metadata }))
    }
}
