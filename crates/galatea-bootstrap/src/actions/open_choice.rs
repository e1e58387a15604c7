//! OPEN_CHOICE: opens a decision between a few options in this Room, which CHOOSE_OPTION takes.

use async_trait::async_trait;
use galatea_core::{
    Action, ActionDocs, ActionResult, Button, Content, Press, Result, Task, Turn, rights::Scope,
    store::RequestedChange,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, json};

use super::choices;
use crate::{rights, words};

pub(crate) struct OpenChoice;

/// Most options, and longest one in bytes: platforms return no longer button
/// ([`Press::Data`]).
const MOST: usize = 8;
const LONGEST_OPTION: usize = 64;
/// Longest question, in graphemes.
const LONGEST: usize = 300;
/// Most decisions that are open in a Room.
const MOST_OPEN: usize = 3;

/// The question and its options.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct OpenParams {
    /// The question, in one sentence.
    question: String,
    /// Two to eight short options.
    options: Vec<String>,
}

#[async_trait]
impl Action for OpenChoice {
    const NAME: &'static str = "OPEN_CHOICE";
    const SCOPE: Scope = Scope::Room;
    type Params = OpenParams;

    fn docs(&self) -> ActionDocs {
        ActionDocs::of::<Self>(
            "Put a decision between a few options to this room, with buttons, when an admin asks for it. CHOOSE_OPTION takes the answer.",
            &["ASK_CHOICE", "OFFER_OPTIONS", "START_DECISION"],
        )
    }

    async fn validate(&self, turn: &Turn<'_>) -> Result<bool> {
        Ok(!turn.room.kind.is_direct() && rights::is_change_offered(turn)?)
    }

    async fn run(
        &self,
        turn: &Turn<'_>,
        params: OpenParams,
        _: &[ActionResult],
    ) -> Result<ActionResult> {
        if !rights::may_change_room(turn)? {
            return Ok(ActionResult::failed("only admins of this room may open a decision").own());
        }
        let question = words::line(&params.question, LONGEST);
        let mut options: Vec<String> = Vec::new();
        for option in &params.options {
            let option = words::name(option);
            let known = options.iter().any(|known| known.eq_ignore_ascii_case(&option));
            if option.len() > LONGEST_OPTION {
                return Ok(ActionResult::failed("an option has at most 64 bytes").own());
            }
            // A command behind a button would be carried out.
            if !option.is_empty() && !option.starts_with('/') && !known {
                options.push(option);
            }
        }
        if question.is_empty() || !(2..=MOST).contains(&options.len()) {
            return Ok(ActionResult::failed(
                "a decision needs a question and two to eight options",
            ));
        }
        if choices::open(turn).await?.len() >= MOST_OPEN {
            return Ok(ActionResult::failed("three decisions are open here already").own());
        }
        let mut task = Task::new(turn.agent.identity.id(), &question, &question, turn.now());
        task.room_id = Some(turn.room.id);
        task.world_id = Some(turn.room.world_id);
        task.entity_id = Some(turn.message.entity_id);
        task.tags.push(choices::TAG.to_owned());
        task.metadata.insert("options".to_owned(), json!(options));
        let mark = Map::from_iter([(choices::MARK.to_owned(), json!(true))]);
        let buttons = options
            .iter()
            .map(|option| vec![Button { text: option.clone(), press: Press::Data(option.clone()) }])
            .collect();
        let list = options.iter().map(|option| format!("- {option}")).collect::<Vec<_>>();
        let text = format!("{question}\n\n{}", list.join("\n"));
        let mut result = ActionResult::ok(format!("the decision is open: {}", options.join(" | ")))
            .say(Content { buttons, ..Content::text(text) });
        result.effects = vec![
            RequestedChange::SaveTask { task: Box::new(task) },
            RequestedChange::MergeRoomMetadata { room: turn.room.id, metadata: mark },
        ];
        Ok(result)
    }
}
