//! CHOOSE_OPTION: picks an option of a choice that is open in this room.

use async_trait::async_trait;
use galatea_core::{
    Action, ActionDocs, ActionResult, Result, Task, Turn, rights::Scope, store::RequestedChange,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::choices;
use crate::rights;

pub(crate) struct ChooseOption;

/// Which.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ChooseParams {
    /// The option, as listed.
    option: String,
    /// First letters of the decision's id, when several wait.
    #[serde(default)]
    task: Option<String>,
}

#[async_trait]
impl Action for ChooseOption {
    const NAME: &'static str = "CHOOSE_OPTION";
    const SIDE_EFFECT: bool = true;
    const SCOPE: Scope = Scope::Room;
    type Params = ChooseParams;
    fn docs(&self) -> ActionDocs {
        ActionDocs::of::<Self>(
            "Pick an option of a decision that waits in this room, as the speaker says.",
            &["SELECT_OPTION", "PICK", "CONFIRM"],
        )
    }
    async fn validate(&self, turn: &Turn<'_>) -> Result<bool> {
        Ok(choices::are_open(turn) && rights::is_change_offered(turn)?)
    }
    async fn run(
        &self,
        turn: &Turn<'_>,
        params: ChooseParams,
        _: &[ActionResult],
    ) -> Result<ActionResult> {
        if !rights::may_change_room(turn)? {
            return Ok(ActionResult::failed("only admins of this room may choose").own());
        }
        let open = choices::open(turn).await?;
        let named = |task: &&Task| {
            params.task.as_ref().is_none_or(|start| task.id.to_string().starts_with(start.as_str()))
        };
        let picks = |task: &Task| {
            choices::options(task)
                .into_iter()
                .find(|o| o.eq_ignore_ascii_case(params.option.trim()))
        };
        let mut found =
            open.iter().filter(named).filter_map(|task| picks(task).map(|option| (task, option)));
        let (Some((task, option)), None) = (found.next(), found.next()) else {
            return Ok(
                ActionResult::failed("no open decision has that option, or several have").own()
            );
        };
        turn.store.delete_task(turn.agent.identity.id(), task.id).await?;
        let mut result =
            ActionResult::ok(format!("chose {option} for {}", crate::words::name(&task.name)));
        result.data.insert("task".into(), json!(task.id));
        result.data.insert("option".into(), json!(option));
        if open.len() == 1 {
            let metadata = Map::from_iter([(choices::MARK.to_owned(), Value::Null)]);
            result
                .effects
                .push(RequestedChange::MergeRoomMetadata { room: turn.room.id, metadata });
        }
        Ok(result)
    }
}
