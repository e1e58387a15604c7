//! Questions of servers to people: shown in the chat, and answered by the person whose turn called the
//! tool.

use async_trait::async_trait;
use galatea_core::{
    ActionDocs, ActionResult, AnyAction, Button, Content, EntityId, Fragment, MemoryId, Press,
    Provider, ProviderUse, Result, RoomId, Timestamp, Turn, rights::Scope,
};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

use crate::{
    client::{
        question::{Answer, Question},
        server::{Called, Paused, Server},
    },
    config::LONGEST_CALL,
    outcome,
};

/// Most questions that wait at once.
const MOST: usize = 200;
/// How long a question waits, less than its call may last.
const PATIENCE: Duration = Duration::from_secs(280);
/// Words of the buttons. A press comes back as a message with them.
const YES: &str = "Yes";
const NO: &str = "No";

/// Questions that wait for people. A process keeps its own: their calls end with it.
#[derive(Default)]
pub(crate) struct Asks(Mutex<BTreeMap<(RoomId, EntityId), Parked>>);

struct Parked {
    server: Arc<Server>,
    question: Question,
    paused: Paused,
    asked_in: MemoryId,
    at: Timestamp,
}

impl Asks {
    /// Shows a question, and keeps its call for the answer.
    pub(crate) fn park(
        &self,
        turn: &Turn<'_>,
        server: &Arc<Server>,
        question: Question,
        paused: Paused,
    ) -> ActionResult {
        let text = question.shown(&server.config().name);
        let buttons = if question.is_yes_or_no() {
            let button =
                |words: &str| Button { text: words.into(), press: Press::Data(words.into()) };
            vec![vec![button(YES), button(NO)]]
        } else {
            Vec::new()
        };
        let mut parked = self.0.lock();
        let now = turn.now();
        parked.retain(|_, waiting| now.since(waiting.at) < PATIENCE);
        if parked.len() >= MOST {
            return ActionResult::failed("Too many questions of tools wait for answers.");
        }
        let key = (turn.room.id, turn.message.entity_id);
        let waiting = Parked {
            server: Arc::clone(server),
            question,
            paused,
            asked_in: turn.message.id,
            at: now,
        };
        parked.insert(key, waiting);
        ActionResult::ok(
            "The tool needs an answer of the person first. The question is shown to them; say nothing about the result yet.",
        )
        .say(Content { buttons, ..Content::text(text) })
    }

    /// Whether a question waits for the person of a turn, asked in an earlier one.
    fn waits(&self, turn: &Turn<'_>) -> bool {
        let parked = self.0.lock();
        let found = parked.get(&(turn.room.id, turn.message.entity_id));
        found.is_some_and(|waiting| {
            waiting.asked_in != turn.message.id && turn.now().since(waiting.at) < PATIENCE
        })
    }

    fn shown(&self, turn: &Turn<'_>) -> Option<String> {
        let parked = self.0.lock();
        let waiting = parked.get(&(turn.room.id, turn.message.entity_id))?;
        Some(waiting.question.shown(&waiting.server.config().name))
    }
}

/// The name of the action that answers a question.
const ANSWER: &str = "ANSWER_TOOL";

/// ANSWER_TOOL: passes the person's answer on to the server that asked.
pub(crate) struct AnswerTool(pub(crate) Arc<Asks>);

#[async_trait]
impl AnyAction for AnswerTool {
    fn docs(&self) -> ActionDocs {
        ActionDocs {
            name: ANSWER.to_owned(),
            similes: Vec::new(),
            description: "Pass on what the speaker answers to the waiting question of a tool: yes or no, and the values they gave. Never answer for them.".to_owned(),
            parameters: Arc::new(json!({
                "type": "object",
                "properties": {
                    "accept": { "type": "boolean", "description": "Whether the speaker agrees." },
                    "values": { "type": "object", "description": "The values that the speaker gave, by the names of the question." },
                },
                "required": ["accept"],
            })),
        }
    }
    fn has_side_effect(&self) -> bool {
        true
    }
    fn scope(&self) -> Scope {
        // The tool itself was allowed to this person when they began; the answer is theirs.
        Scope::Conversation
    }
    fn time(&self) -> Duration {
        LONGEST_CALL
    }
    async fn validate(&self, turn: &Turn<'_>) -> Result<bool> {
        Ok(self.0.waits(turn))
    }
    async fn run(
        &self,
        turn: &Turn<'_>,
        params: Value,
        _: &[ActionResult],
    ) -> Result<ActionResult> {
        if !self.0.waits(turn) {
            return Ok(ActionResult::failed("No question of a tool waits for this person."));
        }
        let accepts = params.get("accept") == Some(&Value::Bool(true));
        let values = params.get("values").and_then(Value::as_object).cloned();
        let key = (turn.room.id, turn.message.entity_id);
        let Some(parked) = self.0.0.lock().remove(&key) else {
            return Ok(ActionResult::failed("No question of a tool waits for this person."));
        };
        let Parked { server, question, paused, asked_in, at } = parked;
        let answer = if accepts {
            let values = values.unwrap_or_else(|| {
                if question.is_yes_or_no() { question.yes() } else { Map::new() }
            });
            let misfits = question.misfits(&values);
            if !misfits.is_empty() {
                let why = format!("The values do not fit: {}. Ask the person.", misfits.join("; "));
                let again = Parked { server, question, paused, asked_in, at };
                self.0.0.lock().insert(key, again);
                return Ok(ActionResult::failed(why));
            }
            Answer::Accept(values)
        } else {
            Answer::Decline
        };
        Ok(match server.go_on(paused, &question, &answer).await {
            Called::Done(done) => outcome::result(done),
            Called::Asks(question, paused) => self.0.park(turn, &server, question, paused),
        })
    }
}

/// TOOL_QUESTION: the question that waits for the person of the turn.
pub(crate) struct ToolQuestion(pub(crate) Arc<Asks>);

#[async_trait]
impl Provider for ToolQuestion {
    fn name(&self) -> &'static str {
        "TOOL_QUESTION"
    }
    fn description(&self) -> &'static str {
        "The question of a tool that waits for the speaker"
    }
    fn position(&self) -> i32 {
        55
    }
    fn when(&self) -> ProviderUse {
        ProviderUse::Always
    }
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        let shown = if self.0.waits(turn) { self.0.shown(turn) } else { None };
        Ok(shown.map_or_else(Fragment::default, |question| {
            Fragment::text(format!(
                "A question of a tool waits for the speaker. If they answer it now, use {ANSWER}.\n{question}"
            ))
        }))
    }
}
