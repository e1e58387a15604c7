//! Actions for a model without tool calls: the prompt lists them, and describes the answer that asks
//! for one.

use serde_json::Value;

use super::TextRequest;

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
    TextRequest { tools: Default::default(), system, ..request.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ToolSpec;
    use serde_json::json;

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
