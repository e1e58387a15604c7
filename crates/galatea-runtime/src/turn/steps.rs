//! The steps of a turn: what the model called, and what came of it, as it reads them before its next
//! step. Pure.

use galatea_core::{
    ActionResult,
    model::{ChatMessage, ChatPart, Opaque, ToolCall, text_actions::result_line},
};

use crate::plan::PlannedAction;

/// What the model and its tools have done so far in this turn.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    /// Calls and results in turn, as messages behind the question.
    messages: Vec<ChatMessage>,
    /// Results in words, for a character's own template.
    lines: Vec<String>,
    /// Rounds of tools.
    rounds: usize,
    /// True if the model may call no more tools.
    last: bool,
}

/// An answer that called tools, as it came.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Said {
    /// Its words.
    pub(crate) text: String,
    /// Its calls in the provider's own format; none where they stood in the text.
    pub(crate) calls: Vec<ToolCall>,
    /// What the provider wants again of it.
    pub(crate) opaque: Option<Opaque>,
}

impl Steps {
    pub(crate) fn is_empty(&self) -> bool {
        self.rounds == 0
    }

    /// Rounds of tools so far.
    pub(crate) fn rounds(&self) -> usize {
        self.rounds
    }

    /// True if the model may only speak now.
    pub(crate) fn is_last(&self) -> bool {
        self.last
    }

    /// Lets the model only speak from now on.
    pub(crate) fn end(&mut self) {
        self.last = true;
    }

    /// The messages behind the question.
    pub(crate) fn messages(&self) -> &[ChatMessage] {
        &self.messages
    }

    /// The results in words.
    pub(crate) fn lines(&self) -> &[String] {
        &self.lines
    }

    /// Adds a round. With `last` the model may call no more.
    pub(crate) fn add(
        &mut self,
        said: &Said,
        planned: &[PlannedAction],
        results: &[ActionResult],
        last: bool,
    ) {
        self.last = last;
        self.rounds += 1;
        let lines = results.iter().map(|r| result_line(&r.action, &r.text, !r.success));
        self.lines.extend(lines);
        let (calls, answers) = if said.calls.is_empty() {
            written(self.rounds, planned, results)
        } else {
            answered(&said.calls, results)
        };
        if calls.is_empty() {
            return;
        }
        self.messages.push(ChatMessage::called(&said.text, &calls, said.opaque.clone()));
        self.messages.push(ChatMessage::results(answers));
    }
}

/// Calls that stood in the text, as calls of the provider's format.
fn written(
    round: usize,
    planned: &[PlannedAction],
    results: &[ActionResult],
) -> (Vec<ToolCall>, Vec<ChatPart>) {
    let mut left: Vec<&PlannedAction> = planned.iter().collect();
    let calls = results.iter().enumerate().map(|(n, result)| {
        let at = left.iter().position(|action| action.name == result.action);
        let params = at.map(|at| left.remove(at).params.to_string());
        ToolCall {
            id: format!("step{round}_{n}"),
            name: result.action.clone(),
            arguments: params.unwrap_or_else(|| "{}".to_owned()),
        }
    });
    let calls: Vec<ToolCall> = calls.collect();
    let answers = calls.iter().zip(results).map(|(call, result)| answer(call, Some(result)));
    let answers = answers.collect();
    (calls, answers)
}

/// The result of each call. Each call needs one, also a call that was dropped.
fn answered(calls: &[ToolCall], results: &[ActionResult]) -> (Vec<ToolCall>, Vec<ChatPart>) {
    let mut left: Vec<&ActionResult> = results.iter().collect();
    let mut found: Vec<Option<&ActionResult>> = calls
        .iter()
        .map(|call| {
            let same = |result: &&ActionResult| result.action.eq_ignore_ascii_case(&call.name);
            left.iter().position(same).map(|at| left.remove(at))
        })
        .collect();
    // A tool that was called by another of its names.
    for result in found.iter_mut().filter(|result| result.is_none()) {
        *result = (!left.is_empty()).then(|| left.remove(0));
    }
    let answers = calls.iter().zip(found).map(|(call, result)| answer(call, result)).collect();
    (calls.to_vec(), answers)
}

fn answer(call: &ToolCall, result: Option<&ActionResult>) -> ChatPart {
    let text = result.map_or("not done: it was asked for twice, or too much at once", |r| &r.text);
    ChatPart::ToolResult {
        id: call.id.clone(),
        name: call.name.clone(),
        text: text.to_owned(),
        failed: result.is_none_or(|result| !result.success),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::model::ChatRole;
    use serde_json::json;

    fn result(action: &str, text: &str) -> ActionResult {
        ActionResult { action: action.to_owned(), ..ActionResult::ok(text) }
    }

    fn call(id: &str, name: &str) -> ToolCall {
        ToolCall { id: id.into(), name: name.into(), arguments: "{}".into() }
    }

    fn results(steps: &Steps) -> Vec<(String, String, bool)> {
        let parts = steps.messages().iter().filter(|m| m.role == ChatRole::Tool);
        let of = |part: &ChatPart| match part {
            ChatPart::ToolResult { id, text, failed, .. } => {
                Some((id.clone(), text.clone(), *failed))
            }
            _ => None,
        };
        parts.flat_map(|message| message.parts.iter().filter_map(of)).collect()
    }

    #[test]
    fn every_call_has_its_result_in_the_order_of_the_calls() {
        let mut steps = Steps::default();
        let calls = vec![call("a", "RAIN"), call("b", "SUN"), call("c", "rain"), call("d", "GONE")];
        let said = Said { calls, ..Said::default() };
        let came = [result("RAIN", "1"), result("SUN", "2"), result("RAIN", "3")];
        steps.add(&said, &[], &came, false);
        let found: Vec<(String, bool)> =
            results(&steps).into_iter().map(|(id, text, failed)| (id + &text, failed)).collect();
        assert_eq!(found[0].0, "a1");
        assert_eq!(found[1].0, "b2");
        assert_eq!(found[2].0, "c3");
        assert!(found[3].0.starts_with("dnot done") && found[3].1, "{found:?}");
        assert_eq!(steps.rounds(), 1);
    }

    #[test]
    fn a_call_that_stood_in_the_text_becomes_one_of_the_providers_format() {
        let mut steps = Steps::default();
        let planned = [PlannedAction { name: "RAIN".into(), params: json!({ "day": "Monday" }) }];
        let said = Said { text: "One moment.".into(), ..Said::default() };
        steps.add(&said, &planned, &[result("RAIN", "wet")], true);
        let called: Vec<&ToolCall> = steps.messages()[0].calls().collect();
        assert_eq!(called[0].arguments, r#"{"day":"Monday"}"#);
        assert_eq!(results(&steps), [("step1_0".into(), "wet".into(), false)]);
        assert!(steps.is_last() && steps.lines() == ["- RAIN worked: wet"]);
    }
}
