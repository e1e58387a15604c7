//! Models without tools. One that refuses them is asked again at once, with the actions in the text,
//! and so for a while. One that takes them and then writes its calls as words is offered none: for as
//! long as its trial ([`crate::tool_trial`]) says so, or for a while where there was none.

use parking_lot::Mutex;
use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use galatea_core::{
    Clock, ModelInfo, Result, TextModel, Timestamp,
    model::{
        OnText, TextAnswer, TextRequest, ToolSpec,
        text_actions::{without_actions, without_tools},
    },
};

use crate::{choices::Choices, wire::codes};

/// Time for which a refusal is remembered. A server restarted with tools is noticed within it, and
/// a model without them costs one refused request in it.
const REMEMBERED: Duration = Duration::from_secs(60 * 60);
/// Most models that are remembered. An agent uses about ten, and a process serves a few agents.
const MOST: usize = 256;
/// Answers with a call in their words after which a model that was never tried is offered no tools.
const WRITTEN: u32 = 3;

type ModelId = (String, String);

/// Models that refused tools or wrote their calls as words, by service and name, and when. One for a
/// process.
#[derive(Debug, Default)]
pub(crate) struct ToolRefusals {
    refused: Mutex<BTreeMap<ModelId, Timestamp>>,
    /// Number of times in a row, and the last time.
    written: Mutex<BTreeMap<ModelId, (u32, Timestamp)>>,
}

impl ToolRefusals {
    fn remember(&self, service: &str, model: &str, now: Timestamp) {
        let mut known = self.refused.lock();
        known.retain(|_, at| is_recent(*at, now));
        if known.len() >= MOST {
            known.pop_first();
        }
        known.insert((service.to_owned(), model.to_owned()), now);
    }

    fn holds(&self, service: &str, model: &str, now: Timestamp) -> bool {
        let known = self.refused.lock();
        // Empty for nearly every process.
        !known.is_empty()
            && known
                .get(&(service.to_owned(), model.to_owned()))
                .is_some_and(|at| is_recent(*at, now))
    }

    /// Counts an answer with a call in its words, and whether tools end with it.
    fn wrote(&self, service: &str, model: &str, now: Timestamp) -> bool {
        let mut known = self.written.lock();
        known.retain(|_, (_, at)| is_recent(*at, now));
        if known.len() >= MOST {
            known.pop_first();
        }
        let (count, at) = known.entry((service.to_owned(), model.to_owned())).or_insert((0, now));
        (*count, *at) = (*count + 1, now);
        *count == WRITTEN
    }

    /// The model called a tool as it should.
    fn called(&self, service: &str, model: &str) {
        let mut known = self.written.lock();
        if !known.is_empty() {
            known.remove(&(service.to_owned(), model.to_owned()));
        }
    }

    fn writes(&self, service: &str, model: &str, now: Timestamp) -> bool {
        let known = self.written.lock();
        !known.is_empty()
            && known
                .get(&(service.to_owned(), model.to_owned()))
                .is_some_and(|(count, at)| *count >= WRITTEN && is_recent(*at, now))
    }
}

/// A time in the future was recorded before the clock was set back.
fn is_recent(at: Timestamp, now: Timestamp) -> bool {
    at <= now && now.since(at) < REMEMBERED
}

/// A model that may turn out to take no tools.
pub(crate) struct Toolless {
    pub(crate) inner: Arc<dyn TextModel>,
    /// Provider and base address.
    pub(crate) service: String,
    pub(crate) refusals: Arc<ToolRefusals>,
    /// Results of trials.
    pub(crate) choices: Choices,
    /// True if no setting rules: tools are left away from a model that cannot use them.
    pub(crate) auto: bool,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Toolless {
    /// True if the model has shown that it cannot use tools, though its server takes them.
    fn fails(&self, model: &str) -> bool {
        if !self.auto {
            return false;
        }
        match self.choices.tool_skill(&self.service, model) {
            Some(skill) => !skill.works,
            None => self.refusals.writes(&self.service, model, self.clock.now()),
        }
    }

    /// Learns from an answer to a request with tools.
    fn notice(&self, model: &str, answer: &TextAnswer, tools: &[ToolSpec]) {
        if !self.auto || self.choices.tool_skill(&self.service, model).is_some() {
            return;
        }
        if !answer.tool_calls.is_empty() {
            self.refusals.called(&self.service, model);
        } else if writes_call(&answer.text, tools)
            && self.refusals.wrote(&self.service, model, self.clock.now())
        {
            tracing::warn!(
                service = self.service,
                model,
                code = codes::TOOLS_OFF,
                "the model writes calls of tools as words; it is offered none for an hour (MODEL_TOOLS=true offers them anyway)"
            );
        }
    }
}

#[async_trait]
impl TextModel for Toolless {
    fn info(&self) -> &ModelInfo {
        self.inner.info()
    }

