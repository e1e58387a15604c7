//! Actions for a model without tool calls: the prompt lists them, and describes the answer that asks
//! for one.

use serde_json::Value;

use super::{ChatMessage, ChatPart, ChatRole, TextRequest};

/// Stands in the instructions of a request with tools.
pub const CALL_TOOLS: &str = " Call a tool only when needed.";

/// Stands in the instructions in its place, before the list, if the model calls no tools.
pub const ANSWER_JSON: &str = " To do more than reply, answer instead with one JSON object: {\"thought\": \"…\", \"actions\": [{\"name\": \"…\", \"params\": {}}], \"text\": \"…\"}.\n\n";

/// The actions by name, description and JSON Schema of their parameters; empty without any.
pub fn list<'a>(actions: impl Iterator<Item = (&'a str, &'a str, &'a Value)>) -> String {
    let lines: Vec<String> = actions
        .map(|(name, description, schema)| format!("- {name}: {description}{}", parameters(schema)))
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    format!("# Possible actions\n{}", lines.join("\n"))
}

fn parameters(schema: &Value) -> String {
    let Some(properties) =
        schema.get("properties").and_then(Value::as_object).filter(|p| !p.is_empty())
    else {
        return String::new();
    };
    let about = |about: &Value| {
        about.get("description").and_then(Value::as_str).unwrap_or("value").to_owned()
    };
    let list: Vec<String> =
        properties.iter().map(|(name, value)| format!("{name} ({})", about(value))).collect();
    format!(" Params: {}.", list.join(", "))
}

/// This request for a model without tools: its instructions ask for actions in the text.
pub fn without_tools(request: &TextRequest) -> TextRequest {
    let mut asked = TextRequest { tools: Default::default(), ..request.clone() };
    steps_in_words(&mut asked);
    if request.tools.is_empty() {
        return asked;
    }
    let tools = request.tools.iter();
    let list = list(tools.map(|tool| (&*tool.name, &*tool.description, &*tool.parameters)));
    let wanted = format!("{ANSWER_JSON}{list}");
    let system = request.system.clone().unwrap_or_default();
    // Instructions that were not written for tools get the request at their end.
    let system = match system.rfind(CALL_TOOLS) {
        Some(at) => format!("{}{wanted}{}", &system[..at], &system[at + CALL_TOOLS.len()..]),
        None => format!("{system}{wanted}").trim_start().to_owned(),
    };
    asked.system = Some(system);
    asked
}

/// This request for a model that cannot use tools at all: nothing of it speaks of actions.
pub fn without_actions(request: &TextRequest) -> TextRequest {
    let system = request.system.as_ref().map(|system| system.replace(CALL_TOOLS, ""));
    let mut asked = TextRequest { tools: Default::default(), system, ..request.clone() };
    steps_in_words(&mut asked);
    asked
}

/// Begins the results of actions, where they stand in words.
pub const DONE: &str = "You have just done this:";

/// A result in words.
pub fn result_line(name: &str, text: &str, failed: bool) -> String {
    format!("- {name} {}: {text}", if failed { "failed" } else { "worked" })
}

/// Puts calls and their results into words, for a model without tool calls.
fn steps_in_words(request: &mut TextRequest) {
    request.tool_choice = Default::default();
    if !request.messages.iter().any(ChatMessage::uses_tools) {
        return;
    }
    let messages = std::sync::Arc::make_mut(&mut request.messages);
    for message in messages.iter_mut().filter(|message| message.uses_tools()) {
        *message = in_words(message);
    }
}

/// A message with its calls and results in words.
pub fn in_words(message: &ChatMessage) -> ChatMessage {
    if message.role == ChatRole::Tool {
        let results = message.parts.iter().filter_map(|part| match part {
            ChatPart::ToolResult { name, text, failed, .. } => {
                Some(result_line(name, text, *failed))
            }
            _ => None,
        });
        let lines = results.collect::<Vec<_>>().join("\n");
        return ChatMessage::user(format!(
            "{DONE}\n{lines}\nTell the conversation about it in plain words, as far as it concerns them, or do what else is needed for that."
        ));
    }
    let actions: Vec<Value> = message
        .calls()
        .map(|call| {
            let params = serde_json::from_str(&call.arguments).unwrap_or(Value::Null);
            serde_json::json!({ "name": call.name, "params": params })
        })
        .collect();
    let plan = serde_json::json!({ "actions": actions, "text": message.text() });
    ChatMessage::assistant(plan.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ToolSpec;
    use serde_json::json;

    #[test]
    fn calls_and_results_stand_in_words_for_a_model_without_tools() {
        let call = crate::model::ToolCall {
            id: "c1".into(),
            name: "SEND".into(),
            arguments: "{\"n\":1}".into(),
        };
        let result = ChatPart::ToolResult {
            id: "c1".into(),
            name: "SEND".into(),
            text: "sent".into(),
            failed: false,
        };
        let request = TextRequest {
            messages: vec![
                ChatMessage::user("send it"),
                ChatMessage::called("At once.", &[call], None),
                ChatMessage::results(vec![result]),
            ]
            .into(),
            ..TextRequest::default()
        };
        for asked in [without_tools(&request), without_actions(&request)] {
            let texts: Vec<String> = asked.messages.iter().map(ChatMessage::text).collect();
            assert_eq!(
                texts[1],
                r#"{"actions":[{"name":"SEND","params":{"n":1}}],"text":"At once."}"#
            );
            assert!(texts[2].starts_with(&format!("{DONE}\n- SEND worked: sent\n")), "{texts:?}");
            assert_eq!(asked.messages[2].role, ChatRole::User);
            assert!(!asked.messages.iter().any(ChatMessage::uses_tools));
        }
    }

    #[test]
    fn the_instructions_ask_for_actions_where_they_spoke_of_tools() {
        let schema = json!({ "properties": { "n": {}, "room": { "description": "its name" } } });
        let tool = ToolSpec {
            name: "SEND".into(),
            description: "Sends.".into(),
            parameters: schema.into(),
        };
        let request = |system: &str| TextRequest {
            tools: vec![tool.clone()].into(),
            ..TextRequest::prompt(Some(system.to_owned()), "hi")
        };
        let wanted = format!(
            "{ANSWER_JSON}# Possible actions\n- SEND: Sends. Params: n (value), room (its name)."
        );
        let asked = without_tools(&request(&format!("Rules.{CALL_TOOLS}\nMore.")));
        assert_eq!(asked.system, Some(format!("Rules.{wanted}\nMore.")));
        assert!(asked.tools.is_empty());
        assert_eq!(asked.messages, request("").messages);
        assert_eq!(without_tools(&request("Rules.")).system, Some(format!("Rules.{wanted}")));
        let bare = without_actions(&request(&format!("Rules.{CALL_TOOLS}\nMore.")));
        assert_eq!(bare.system.as_deref(), Some("Rules.\nMore."));
        assert!(bare.tools.is_empty());
        let plain = TextRequest::prompt(None, "hi");
        assert_eq!(without_tools(&plain), plain, "nothing was offered");
    }
}
