//! Reads tool calls, JSON, XML or words, whichever the answer holds.

use galatea_core::{
    action::ActionDocs,
    model::{Finish, TextAnswer, ToolCall},
};
use serde_json::{Map, Value};
use std::sync::Arc;

use super::{
    aside, calls, coerce,
    envelope::{self, Draft},
    json, json_plan, loose,
    names::{self, Names},
    plain, template, think,
    types::{
        AnswerForm, MAX_ACTIONS, MAX_ANSWER, MAX_PROVIDERS, Parsed, Plan, PlanFormat,
        PlannedAction, Repairs,
    },
    whole, xml,
};

const UNKNOWN_TOOL: &str = "call of an unknown tool dropped";

/// Reads a model's answer to a prompt that asks for an answer of this form.
///
/// `known_actions` are those offered in this turn; `REPLY`, `IGNORE` and `NONE` are understood even
/// when they are not among them.
pub fn parse(answer: &TextAnswer, known_actions: &[Arc<ActionDocs>], form: AnswerForm) -> Parsed {
    let mut repairs = Repairs::default();
    let names = Names::new(known_actions);
    let text = bounded(&answer.text, &mut repairs);
    let opened = template::open(text, &mut repairs);
    let thinking = think::split(&opened.text, answer.finish, form, &mut repairs);
    let marked = calls::take_out(thinking.rest, &mut repairs);
    let rest = marked.rest.as_deref().unwrap_or(thinking.rest);

    let (mut format, mut draft) = match form {
        AnswerForm::Envelope => read(rest, answer.finish, &names, &mut repairs),
        AnswerForm::JsonOrWords | AnswerForm::Words => {
            whole::read(rest, form, &names, &mut repairs)
                .unwrap_or_else(|| among_words(rest, answer, form, &names, &mut repairs))
        }
    };
    if is_cut(answer.finish) && draft.torn {
        drop_torn(&mut draft, &names, &mut repairs);
    }
    let mut unknown = std::mem::take(&mut draft.unknown);
    if !unknown.is_empty() {
        repairs.note(UNKNOWN_TOOL);
    }
    let mut called = whole_calls(answer, &names, &mut repairs).to_vec();
    called.extend(opened.calls.into_iter().chain(marked.calls));
    if !called.is_empty() || !answer.tool_calls.is_empty() {
        let written_as_plan = format != PlanFormat::Plain;
        format = PlanFormat::ToolCalls;
        unknown.extend(read_calls(&called, &names, &mut draft, written_as_plan, &mut repairs));
    }
    draft.prepend_thought(thinking.thought);
    draft.prepend_thought(opened.thought);
    let plan = settle(draft, &names, known_actions, &mut repairs);
    let usable = plan.does_something() || !plan.providers.is_empty();
    Parsed { plan, format, repairs: repairs.0, unknown, usable }
}

fn bounded<'a>(text: &'a str, repairs: &mut Repairs) -> &'a str {
    if text.len() <= MAX_ANSWER {
        return text;
    }
    repairs.note("answer longer than 1 MiB cut");
    &text[..text.floor_char_boundary(MAX_ANSWER)]
}

/// Reads the visible part: the envelope that begins first wins, the other is tried when that one
/// holds nothing.
fn read(
    body: &str,
    finish: Finish,
    names: &Names<'_>,
    repairs: &mut Repairs,
) -> (PlanFormat, Draft) {
    let xml = xml::find(body);
    let json = json_plan::find(body);
    let xml_first = match (&xml, &json) {
        (Some(x), Some(j)) => x.at < *j,
        (Some(_), None) => true,
        _ => false,
    };
    for use_xml in [xml_first, !xml_first] {
        if use_xml && let Some(found) = &xml {
            let mut notes = Repairs::default();
            let draft = xml::read(body, found, &mut notes);
            if found.at_start || draft.is_plan(names) {
                repairs.extend(notes);
                return (PlanFormat::Xml, draft);
            }
        } else if !use_xml
            && json.is_some()
            && let Some(draft) = json_plan::envelope(body, names, repairs)
        {
            return (PlanFormat::Json, draft);
        }
    }
    let said = aside::take_out(body, finish, AnswerForm::Envelope, repairs);
    let text = Some(plain::without_torn_tags(&said.text, repairs).to_owned());
    let text = text.filter(|text| !text.is_empty());
    (PlanFormat::Plain, Draft { text, thought: said.thought, ..Draft::default() })
}

