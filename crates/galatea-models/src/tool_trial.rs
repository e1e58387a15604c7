//! Tries once whether a model can call tools. A small model behind a server that takes tools often
//! writes its calls as words, which nobody can use.

use std::{sync::Arc, time::Duration};

use galatea_core::{
    Clock, Result, TextModel,
    model::{Finish, Sampling, TextAnswer, TextRequest, ToolSpec},
};
use serde_json::{Value, json};

use crate::{
    choices::{Choices, ToolSkill},
    families,
    toolless::writes_call,
};

/// Longest time of a trial, which runs beside everything else: a model that has to be loaded first
/// takes that long.
const LONGEST: Duration = Duration::from_secs(60);
/// Tokens of the answer: a call takes about 30, and a model that thinks needs more.
const ANSWER: u32 = 512;
const TOOL: &str = "ADD_NUMBERS";

/// A model to try.
#[derive(Clone)]
pub(crate) struct ToolTrial {
    pub(crate) model: Arc<dyn TextModel>,
    pub(crate) service: String,
    pub(crate) choices: Choices,
    pub(crate) clock: Arc<dyn Clock>,
}

impl ToolTrial {
    /// Tries the model if that was never done, and stores the result; none if nothing came of it.
    pub(crate) async fn run(&self) -> Option<ToolSkill> {
        let model = &self.model.info().model;
        if self.choices.tool_skill(&self.service, model).is_some() {
            return None;
        }
        let now = self.clock.now();
        let request = TextRequest { deadline: Some(now.plus(LONGEST)), ..question() };
        let asked = tokio::time::timeout(LONGEST, self.model.generate(&request, &|_| {})).await;
        let (works, why) = judge(asked.ok()?)?;
        let on = families::day(now).to_string();
        let skill = ToolSkill { works, why: why.to_owned(), on };
        if let Err(error) = self.choices.learn_tools(&self.service, model, skill.clone()) {
            tracing::warn!(error = %error.report(), "what a trial of tools has shown could not be stored; it is done again at the next start");
        }
        Some(skill)
    }
}

fn question() -> TextRequest {
    let schema = json!({
        "type": "object",
        "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } },
        "required": ["a", "b"],
    });
    let tool = ToolSpec {
        name: TOOL.to_owned(),
        description: "Adds two whole numbers.".to_owned(),
        parameters: schema.into(),
    };
    TextRequest {
        tools: vec![tool].into(),
        params: Sampling { max_tokens: Some(ANSWER), ..Sampling::default() },
        ..TextRequest::prompt(
            Some("You have a tool. Use it whenever you are asked to.".to_owned()),
            format!("Call the tool {TOOL} with a = 17 and b = 25."),
        )
    }
}

/// True if the call came, and what came instead. None if that says nothing about the model: the
/// server was not there, or refused tools, which it does again when it is asked.
fn judge(outcome: Result<TextAnswer>) -> Option<(bool, &'static str)> {
    let answer = match outcome {
        Ok(answer) => answer,
        Err(error) => {
            tracing::debug!(error = %error.report(), "a trial of tools came to nothing; it is done again at the next start");
            return None;
        }
    };
    if let Some(call) = answer.tool_calls.iter().find(|call| call.name == TOOL) {
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or(Value::Null);
        let is = |key: &str, number: i64| {
            let given = arguments.get(key);
            given.and_then(Value::as_i64) == Some(number)
                || given.and_then(Value::as_str).and_then(|text| text.trim().parse().ok())
                    == Some(number)
        };
        return Some(if is("a", 17) && is("b", 25) {
            (true, "it called the tool of its trial")
        } else {
            (false, "it called the tool of its trial with other arguments than it was told")
        });
    }
    if !answer.tool_calls.is_empty() {
        return Some((false, "it called a tool that it was not offered"));
    }
    if answer.finish == Finish::Length && answer.text.trim_start().starts_with('<') {
        return None;
    }
    Some(if writes_call(&answer.text, &question().tools) {
        (false, "it wrote the call of a tool as words")
    } else {
        (false, "it did not call the tool that it was asked to call")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::{Error, ErrorKind, SystemClock, model::ToolCall};
    use galatea_testkit::models::ScriptedModel;

    fn called(name: &str, arguments: &str) -> TextAnswer {
        let call = ToolCall { id: "1".into(), name: name.into(), arguments: arguments.into() };
        TextAnswer { tool_calls: vec![call], ..TextAnswer::default() }
    }

    #[test]
    fn only_the_call_that_was_asked_for_passes() {
        for (answer, works) in [
            (called(TOOL, r#"{"a": 17, "b": 25}"#), Some(true)),
            (called(TOOL, r#"{"a": "17", "b": "25"}"#), Some(true)),
            (called(TOOL, r#"{"a": 1, "b": 25}"#), Some(false)),
            (called(TOOL, "{"), Some(false)),
            (called("ADD", r#"{"a": 17, "b": 25}"#), Some(false)),
            (ScriptedModel::text("The sum is 42."), Some(false)),
            (
                ScriptedModel::text(r#"{"name": "ADD_NUMBERS", "arguments": {"a": 17}}"#),
                Some(false),
            ),
            (TextAnswer { finish: Finish::Length, ..ScriptedModel::text("<think>hm") }, None),
        ] {
            assert_eq!(judge(Ok(answer.clone())).map(|(works, _)| works), works, "{answer:?}");
        }
        assert_eq!(judge(Err(Error::new(ErrorKind::Unavailable, "down"))), None);
    }

    #[tokio::test]
    async fn a_model_is_tried_once_and_again_after_a_failure_that_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("models.json");
        let model = Arc::new(ScriptedModel::new());
        let trial = |choices: Choices| ToolTrial {
            model: Arc::clone(&model) as _,
            service: "openai x".into(),
            choices,
            clock: Arc::new(SystemClock),
        };
        assert_eq!(trial(Choices::open(path.clone())).run().await, None, "it is down");
        model.enqueue("42");
        let skill = trial(Choices::open(path.clone())).run().await.unwrap();
        assert!(!skill.works);
        assert_eq!(trial(Choices::open(path.clone())).run().await, None, "it was tried");
        assert_eq!(model.requests().len(), 2);
        assert_eq!(Choices::of(&path).tool_skill("openai x", "scripted"), Some(skill));
    }
}
