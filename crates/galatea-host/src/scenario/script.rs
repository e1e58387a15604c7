//! A model that answers by the rules of a scenario, and remembers what it was asked.

use async_trait::async_trait;
use galatea_core::{
    Error, ErrorKind, ModelInfo, Result, TextModel,
    model::{Finish, OnText, TextAnswer, TextRequest, ToolCall, Usage},
};
use parking_lot::Mutex;

use super::file::Rule;

/// The model of a scenario.
pub(super) struct Script {
    info: ModelInfo,
    /// Rules, and whether each has been used.
    rules: Mutex<Vec<(Rule, bool)>>,
    asked: Mutex<Vec<String>>,
}

impl Script {
    pub(super) fn new(rules: &[Rule]) -> Self {
        let info = ModelInfo {
            provider: "script".to_owned(),
            model: "scenario".to_owned(),
            tools: true,
            ..ModelInfo::default()
        };
        let rules = rules.iter().map(|rule| (rule.clone(), false)).collect();
        Self { info, rules: Mutex::new(rules), asked: Mutex::default() }
    }

    /// The prompts since this was called last, each as one text.
    pub(super) fn take_asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock())
    }

    fn answer(&self, said: &str) -> Result<TextAnswer> {
        let said = said.to_lowercase();
        let mut rules = self.rules.lock();
        let fits = |(rule, used): &&mut (Rule, bool)| {
            (!*used || rule.repeat)
                && rule.when.as_ref().is_none_or(|when| said.contains(&when.to_lowercase()))
        };
        let Some((rule, used)) = rules.iter_mut().find(fits) else {
            let words: String = said.chars().take(200).collect();
            return Err(Error::new(
                ErrorKind::Unexpected,
                format!("no rule of the scenario's model fits: {words}"),
            ));
        };
        *used = true;
        if let Some(fail) = &rule.fail {
            return Err(Error::new(ErrorKind::Unexpected, fail.clone()));
        }
        let call = |(n, call): (usize, &super::file::Call)| ToolCall {
            id: format!("call-{n}"),
            name: call.name.clone(),
            arguments: if call.arguments.is_null() {
                "{}".to_owned()
            } else {
                call.arguments.to_string()
            },
        };
        Ok(TextAnswer {
            text: rule.say.clone(),
            tool_calls: rule.call.iter().enumerate().map(call).collect(),
            finish: if rule.call.is_empty() { Finish::Stop } else { Finish::Tools },
            usage: Usage { input: 10, output: 5, ..Usage::default() },
            ..TextAnswer::default()
        })
    }
}

#[async_trait]
impl TextModel for Script {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn generate(&self, request: &TextRequest, on_text: &OnText<'_>) -> Result<TextAnswer> {
        let texts = request.messages.iter().map(|message| message.text());
        let whole: Vec<String> = request.system.iter().cloned().chain(texts).collect();
        self.asked.lock().push(whole.join("\n"));
        // Notes of the program may stand behind what was said.
        let is_said = |message: &&galatea_core::model::ChatMessage| {
            message.role != galatea_core::model::ChatRole::System
        };
        let last = request.messages.iter().rev().find(is_said);
        let last = last.map(|message| {
            let results = message.parts.iter().filter_map(|part| match part {
                galatea_core::model::ChatPart::ToolResult { text, .. } => Some(text.as_str()),
                _ => None,
            });
            results.fold(message.text(), |text, result| format!("{text}\n{result}"))
        });
        let answer = self.answer(&last.unwrap_or_default())?;
        if request.stream && !answer.text.is_empty() {
            on_text(&answer.text);
        }
        Ok(answer)
    }
}