/// Words as they are written, or a plan among them where one was asked for.
fn among_words(
    body: &str,
    answer: &TextAnswer,
    form: AnswerForm,
    names: &Names<'_>,
    repairs: &mut Repairs,
) -> (PlanFormat, Draft) {
    let said = aside::take_out(body, answer.finish, form, repairs);
    let asked = form == AnswerForm::JsonOrWords;
    let plan = if asked { json_plan::among_words(&said.text, names, repairs) } else { None };
    let (format, mut draft) = match plan {
        Some(draft) => (PlanFormat::Json, draft),
        None => {
            let text = plain::without_empty_fence(said.text.trim(), repairs);
            let text = Some(text.to_owned()).filter(|text| !text.is_empty());
            (PlanFormat::Plain, Draft { text, ..Draft::default() })
        }
    };
    draft.prepend_thought(said.thought);
    (format, draft)
}

/// The model was stopped: by its limit, or by a filter.
fn is_cut(finish: Finish) -> bool {
    matches!(finish, Finish::Length | Finish::Filtered | Finish::Deadline)
}

/// Takes out a last action that was cut off: what is made up for the missing half would be done,
/// and not what was meant. Words that were cut off are said like those of any other answer.
fn drop_torn(draft: &mut Draft, names: &Names<'_>, repairs: &mut Repairs) {
    if draft.actions.pop_if(|(name, _)| names.resolve(name) != Some(names::REPLY)).is_some() {
        repairs.note("action cut off in the middle dropped");
    }
}

/// Tool calls but a last one that was cut off. A call without arguments may have been cut off before
/// the first.
fn whole_calls<'a>(
    answer: &'a TextAnswer,
    names: &Names<'_>,
    repairs: &mut Repairs,
) -> &'a [ToolCall] {
    let torn = |call: &ToolCall| call.arguments.trim().is_empty() || is_torn(&call.arguments);
    match answer.tool_calls.split_last() {
        Some((last, before))
            if is_cut(answer.finish)
                && names.resolve(&last.name) != Some(names::REPLY)
                && torn(last) =>
        {
            repairs.note("tool call cut off in the middle dropped");
            before
        }
        _ => &answer.tool_calls,
    }
}

/// Adds tool calls to what was written. Returns the names of tools that do not exist.
fn read_calls(
    calls: &[ToolCall],
    names: &Names<'_>,
    draft: &mut Draft,
    written_as_plan: bool,
    repairs: &mut Repairs,
) -> Vec<String> {
    let (mut called, mut unknown) = (Vec::new(), Vec::new());
    let mut said: Vec<String> = Vec::new();
    for call in calls.iter().take(MAX_ACTIONS) {
        let params = json::arguments(bounded(&call.arguments, repairs), repairs);
        let name = match (names.resolve(&call.name), &params) {
            // Some models wrap the whole answer into one call of a tool they made up.
            (None, Value::Object(map)) if envelope::looks_like_plan(map) => {
                draft.merge(envelope::from_object(map, names));
                continue;
            }
            (Some(name), Value::Object(map))
                if !names::same(name, &call.name)
                    && (map.contains_key("actions") || map.contains_key("providers")) =>
            {
                draft.merge(envelope::from_object(map, names));
                continue;
            }
            (Some(name), _) => name,
            (None, params) if let Some(words) = loose::spoken(&call.name, params) => {
                repairs.note("words of a call of an unknown tool said");
                said.push(words);
                continue;
            }
            (None, _) => {
                repairs.note(UNKNOWN_TOOL);
                unknown.push(call.name.clone());
                continue;
            }
        };
        if name == names::REPLY
            && let Some(text) = params.get("text").and_then(Value::as_str)
            && !text.trim().is_empty()
        {
            said.push(text.trim().to_owned());
        }
        draft.actions.retain(|(known, _)| names.resolve(known) != Some(name));
        called.push((name.to_owned(), params));
    }
    let silent = called.iter().any(|(name, _)| name == names::IGNORE);
    if !said.is_empty() {
        let preamble = draft.text.replace(said.join("\n\n"));
        if let Some(preamble) = preamble.filter(|p| !said.contains(p)) {
            draft.prepend_thought(Some(preamble));
        }
    } else if !written_as_plan && draft.text.is_some() && !silent && !called.is_empty() {
        called.insert(0, (names::REPLY.to_owned(), Value::Null));
    }
    draft.actions.extend(called);
    unknown
}