    async fn generate(&self, request: &TextRequest, on_text: &OnText<'_>) -> Result<TextAnswer> {
        let model = &self.inner.info().model;
        if request.tools.is_empty() {
            return self.inner.generate(request, on_text).await;
        }
        if self.fails(model) {
            return self.inner.generate(&without_actions(request), on_text).await;
        }
        if !self.refusals.holds(&self.service, model, self.clock.now()) {
            match self.inner.generate(request, on_text).await {
                Err(error) if error.code() == Some(codes::TOOLS) => {
                    tracing::warn!(service = self.service, model, code = codes::TOOLS, error = %error.report(), "the model takes no tools; asking for actions in the text for an hour");
                    self.refusals.remember(&self.service, model, self.clock.now());
                }
                outcome => {
                    if let Ok(answer) = &outcome {
                        self.notice(model, answer, &request.tools);
                    }
                    return outcome;
                }
            }
        }
        let answer = self.inner.generate(&without_tools(request), on_text).await?;
        Ok(TextAnswer { text_actions: true, ..answer })
    }
}

/// True if an answer begins with the call of a tool that it was offered.
pub(crate) fn writes_call(text: &str, tools: &[ToolSpec]) -> bool {
    const KEYS: [&str; 6] = ["arguments", "parameters", "params", "<parameter", "(", "<arg_key>"];
    let text = text.trim();
    let bare = match text.strip_prefix("```") {
        Some(block) => block.split_once('\n').map_or("", |(_, inner)| inner).trim_start(),
        None => text,
    };
    tools.iter().any(|tool| {
        let begins = bare.starts_with(['{', '[', '<']) || bare.starts_with(&tool.name);
        begins && bare.contains(&tool.name) && KEYS.iter().any(|key| bare.contains(key))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choices::ToolSkill;
    use galatea_core::{Error, ErrorKind};
    use galatea_testkit::{clock::ManualClock, models::ScriptedModel};

    fn with_tool() -> TextRequest {
        let tool = ToolSpec {
            name: "SEND".into(),
            description: "Sends.".into(),
            parameters: serde_json::json!({}).into(),
        };
        TextRequest { tools: vec![tool].into(), ..TextRequest::prompt(None, "hi") }
    }

    #[tokio::test]
    async fn a_model_that_refuses_tools_answers_without_them_and_is_offered_them_again_later() {
        let clock = ManualClock::new();
        let inner = Arc::new(ScriptedModel::answering(|request| {
            if request.tools.is_empty() {
                return Ok(ScriptedModel::text("yes"));
            }
            Err(Error::new(ErrorKind::Unsupported, "no tools").with_code(codes::TOOLS))
        }));
        let model = Toolless {
            inner: Arc::clone(&inner) as _,
            service: "openai x".into(),
            refusals: Arc::default(),
            choices: Choices::default(),
            auto: true,
            clock: clock.shared(),
        };
        let ask = async || {
            let answer = model.generate(&with_tool(), &|_| {}).await.unwrap();
            assert!(answer.text_actions);
            answer.text
        };
        for (wait, requests) in [(0, 2), (3_599, 3), (1, 5)] {
            clock.advance(Duration::from_secs(wait));
            assert_eq!(ask().await, "yes");
            assert_eq!(inner.requests().len(), requests);
        }
        let last = inner.requests().pop().unwrap();
        assert!(last.system.unwrap().contains("- SEND: Sends."), "asked for in the text");
    }

    #[tokio::test]
    async fn a_model_that_writes_its_calls_as_words_is_offered_no_tools_for_a_while() {
        const CALL: &str = r#"{"name": "SEND", "arguments": {"to": "Ada"}}"#;
        let clock = ManualClock::new();
        let inner = Arc::new(ScriptedModel::answering(|request| {
            Ok(ScriptedModel::text(if request.tools.is_empty() { "yes" } else { CALL }))
        }));
        let mut model = Toolless {
            inner: Arc::clone(&inner) as _,
            service: "openai x".into(),
            refusals: Arc::default(),
            choices: Choices::default(),
            auto: true,
            clock: clock.shared(),
        };
        let mut answers = Vec::new();
        for _ in 0..4 {
            answers.push(model.generate(&with_tool(), &|_| {}).await.unwrap().text);
        }
        assert_eq!(answers, [CALL, CALL, CALL, "yes"]);
        assert!(!inner.requests().pop().unwrap().system.unwrap_or_default().contains("SEND"));
        clock.advance(REMEMBERED);
        assert_eq!(model.generate(&with_tool(), &|_| {}).await.unwrap().text, CALL);
        // A trial has the last word, in both directions, and a setting is above it.
        let skill = |works| ToolSkill { works, why: String::new(), on: String::new() };
        model.choices.learn_tools("openai x", "scripted", skill(false)).unwrap();
        assert_eq!(model.generate(&with_tool(), &|_| {}).await.unwrap().text, "yes");
        model.choices.learn_tools("openai x", "scripted", skill(true)).unwrap();
        for _ in 0..4 {
            assert_eq!(model.generate(&with_tool(), &|_| {}).await.unwrap().text, CALL);
        }
        model.choices.learn_tools("openai x", "scripted", skill(false)).unwrap();
        model.auto = false;
        assert_eq!(model.generate(&with_tool(), &|_| {}).await.unwrap().text, CALL);
    }

    #[test]
    fn only_an_answer_that_is_a_call_counts_as_one() {
        let tools = with_tool().tools;
        for call in [
            r#"{{"name": "SEND", "arguments": {}}}"#,
            "```json\n{\"name\": \"SEND\", \"parameters\": {}}\n```",
            "<tool_call>\n{\"name\": \"SEND\", \"arguments\": {}}",
            "SEND(to=\"Ada\")",
            "<function=SEND><parameter=to>Ada</parameter></function>",
        ] {
            assert!(writes_call(call, &tools), "{call}");
        }
        for words in ["I can SEND (messages).", "{\"name\": \"Ada\"}", "SEND is a tool.", ""] {
            assert!(!writes_call(words, &tools), "{words}");
        }
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let refusals = ToolRefusals::default();
        for n in 0..2 * MOST {
            refusals.remember("s", &n.to_string(), Timestamp(0));
        }
        assert_eq!(refusals.refused.lock().len(), MOST);
        refusals.remember("s", "later", Timestamp(3_600_000));
        assert_eq!(refusals.refused.lock().len(), 1, "the others have expired");
    }
}