/// Resolves names, spreads shared arguments, coerces them, and makes words without an action a
/// `REPLY`.
fn settle(
    draft: Draft,
    names: &Names<'_>,
    known: &[Arc<ActionDocs>],
    repairs: &mut Repairs,
) -> Plan {
    let Draft { thought, text, actions, mut providers, params, .. } = draft;
    let mut text = text.map(|t| t.trim().to_owned()).filter(|t| !t.is_empty());
    let mut planned: Vec<PlannedAction> = Vec::new();
    for (raw, params) in actions {
        let Some(name) = names.resolve(&raw) else {
            repairs.note("unknown action dropped");
            continue;
        };
        let repeated =
            planned.iter().any(|p| p.name == name && (params.is_null() || p.params == params));
        if repeated || planned.len() >= MAX_ACTIONS {
            repairs.note("repeated or surplus action dropped");
            continue;
        }
        planned.push(PlannedAction { name: name.to_owned(), params });
    }
    envelope::spread_params(params, &mut planned);
    let is = |name: &str| planned.iter().any(|p| p.name == name);
    // elizaOS: NONE says something and does nothing besides; only IGNORE is silent.
    let speaks = text.is_some() && is(names::NONE) && !is(names::IGNORE);
    if speaks {
        let replies = is(names::REPLY);
        planned.retain(|p| p.name != names::NONE || !replies);
        planned
            .iter_mut()
            .filter(|p| p.name == names::NONE)
            .for_each(|p| p.name = names::REPLY.to_owned());
    }
    if planned.is_empty() && text.is_some() {
        planned.push(PlannedAction { name: names::REPLY.to_owned(), params: Value::Null });
    }
    for action in &mut planned {
        let schema = known
            .iter()
            .find(|d| d.name == action.name)
            .map_or(&Value::Null, |d| d.parameters.as_ref());
        action.params = coerce::object(std::mem::take(&mut action.params), schema);
    }
    let replies = planned.iter().filter(|p| p.name == names::REPLY).count();
    for action in planned.iter_mut().filter(|p| p.name == names::REPLY) {
        let own = action
            .params
            .get("text")
            .and_then(Value::as_str)
            .map(str::trim)
            .filter(|t| !t.is_empty())
            .map(str::to_owned);
        match (&text, own) {
            (None, Some(own)) => text = Some(own),
            (Some(text), own) if replies == 1 || own.is_none() => {
                if let Value::Object(map) = &mut action.params {
                    map.insert("text".to_owned(), Value::String(text.clone()));
                } else {
                    action.params = Value::Object(Map::from_iter([(
                        "text".to_owned(),
                        Value::String(text.clone()),
                    )]));
                }
            }
            _ => {}
        }
    }
    providers.truncate(MAX_PROVIDERS);
    Plan {
        thought: thought.map(|t| t.trim().to_owned()).filter(|t| !t.is_empty()),
        text: text.unwrap_or_default(),
        actions: planned,
        providers,
    }
}

/// True if a tool call's arguments end before their object does.
fn is_torn(text: &str) -> bool {
    let mut notes = Repairs::default();
    json::arguments(text, &mut notes);
    notes.0.contains(&json::TORN)
}
